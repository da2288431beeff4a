//! The threads that NCCL's plugin is called on: how long they ran, and how long they were ready and had no processor.

use crate::base::system_file::{path, read};
use crate::record::thread::ThreadCell;
use std::collections::BTreeMap;

/// Most threads of each kind that are looked at.
const MOST: usize = 16;
/// Share of the time from which on a thread counts as one that runs or is ready: one that only slept takes no turns.
const ACTIVE: f64 = 0.01;

/// What the system has counted of a thread since it began, nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ThreadTimes {
    pub(super) running: u64,
    pub(super) waiting: u64,
}

/// Threads by their ids, with what is counted of them.
pub(super) type ThreadsByKind = [BTreeMap<u32, ThreadTimes>; 2];

/// Reads the times of the launching threads and of NCCL's own.
pub(super) fn look() -> ThreadsByKind {
    let mut found = ThreadsByKind::default();
    for cell in ThreadCell::all() {
        let Some(thread) = cell.system_id() else { continue };
        let of_kind = &mut found[usize::from(!cell.has_launched())];
        if of_kind.len() < MOST
            && let Some(times) = times(thread)
        {
            of_kind.insert(thread, times);
        }
    }
    found
}

/// Returns the times of a thread of this process.
pub(super) fn times(thread: u32) -> Option<ThreadTimes> {
    // the application may have ended it: then there is no file
    let path = path(format!("/proc/self/task/{thread}/schedstat"))?;
    of_schedstat(read(&path, &mut [0; 128])?)
}

fn of_schedstat(text: &str) -> Option<ThreadTimes> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse);
    let [running, waiting] = [numbers.next()?.ok()?, numbers.next()?.ok()?];
    // a kernel without these counts writes zeros, as of a thread that has never left its processor
    (running > 0 || waiting > 0).then_some(ThreadTimes { running, waiting })
}

/// By how much the times of some threads have grown between two looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct GrownTimes {
    /// Summed over the threads, microseconds.
    pub(super) sum: ThreadTimes,
    /// Threads that ran or were ready for at least [`ACTIVE`] of the time between the looks.
    pub(super) active: u32,
}

/// Returns by how much the times of threads have grown that were there at both looks, so many microseconds apart; `None`
/// if there was no such thread.
pub(super) fn grown(
    before: &BTreeMap<u32, ThreadTimes>,
    now: &BTreeMap<u32, ThreadTimes>,
    length_us: u64,
) -> Option<GrownTimes> {
    let both = now.iter().filter_map(|(thread, now)| Some((before.get(thread)?, now)));
    both.fold(None, |grown: Option<GrownTimes>, (before, now)| {
        let GrownTimes { sum, active } = grown.unwrap_or_default();
        let running = now.running.saturating_sub(before.running) / 1000;
        let waiting = now.waiting.saturating_sub(before.waiting) / 1000;
        let is_active = running.saturating_add(waiting) as f64 >= length_us as f64 * ACTIVE;
        Some(GrownTimes {
            sum: ThreadTimes { running: sum.running + running, waiting: sum.waiting + waiting },
            active: active + u32::from(is_active),
        })
    })
}

/// Returns the numbers of the processors that a thread may run on.
pub(super) fn processors(thread: u32) -> Option<Vec<u32>> {
    let mut mask = [0_u8; 1024];
    let thread = libc::pid_t::try_from(thread).ok()?;
    // SAFETY: the kernel writes at most so many bytes into the mask, and returns how many.
    let length = unsafe { libc::syscall(libc::SYS_sched_getaffinity, thread, mask.len(), mask.as_mut_ptr()) };
    let mask = mask.get(..usize::try_from(length).ok()?)?;
    let of_byte = |(place, byte): (u32, &u8)| {
        let byte = *byte;
        (0..8).filter(move |bit| byte >> bit & 1 != 0).map(move |bit| place * 8 + bit)
    };
    Some((0..).zip(mask).flat_map(of_byte).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_grow_by_those_that_were_there_before() {
        assert_eq!(
            of_schedstat("66086000 56942000 2\n"),
            Some(ThreadTimes { running: 66_086_000, waiting: 56_942_000 })
        );
        assert_eq!([of_schedstat("12"), of_schedstat("a b c"), of_schedstat(""), of_schedstat("0 0 0")], [None; 4]);
        let times = |running, waiting| ThreadTimes { running, waiting };
        let before = BTreeMap::from([(1, times(5_000, 7_000)), (2, times(0, 0))]);
        let now = BTreeMap::from([(1, times(8_000, 9_000)), (3, times(1 << 40, 0))]);
        // the second thread is gone, the third one new
        assert_eq!(grown(&before, &now, 500), Some(GrownTimes { sum: times(3, 2), active: 1 }));
        assert_eq!(grown(&BTreeMap::new(), &now, 500), None);
        // of three, one has slept for 99 % of the time and more
        let before = BTreeMap::from([(1, times(0, 0)), (2, times(0, 0)), (3, times(0, 0))]);
        let now = BTreeMap::from([(1, times(5_000, 5_000)), (2, times(9_000, 0)), (3, times(10_000, 0))]);
        assert_eq!(grown(&before, &now, 1_000), Some(GrownTimes { sum: times(24, 5), active: 2 }));
    }

    #[test]
    fn the_system_knows_this_thread() {
        let own = u32::try_from(crate::base::own_thread::number()).unwrap();
        // the system counts a thread's first time when the thread leaves its processor
        let counts = |_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            times(own).is_some_and(|times| times.running > 0)
        };
        assert!((0..1000).any(counts));
        let allowed = processors(own).unwrap();
        assert!(!allowed.is_empty() && allowed.is_sorted());
        assert_eq!(times(u32::MAX), None);
    }
}
