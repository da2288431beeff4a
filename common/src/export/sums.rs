//! What exporters make their figures of: the collector's sums at a moment, without what only fits and unions need.

use crate::figures::Figures;
use crate::spread::Kept;
use crate::spread::OfWindows;
use crate::summary::Introductions;
use crate::totals::{ChannelSum, OperationKey, OperationSum, Rank};
use std::collections::BTreeMap;

/// Sums of the process since its start.
#[derive(Debug, Clone, Default)]
pub struct Sums {
    /// What a tick is worth.
    pub nanoseconds_per_tick: f64,
    /// Ranks of each communicator.
    pub communicators: BTreeMap<u64, i32>,
    /// Operations, as [`crate::totals::Totals`] has them.
    pub operations: Vec<(OperationKey, OperationSum)>,
    /// Transfers by rank and peer.
    pub pairs: Vec<((Rank, i32), Pair)>,
    /// The same by channel.
    pub channels: Vec<((Rank, i32, u8), ChannelSum)>,
}

/// Transfers of a pair of ranks.
#[derive(Debug, Clone, Default)]
pub struct Pair {
    /// Bytes.
    pub bytes: u64,
    /// Rates and latencies of its windows.
    pub windows: Kept<OfWindows>,
}

impl Sums {
    pub(crate) fn of(figures: &Figures, introductions: &Introductions) -> Self {
        let totals = &figures.totals;
        Self {
            nanoseconds_per_tick: figures.nanoseconds_per_tick,
            communicators: introductions.sizes(),
            operations: totals.operations.iter().map(|(&key, sum)| (key, sum.clone())).collect(),
            pairs: totals
                .pairs
                .iter()
                .map(|(&key, pair)| (key, Pair { bytes: pair.bytes, windows: pair.windows.clone() }))
                .collect(),
            channels: totals.channels.iter().map(|(&key, sum)| (key, sum.clone())).collect(),
        }
    }
}
