//! Time that a thread spends inside NCCL's API.
//!
//! NCCL reports calls, and it reports groups from the begin of `ncclGroupEnd` to its end, in which the group's kernels
//! are launched. For a group inside another one, as PyTorch's batch_isend_irecv makes it, NCCL reports the end before
//! the outer group launches anything. Of the outer group NCCL reports only the launch of each kernel and the start of
//! its operations, on the thread that has ended the group.

use super::ThreadCell;
use crate::base::sync::Ordering;

impl ThreadCell {
    /// Marks the thread as outside of NCCL's API, even if a leave was never reported.
    #[inline(always)]
    pub fn begin_api(&self) {
        self.api_since.store(0, Ordering::Relaxed);
        self.launch_since.store(0, Ordering::Relaxed);
    }

    /// Marks the thread as inside NCCL's API since `time`, unless it is inside already.
    #[inline(always)]
    pub fn enter_api(&self, time: u64) {
        if self.api_since.load(Ordering::Relaxed) == 0 {
            self.api_since.store(time.max(1), Ordering::Relaxed);
        }
    }

    /// Marks the thread as outside of NCCL's API from `time` on. Adds no time if the thread was not inside, or if the
    /// length of a tick is not known yet.
    #[inline(always)]
    pub fn leave_api(&self, time: u64, nanoseconds_per_tick: Option<f64>) {
        let since = self.api_since.load(Ordering::Relaxed);
        self.api_since.store(0, Ordering::Relaxed);
        self.count_api(since, time, nanoseconds_per_tick);
    }

    /// Like [`ThreadCell::leave_api`], at the end of a group. A kernel that the thread launches later is an outer
    /// group's.
    #[inline(always)]
    pub fn leave_group(&self, time: u64, nanoseconds_per_tick: Option<f64>) {
        self.leave_api(time, nanoseconds_per_tick);
        self.has_ended_group.store(true, Ordering::Relaxed);
    }

    /// Notes that a kernel is about to be launched at `time`. Returns true if it is an outer group's kernel; then the
    /// thread is inside NCCL's API from now on. NCCL's own threads, which launch work that nobody waits for, have ended
    /// no group, so their kernels do not count.
    pub(crate) fn begin_launch(&self, time: u64) -> bool {
        let nested = self.api_since.load(Ordering::Relaxed) == 0 && self.has_ended_group.load(Ordering::Relaxed);
        if nested {
            self.launch_since.store(time.max(1), Ordering::Relaxed);
        }
        nested
    }

    /// Returns whether the operations that start now belong to an outer group's kernel.
    pub(crate) fn is_launching(&self) -> bool {
        self.launch_since.load(Ordering::Relaxed) != 0
    }

    /// Notes that the launch of an outer group's kernel has returned at `time`. Most of its operations are still to
    /// come; those of a captured kernel never come.
    pub(crate) fn pass_launch(&self, time: u64, nanoseconds_per_tick: Option<f64>) {
        let since = self.launch_since.load(Ordering::Relaxed);
        if since > 0 {
            self.launch_since.store(time.max(1), Ordering::Relaxed);
            self.count_api(since, time, nanoseconds_per_tick);
        }
    }

    /// Notes that the last operation of an outer group's kernel has stopped at `time`.
    pub(crate) fn end_launch(&self, time: u64, nanoseconds_per_tick: Option<f64>) {
        self.pass_launch(time, nanoseconds_per_tick);
        self.launch_since.store(0, Ordering::Relaxed);
    }

    /// Returns when the thread entered NCCL's API, in ticks, if it is inside.
    pub(crate) fn in_api_since(&self) -> Option<u64> {
        Some(self.api_since.load(Ordering::Relaxed)).filter(|&since| since != 0)
    }

    /// Forgets the state of the previous thread when another one takes the cell over.
    pub(super) fn forget_api(&self) {
        self.begin_api();
        self.has_ended_group.store(false, Ordering::Relaxed);
    }

    #[inline(always)]
    fn count_api(&self, since: u64, time: u64, nanoseconds_per_tick: Option<f64>) {
        if let (Some(scale), true) = (nanoseconds_per_tick, since > 0) {
            // signed, which takes half the instructions
            let nanoseconds = time.saturating_sub(since).cast_signed() as f64 * scale;
            self.api_time.add((nanoseconds as i64).cast_unsigned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALE: Option<f64> = Some(0.5);

    #[test]
    fn api_time_is_counted_between_enter_and_leave() {
        let cell = ThreadCell::new().unwrap();
        cell.leave_api(5, SCALE);
        cell.enter_api(10);
        cell.enter_api(12);
        cell.leave_api(30, SCALE);
        cell.leave_api(40, SCALE);
        cell.enter_api(50);
        cell.leave_api(60, None);
        assert_eq!(cell.api_time.get(), 10);
    }

    #[test]
    fn a_launch_inside_a_group_is_in_the_groups_time() {
        let cell = ThreadCell::new().unwrap();
        cell.leave_group(5, SCALE);
        cell.enter_api(10);
        assert!(!cell.begin_launch(12) && !cell.is_launching());
        cell.pass_launch(20, SCALE);
        cell.end_launch(25, SCALE);
        cell.leave_group(30, SCALE);
        assert_eq!(cell.api_time.get(), 10);
    }

    #[test]
    fn a_launch_behind_a_group_counts_up_to_its_last_operation() {
        let cell = ThreadCell::new().unwrap();
        assert!(!cell.begin_launch(3), "a thread that has ended no group");
        cell.leave_group(5, SCALE);
        assert!(cell.begin_launch(10) && cell.is_launching());
        cell.pass_launch(110, SCALE);
        assert_eq!(cell.api_time.get(), 50);
        cell.end_launch(130, SCALE);
        cell.end_launch(510, SCALE);
        assert_eq!(cell.api_time.get(), 60);
        assert!(cell.begin_launch(600), "a second kernel of the group");
        cell.begin_api();
        cell.end_launch(910, SCALE);
        assert_eq!(cell.api_time.get(), 60, "one whose end was never told of");
    }
}
