//! Gathers the job summary: the summaries of all processes, merged in the first one.
//!
//! Each process sends its summary and the times at which its ranks began their collectives. The first process asks for
//! these parts one after the other and merges each at once. The setting limits the bytes per process, and the first
//! process's memory the bytes of all. Whatever does not fit is left out, and the summary says so.

use crate::job::ipc::{Ipc, IpcError};
use crate::job::node_clocks::Nodes;
use common::arrivals::{self, Arrivals};
use common::clock::CLOCK;
use common::clock_tree::{ClockTree, ParentLink};
use common::guard::contain;
use common::lateness::lateness;
use common::summary::{self, ClockComparison, Merging, RowKind, Summary};
use serde::{Deserialize, Serialize};

/// Bytes that the first process receives at most from all processes together. Merged, a row takes about as many bytes
/// as its text.
const MOST: usize = 96 << 20;
/// Arrivals that the first process compares at most, of all processes together. Each takes some 110 bytes meanwhile.
const MOST_ARRIVALS: usize = 1 << 19;
/// One byte in this many of a part is for arrivals, if there are enough of them. Rows may take the others.
const ARRIVALS_HAVE: usize = 4;
/// Bytes in a part before its text: the text's length. The arrivals follow the text.
const HEAD: usize = size_of::<u64>();

/// The text of a part: everything that a process sends, except for its arrivals.
#[derive(Debug, Default, Serialize, Deserialize)]
struct GatherPart {
    summary: Option<Summary>,
    link: Option<ParentLink>,
    nanoseconds_per_tick: f64,
}

/// Returns the nanoseconds of a tick in this process.
fn nanoseconds_per_tick() -> f64 {
    CLOCK.nanoseconds_per_tick().unwrap_or(1.0)
}

/// Gathers the job summary, and returns it in the first process. All processes of the run call this together.
///
/// # Errors
/// If Score-P's communication fails.
pub(crate) fn gather(
    ipc: Ipc<'_>,
    nodes: &Nodes,
    summary: Option<Summary>,
    arrivals: Option<Arrivals>,
    most: usize,
) -> Result<Option<Summary>, IpcError> {
    // whatever fails from here on, the other processes wait for the next step
    let link = nodes.part(ipc);
    let share = most.min(MOST / ipc.size());
    let own = contain("gather", Vec::new(), || {
        let mut summary = summary;
        // sent behind the text
        summary.iter_mut().flat_map(|it| &mut it.processes).for_each(|process| process.arrivals = None);
        let part =
            GatherPart { summary, link: link.as_ref().ok().copied(), nanoseconds_per_tick: nanoseconds_per_tick() };
        encode(part, arrivals.unwrap_or_default(), share, MOST_ARRIVALS / ipc.size())
    });
    let mut parts = GatherParts::default();
    let gathered = ipc.gather(&own, |bytes| {
        let (part, arrivals) = contain("gather", Default::default(), || take_apart(bytes).unwrap_or_default());
        contain("gather", (), || parts.add(part, arrivals));
    });
    link.and(gathered)?;
    Ok((ipc.rank() == 0).then(|| parts.merge()))
}

/// Makes the summary of a process without other processes; it may have several ranks. Its arrivals take at most `most`
/// bytes.
pub(crate) fn alone(summary: Summary, arrivals: Option<Arrivals>, most: usize) -> Summary {
    let nanoseconds_per_tick = nanoseconds_per_tick();
    let part = GatherPart { summary: Some(summary), link: None, nanoseconds_per_tick };
    let mut arrivals = arrivals.unwrap_or_default();
    arrivals.keep_at_most(MOST_ARRIVALS);
    let kept = summary::Arrivals::of_process(arrivals.clone(), nanoseconds_per_tick, most);
    let mut parts = GatherParts::default();
    parts.add(part, arrivals);
    let mut summary = parts.merge();
    summary.processes.iter_mut().for_each(|process| process.arrivals = Some(kept.clone()));
    summary.notes.push(
        "this is the summary of one process: without MPI, Score-P knows of no other; scorep-nccl report compares the \
         directories of all"
            .into(),
    );
    summary
}

/// Encodes as much of a part as fits into `share` bytes, with at most `most` arrivals. A quarter is kept for arrivals,
/// since only they say who is late; rows give way for it.
fn encode(part: GatherPart, mut arrivals: Arrivals, share: usize, most: usize) -> Vec<u8> {
    arrivals.keep_at_most(most);
    let reserved = arrivals.encode().len().min(share / ARRIVALS_HAVE);
    let mut bytes = fit(part, share - reserved, share);
    let room = share.saturating_sub(bytes.len());
    bytes.extend(arrivals.fit(most, room));
    bytes
}

/// Encodes as much of a part's text as fits into `room` bytes. The counters of the process and its communicators may
/// take `share` bytes.
fn fit(mut part: GatherPart, room: usize, share: usize) -> Vec<u8> {
    let encoded = |part: &GatherPart| {
        let text = serde_json::to_vec(part).unwrap_or_default();
        [&(text.len() as u64).to_le_bytes()[..], &text].concat()
    };
    let mut bytes = encoded(&part);
    let why = format!(
        "{} KiB are more than the {} for which there is room (NCCL_SCOREP_GATHER_KB, and {} MiB for all processes)",
        bytes.len() >> 10,
        room >> 10,
        MOST >> 20
    );
    for rows in [RowKind::Channels, RowKind::Transfers, RowKind::Operations] {
        if bytes.len() > room
            && let Some(summary) = &mut part.summary
        {
            summary.leave_out(rows, &why);
            bytes = encoded(&part);
        }
    }
    if bytes.len() > share {
        part.summary = None;
        bytes = encoded(&part);
    }
    bytes
}

fn take_apart(bytes: &[u8]) -> Option<(GatherPart, Arrivals)> {
    let length = u64::from_le_bytes(bytes.get(..HEAD)?.try_into().ok()?);
    let (text, arrivals) = bytes.get(HEAD..)?.split_at_checked(usize::try_from(length).ok()?)?;
    Some((serde_json::from_slice(text).ok()?, Arrivals::decode(arrivals).unwrap_or_default()))
}

/// The parts of all processes, in the first process, as they come.
#[derive(Debug, Default)]
struct GatherParts {
    summaries: Merging,
    links: Vec<Option<ParentLink>>,
    arrivals: Vec<Arrivals>,
    /// Length of a tick of the first process.
    nanoseconds_per_tick: Option<f64>,
}

impl GatherParts {
    /// Adds the part of the next process.
    fn add(&mut self, part: GatherPart, arrivals: Arrivals) {
        let number = u32::try_from(self.links.len());
        self.links.push(part.link);
        self.arrivals.push(arrivals);
        self.nanoseconds_per_tick.get_or_insert(part.nanoseconds_per_tick);
        if let Some((summary, number)) = part.summary.zip(number.ok()) {
            self.summaries.add(number, summary);
        }
    }

    /// Merges all parts into one summary.
    fn merge(self) -> Summary {
        let Self { summaries, links, arrivals, nanoseconds_per_tick } = self;
        let scale = nanoseconds_per_tick.unwrap_or(1.0);
        let mut summary = summaries.merged();
        let clocks = ClockTree::new(&links);
        summary.notes.extend(arrivals::note(&arrivals));
        (summary.lateness, summary.bandwidth) = lateness(arrivals, &clocks, scale, &summary.communicators);
        // without offsets between nodes, all processes are on one node and read the same clock
        summary.clocks = Some(clocks.clocks(scale).unwrap_or(ClockComparison { nodes: 1, error_us: 0.0 }));
        let silent = links.len() - summary.processes.len();
        if silent > 0 {
            let all = links.len();
            summary.notes.push(format!(
                "{silent} of {all} processes are not in here: their part had no room (NCCL_SCOREP_GATHER_KB, and {} MiB for \
                 all processes) or could not be read",
                MOST >> 20
            ));
        }
        summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::arrivals::{Arrival, Collective, RankArrivals};
    use common::name::NcclName;
    use common::run_sums::CommunicatorRank;
    use common::summary::{Channel, SummaryOperations};

    /// Returns the part and the arrivals of a process with many rows of each kind.
    fn much() -> (GatherPart, Arrivals) {
        let mut summary = Summary::of_nothing("");
        let comm = "00000000000000ab".to_owned();
        let channel = Channel {
            comm: comm.clone(),
            rank: 0,
            peer: 1,
            channel: 0,
            transfers: 1,
            bytes: 1,
            mean_size_bytes: 1.0,
            mean_time_us: 1.0,
        };
        summary.channels = vec![channel; 1000];
        let row = format!(
            r#"{{"comm": "{comm}", "rank": 0, "kind": "Coll", "func": "AllReduce", "peer": null, "count": 1, "bytes": 1,
                "gpu_timed": 0, "time_us": 0, "min_us": null, "max_us": null, "proxy_timed": 0, "proxy_time_us": 0,
                "enqueue_timed": 1, "enqueue_time_us": 1}}"#
        );
        let row: SummaryOperations = serde_json::from_str(&row).unwrap();
        summary.operations = vec![row; 20];
        let collective = |at: u64| {
            let arrival = Arrival { time: at << 20, length: 1000, ..Arrival::default() };
            Collective { function: NcclName::of(Some(c"AllReduce")), sequence: at, order: at as u32, arrival }
        };
        let rank = RankArrivals::new(CommunicatorRank { comm: 0xab, rank: 0 }, (0..10_000).map(collective).collect());
        let arrivals = Arrivals { ranks: vec![rank], ..Arrivals::default() };
        (GatherPart { summary: Some(summary), link: None, nanoseconds_per_tick: 1.0 }, arrivals)
    }

    #[test]
    fn a_part_has_its_share_of_rows_and_of_arrivals() {
        for share in [16 << 10, 64 << 10, 1 << 20] {
            let (part, arrivals) = much();
            let bytes = encode(part, arrivals, share, usize::MAX);
            assert!(bytes.len() <= share, "{share}: {}", bytes.len());
            let (part, arrivals) = take_apart(&bytes).unwrap();
            let summary = part.summary.unwrap();
            assert_eq!(summary.operations.len(), 20, "{share}");
            assert_eq!(summary.channels.is_empty(), share < 1 << 20, "{share}");
            assert!(
                arrivals.encode().len() >= share / 16 || arrivals.count() == 10_000,
                "{share}: {}",
                arrivals.count()
            );
        }
        let (part, arrivals) = much();
        let (_, arrivals) = take_apart(&encode(part, arrivals, 1 << 20, 50)).unwrap();
        assert!((25..=50).contains(&arrivals.count()), "{}", arrivals.count());
    }

    #[test]
    fn parts_that_cannot_be_read_are_counted() {
        let mut parts = GatherParts::default();
        for bytes in [encode(much().0, Arrivals::default(), 1 << 20, 1), vec![], vec![1, 2, 3]] {
            let (part, arrivals) = take_apart(&bytes).unwrap_or_default();
            parts.add(part, arrivals);
        }
        let summary = parts.merge();
        assert_eq!(summary.processes.len(), 1);
        assert!(
            summary.notes.iter().any(|note| note.starts_with("2 of 3 processes are not in here")),
            "{:?}",
            summary.notes
        );
    }
}
