//! All processes on one clock.
//!
//! Processes of one boot of a machine read one clock. Clocks of several machines are known by the time of day first, to
//! a day, and then by causality: nobody ends an all-reduce, all-gather or reduce-scatter before all have begun it, and
//! no receive ends before its send has begun. These inequalities over a sample of the operations bound the difference
//! of two clocks from both sides, also where clocks drift; half of the bounds' distance is the error.

use super::sample::ClockSampling;
use crate::job::{Job, OperationTables, Unreadable, read_all};
use common::arrivals::Arrival;
use common::clock_tree::ClockTree;
use common::lateness::{BootClocks, Comparison, Gathered, Waits};
use std::sync::Arc;

/// Number of evenly spaced moments of a process at which its clock's error is read.
const ERROR_READINGS: u64 = 16;

/// The common clock of a job: that of the process whose machine booted first. Times are nanoseconds.
#[derive(Debug)]
pub struct CommonClock {
    boots: BootClocks,
    /// By the time of day alone, for processes that nothing connects.
    by_time_of_day: ClockTree,
    tree: Arc<ClockTree>,
    /// By place of the communicator; `None` where members' clocks are not connected, and for a single member.
    comparisons: Vec<Option<Comparison>>,
    errors: Vec<Option<u64>>,
}

impl CommonClock {
    /// Brings the clocks of a job's processes together. Reads all operations once.
    ///
    /// # Errors
    /// A table cannot be read.
    pub fn read(job: &Job, table: &dyn OperationTables) -> Result<Self, Unreadable> {
        let mut sampling = ClockSampling::new(job);
        read_all(job.processes.len(), table, &mut [&mut sampling])?;
        Ok(Self::from_sample(job, sampling))
    }

    /// Brings the clocks together by a sample of all operations.
    pub fn from_sample(job: &Job, mut sampling: ClockSampling<'_>) -> Self {
        let mut gathered = Gathered::of(sampling.arrivals());
        let ClockSampling { boots, spans, .. } = sampling;
        let by_time_of_day = ClockTree::new(&boots.links);
        let mut tree = Arc::new(by_time_of_day.clone());
        let mut comparisons: Vec<Option<Comparison>> = job.communicators.iter().map(|_| None).collect();
        if boots.count > 1 && !spans.is_empty() {
            tree = Arc::new(gathered.aligned(&boots.links, &spans, 1.0));
        }
        for (comm, comparison) in gathered.comparisons(&tree, 1.0) {
            if let Some(known) = job.places.get(&comm).and_then(|&place| comparisons.get_mut(place)) {
                *known = comparison;
            }
        }
        let mut clocks = Self { boots, by_time_of_day, tree, comparisons, errors: Vec::new() };
        let span = |process| spans.get(clocks.boots.swapped(process)).copied().unwrap_or_default();
        clocks.errors = (0..job.processes.len()).map(|process| clocks.error_over(process, span(process))).collect();
        clocks
    }

    /// Returns the largest error of a process' clock over a span of its own times.
    fn error_over(&self, process: usize, [begin, end]: [u64; 2]) -> Option<u64> {
        let look = |number: u64| {
            let time = begin.saturating_add(end.saturating_sub(begin) / ERROR_READINGS * number);
            self.tree.to_root(self.place(process), time).map(|(_, error)| error)
        };
        (0..=ERROR_READINGS).map(look).try_fold(0, |most, error| Some(error?.max(most)))
    }

    fn place(&self, process: usize) -> u32 {
        u32::try_from(self.boots.swapped(process)).unwrap_or(u32::MAX)
    }

    /// Returns the time of the common clock at which a process' own clock showed `own`. Of a process that no operation
    /// connects with the others, by the time of day.
    pub fn time(&self, process: usize, own: u64) -> i64 {
        let place = self.place(process);
        let common = self.tree.to_root(place, own).or_else(|| self.by_time_of_day.to_root(place, own));
        i64::try_from(common.map_or(own, |(time, _)| time)).unwrap_or(i64::MAX)
    }

    /// Returns the largest guaranteed error of a process' times on the common clock, nanoseconds; `None` if no
    /// operation connects its clock with the others.
    pub fn error_of(&self, process: usize) -> Option<u64> {
        self.errors.get(process).copied().flatten()
    }

    /// Returns the largest guaranteed error of any process' times, nanoseconds; `None` if a clock is not connected.
    pub fn error(&self) -> Option<u64> {
        self.errors.iter().copied().try_fold(0, |most, error| Some(error?.max(most)))
    }

    /// Returns the number of clocks that the processes read.
    pub fn count(&self) -> usize {
        self.boots.count
    }

    /// Compares the begins of an operation's ranks, in ascending order. `None` if clocks are not connected.
    pub(super) fn waits(&self, communicator: usize, arrivals: &[(i32, Arrival)]) -> Option<Waits> {
        self.comparisons.get(communicator)?.as_ref()?.waits(arrivals)
    }
}
