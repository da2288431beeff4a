//! Ranks that stand out as late: their sends tell no slow path from a late rank.
//!
//! Over sockets, transfers of a rank that came late by a fifth took 60 % longer, up to 80 %, and those that it received no
//! longer (docs/gpu-test.md). Nothing is known of how that grows with the lateness, so that no rate is too low for a late
//! sender.

use crate::answer::{RankPair, Stragglers};
use std::collections::BTreeSet;

/// Own time beyond that of the peers, as a share of a step, from which on a rank may send more slowly because of it. A fifth
/// made transfers longer by 60 %, so this makes them longer by 6 %, which is no slow pair.
pub const LATE_RANK: f64 = 0.02;

/// GPUs that stand out by so much.
#[derive(Debug, Clone, Default)]
pub struct LateRanks {
    gpus: BTreeSet<usize>,
}

impl LateRanks {
    /// Returns those of the ranks that stand out. Of ranks that are late in some steps alone, the gain tells how late they
    /// are in the mean.
    pub fn of(stragglers: &Stragglers) -> Self {
        let least = LATE_RANK * stragglers.step_us;
        let found = stragglers.found.iter().filter(|it| it.excess_us.max(it.gain_us.unwrap_or(0.0)) >= least);
        Self { gpus: found.flat_map(|it| it.gpus.iter().copied()).collect() }
    }

    /// Returns whether a pair's sender is one.
    pub(super) fn send(&self, row: &RankPair) -> bool {
        row.from.is_some_and(|gpu| self.gpus.contains(&gpu))
    }
}
