//! The ranks of a job: names of processes, and what each has done in any of its communicators.

use super::communicator::{RankExcess, RankPause};
use super::finding::WatchedProcess;
use crate::statuses::Observed;
use common::status::progress::ProgressMark;
use report::analysis::pairs::MIN_LATE_SHARE;

/// Nanoseconds for which a missing file may come back.
const LATE: u64 = 10_000_000_000;

/// One rank of a process. A process that drives several GPUs has one for each.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    pub(super) process: WatchedProcess,
    /// Number of its node.
    pub(super) node: usize,
    /// Communicators in which it stands out, and since when.
    pub(super) standing: Vec<PlaceStanding>,
    /// Whether it may be about to stand out.
    pub(super) is_rising: bool,
    /// Whether it was said that it stands out, by itself; looks for which that waits.
    pub(super) said: bool,
    pub(super) waits: u8,
    /// Whether its node was said to stand out, and it was not by itself.
    pub(super) in_node: bool,
    /// Longest pause that was said, nanoseconds.
    pub(super) paused: f64,
    /// Pauses since the last look, each with the process as the communicator names it.
    pub(super) pauses: Vec<(WatchedProcess, PlaceSince, RankPause)>,
    /// Own time beyond the peers', as a share.
    pub(super) recent: Option<f64>,
    /// Whether its file has its own time, so that it is compared.
    pub(super) is_compared: bool,
    /// Last look that had it.
    pub(super) seen: u64,
}

/// A begin, in a communicator.
#[derive(Debug, Clone, Default)]
pub(super) struct PlaceSince {
    pub(super) communicator: String,
    pub(super) name: String,
    pub(super) mark: ProgressMark,
}

/// A place that stands out in a communicator.
#[derive(Debug, Clone)]
pub(super) struct PlaceStanding {
    pub(super) rank: i32,
    pub(super) since: PlaceSince,
    pub(super) excess: Option<RankExcess>,
    /// Whether the newest windows do not show it.
    pub(super) is_falling: bool,
}

impl Place {
    /// Makes the place of a rank of a process.
    pub(super) fn new(of: &Observed, rank: i32, node: usize) -> Self {
        let origin = &of.status.origin;
        let process = WatchedProcess {
            rank: origin.rank.map_or(i64::from(rank), i64::from),
            of_communicator: origin.rank.is_none(),
            host: origin.host.clone(),
            pid: of.status.pid,
        };
        Self { process, node, ..Self::default() }
    }

    /// Returns its process, with its rank in a communicator where no launcher gives one.
    pub(super) fn process_as(&self, rank: i32) -> WatchedProcess {
        let rank = if self.process.of_communicator { i64::from(rank) } else { self.process.rank };
        WatchedProcess { rank, ..self.process.clone() }
    }

    /// Returns whether its file has been missing for so long that its process is gone.
    pub(super) fn is_late(&self, now: u64) -> bool {
        now.saturating_sub(self.seen) > LATE
    }

    /// Returns whether its own time is known to be about as its peers'. Over sockets, a rank that came late sent more slowly
    /// (docs/gpu-test.md), so of others nothing tells a slow link from a slow rank.
    pub(super) fn is_as_peers(&self) -> bool {
        self.is_compared && self.recent.is_some_and(|share| share < MIN_LATE_SHARE) && self.standing.is_empty()
    }

    /// Returns the excess that says most: that with the most peers.
    pub(super) fn strongest(&self) -> Option<(&PlaceStanding, &RankExcess)> {
        let known = self.standing.iter().filter_map(|standing| Some((standing, standing.excess.as_ref()?)));
        known.max_by_key(|(_, excess)| excess.peers)
    }
}
