//! Time that a thread spends inside NCCL's API.
//!
//! NCCL tells of calls, and of a group from where its end begins to where it has ended, which launches what is in it.
//! Of a group in another one, as PyTorch's batch_isend_irecv makes it, NCCL tells that it has ended before the outer
//! one launches anything: of that one it tells the launch of each kernel and the start of its operations, which come on
//! the thread that has ended the group.

use super::ThreadCell;
use crate::base::sync::Ordering;

impl ThreadCell {
    /// The thread is outside of NCCL's API, whatever it did not come out of before.
    #[inline(always)]
    pub fn begin_api(&self) {
        self.api_since.store(0, Ordering::Relaxed);
        self.launch_since.store(0, Ordering::Relaxed);
    }

    /// The thread went into NCCL's API at `time`, unless it is inside already.
    #[inline(always)]
    pub fn enter_api(&self, time: u64) {
        if self.api_since.load(Ordering::Relaxed) == 0 {
            self.api_since.store(time.max(1), Ordering::Relaxed);
        }
    }

    /// The thread came out of NCCL's API at `time`. Nothing is added when it went in on another thread, or when nobody
    /// knows yet what a tick is worth.
    #[inline(always)]
    pub fn leave_api(&self, time: u64, nanoseconds_per_tick: Option<f64>) {
        let since = self.api_since.load(Ordering::Relaxed);
        self.api_since.store(0, Ordering::Relaxed);
        self.count_api(since, time, nanoseconds_per_tick);
    }

    /// The same at the end of a group. A kernel that the thread launches from here on is that of an outer group.
    #[inline(always)]
    pub fn leave_group(&self, time: u64, nanoseconds_per_tick: Option<f64>) {
        self.leave_api(time, nanoseconds_per_tick);
        self.has_ended_group.store(true, Ordering::Relaxed);
    }

    /// A kernel is about to be launched at `time`. True if it is that of an outer group: then the thread is inside
    /// NCCL's API from here on. A thread of NCCL's own, which launches what is not waited for, has ended no group.
    pub(crate) fn begin_launch(&self, time: u64) -> bool {
        let nested = self.api_since.load(Ordering::Relaxed) == 0 && self.has_ended_group.load(Ordering::Relaxed);
        if nested {
            self.launch_since.store(time.max(1), Ordering::Relaxed);
        }
        nested
    }

    /// Whether the operations that start are those of an outer group's kernel.
    pub(crate) fn is_launching(&self) -> bool {
        self.launch_since.load(Ordering::Relaxed) != 0
    }

    /// The launch of an outer group's kernel has returned at `time`. Its operations are mostly still to come, and of a
    /// kernel that is captured they never do.
    pub(crate) fn pass_launch(&self, time: u64, nanoseconds_per_tick: Option<f64>) {
        let since = self.launch_since.load(Ordering::Relaxed);
        if since > 0 {
            self.launch_since.store(time.max(1), Ordering::Relaxed);
            self.count_api(since, time, nanoseconds_per_tick);
        }
    }

    /// The last operation of an outer group's kernel has stopped at `time`.
    pub(crate) fn end_launch(&self, time: u64, nanoseconds_per_tick: Option<f64>) {
        self.pass_launch(time, nanoseconds_per_tick);
        self.launch_since.store(0, Ordering::Relaxed);
    }

    /// Another thread takes the cell over.
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
