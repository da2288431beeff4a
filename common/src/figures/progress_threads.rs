//! The process' threads that progress NCCL's proxy operations: their counts together.

use crate::event::progress::ProgressState;
use crate::record::thread::ThreadCell;

/// States of a progress thread.
pub(super) const STATES: usize = ProgressState::ALL.len();

/// The counts of all progress threads, by state in the order of [`ProgressState::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ProgressCounts {
    /// Number of threads.
    pub threads: u64,
    /// Ticks in each state.
    pub ticks: [u64; STATES],
    /// How often each state began.
    pub entered: [u64; STATES],
    /// Proxy operations taken over.
    pub appended: u64,
}

impl ProgressCounts {
    /// Adds up the threads of this process; `None` if NCCL reported no state.
    pub(crate) fn of_process() -> Option<Self> {
        let mut sums = Self::default();
        for of in ThreadCell::all().map(|cell| &cell.progress) {
            sums.threads += of.threads();
            sums.ticks = std::array::from_fn(|state| sums.ticks[state].saturating_add(of.ticks()[state]));
            sums.entered = std::array::from_fn(|state| sums.entered[state].saturating_add(of.entered()[state]));
            sums.appended += of.appended();
        }
        (sums.threads > 0).then_some(sums)
    }
}
