//! The dimensions of parallelism within a stretch of a GPU's time.
//!
//! While a GPU goes along a stretch, no operation begins: the operations under way end one after the other. Between two
//! such ends the same dimensions have operations under way.

use super::computation::Computation;
use super::sweep::GpuStretch;

/// How far the operations of a dimension reach that have begun, and their waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach {
    waits_until: i64,
    busy_until: i64,
}

impl Default for Reach {
    fn default() -> Self {
        Self { waits_until: i64::MIN, busy_until: i64::MIN }
    }
}

impl Reach {
    /// Adds an operation. Its wait ends at `waits_until`, if that is known.
    pub(super) fn add(&mut self, waits_until: Option<i64>, stop: i64) {
        self.waits_until = self.waits_until.max(waits_until.map_or(i64::MIN, |until| until.min(stop)));
        self.busy_until = self.busy_until.max(stop);
    }
}

/// Times of a dimension in a step, nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// With an operation under way.
    pub(crate) time: i64,
    /// Of `time`, waiting.
    pub(crate) wait: i64,
    /// Of `time`, beside a computation.
    pub(crate) beside: i64,
    /// Its part of the time with communication and no computation under way.
    pub(crate) exposed: i64,
}

/// Adds a stretch to the times of the dimensions that have operations under way in it. Returns how long there was a
/// kernel of the computation.
pub(super) fn divide(
    reaches: &[Reach],
    stretch: GpuStretch,
    computation: &mut Computation,
    dimensions: &mut [Spent],
) -> i64 {
    let mut all_computed = 0;
    let mut from = stretch.from;
    while from < stretch.to {
        let ends = reaches.iter().flat_map(|reach| [reach.waits_until, reach.busy_until]);
        let to = ends.filter(|&end| end > from).fold(stretch.to, i64::min);
        let computed = computation.between(from, to);
        let (length, alone) = (to - from, to - from - computed);
        let active = reaches.iter().filter(|reach| reach.busy_until > from).count().max(1) as i64;
        let (each, mut left) = (alone / active, alone % active);
        for (reach, spent) in reaches.iter().zip(&mut *dimensions).filter(|(reach, _)| reach.busy_until > from) {
            spent.time += length;
            spent.wait += if reach.waits_until > from { length } else { 0 };
            spent.beside += computed;
            spent.exposed += each + i64::from(left > 0);
            left -= 1;
        }
        all_computed += computed;
        from = to;
    }
    all_computed
}
