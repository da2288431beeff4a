//! A snapshot of the collector's sums for exporters, without the parts that only fits and unions need.

use crate::figures::Figures;
use crate::figures::introductions::Introductions;
use crate::figures::progress_sums::ProgressSums;
use crate::figures::progress_threads::ProgressCounts;
use crate::figures::timeline::LaunchCounts;
use crate::record::network_events::{self, NetworkCount};
use crate::sums::histograms::IfHistograms;
use crate::sums::histograms::OfWindows;
use crate::sums::run_sums::{
    ChannelSum, CommunicatorRank, Direction, OTHERS, OperationKey, OperationSum, OverNvlink, StateSum,
};
use std::collections::BTreeMap;

/// Sums of the process since its start. Communicators that will be merged into [`OTHERS`] when they end are counted
/// there from the start. So a key may occur more than once, but no sum ever moves from one key to another.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProcessSums {
    /// Number of ranks of each communicator.
    pub communicators: BTreeMap<u64, i32>,
    /// Operation sums, as in [`crate::sums::run_sums::Totals`].
    pub operations: Vec<(OperationKey, OperationSum)>,
    /// Transfers by rank and peer.
    pub pairs: Vec<((CommunicatorRank, i32), PairTransfers)>,
    /// Transfers by rank, peer and channel.
    pub channels: Vec<((CommunicatorRank, i32, u8), ChannelSum)>,
    /// Transfers by state, by rank, other rank and direction.
    pub states: Vec<((CommunicatorRank, i32, Direction), StateSum)>,
    /// Bytes that operations should have moved over NVLink.
    pub moved: OverNvlink,
    /// Whether the host or the GPU was later, by rank.
    pub launches: Vec<(CommunicatorRank, LaunchCounts)>,
    /// The threads that progress proxy operations, if NCCL reported their states.
    pub progress_threads: Option<ProgressSums>,
    /// Events of network plugins.
    pub network_events: Vec<NetworkCount>,
}

/// Transfers of a pair of ranks.
#[derive(Debug, Clone, Default)]
pub(crate) struct PairTransfers {
    /// Bytes.
    pub bytes: u64,
    /// Histograms of its windows' rates and latencies.
    pub windows: IfHistograms<OfWindows>,
}

impl ProcessSums {
    pub(crate) fn of(figures: &mut Figures, introductions: &Introductions) -> Self {
        let scale = figures.nanoseconds_per_tick;
        let launches = figures.timeline.as_mut().map(|timeline| timeline.launch_counts(scale)).unwrap_or_default();
        // ticks wait until their length is known
        if let Some(counts) = ProgressCounts::of_process().filter(|_| figures.knows_tick) {
            figures.progress_threads.take(counts, scale);
        }
        let progress_threads = Some(figures.progress_threads).filter(|sums| sums.counts.threads > 0);
        let totals = &figures.totals;
        let of = |rank| if totals.has_sums_of_its_own(rank) { rank } else { CommunicatorRank { comm: OTHERS, ..rank } };
        Self {
            communicators: introductions.sizes(),
            operations: totals
                .operations
                .iter()
                .map(|(&(rank, kind, name, peer), sum)| ((of(rank), kind, name, peer), sum.clone()))
                .collect(),
            pairs: totals
                .pairs
                .iter()
                .map(|(&(rank, peer), pair)| {
                    ((of(rank), peer), PairTransfers { bytes: pair.bytes, windows: pair.windows.clone() })
                })
                .collect(),
            channels: totals
                .channels
                .iter()
                .map(|(&(rank, peer, channel), sum)| ((of(rank), peer, channel), sum.clone()))
                .collect(),
            states: totals
                .states
                .iter()
                .map(|(&(rank, peer, direction), &sum)| ((of(rank), peer, direction), sum))
                .collect(),
            moved: totals.moved.clone().unwrap_or_default(),
            launches: launches.into_iter().map(|(rank, counts)| (of(rank), counts)).collect(),
            progress_threads,
            network_events: network_events::counts(),
        }
    }
}
