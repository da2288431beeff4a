//! Times of kernels by CUDA events: a replay has no CUDA, so it tells the library what its recorder learnt.

use crate::capture::Capture;
use std::collections::HashMap;

/// `scorep_nccl_kernel_events`: the two events around what starts next on the calling thread, when their times were learnt, when the
/// kernel began, and when the first event was recorded (0 where nobody knows).
pub(crate) type Tell = unsafe extern "C" fn(first: u64, last: u64, learnt: u64, begin: u64, at: u64);

/// The time of one kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Events {
    /// Nanoseconds on the events' clock.
    first: u64,
    /// The same.
    last: u64,
    /// On the clock that the player shows.
    learnt: u64,
    /// On the events' clock.
    begin: Option<u64>,
    /// When the first one was recorded, on the same clock.
    at: Option<u64>,
}

/// All times of a capture, by the handle of the event that they are around.
#[derive(Debug, Default)]
pub(crate) struct Kernels {
    tell: Option<Tell>,
    events: HashMap<u64, Events>,
}

impl Kernels {
    /// Those of a capture; a library without the function is told nothing.
    pub(crate) fn of(capture: &Capture, tell: Option<Tell>) -> Self {
        let mut events = HashMap::new();
        for kernel in &capture.kernels {
            let shown = |t| capture.meta.mono0.saturating_add(t);
            let (learnt, at) = (shown(kernel.t), kernel.at.map(shown));
            events.entry(kernel.h).or_insert(Events { first: kernel.first, last: kernel.last, learnt, begin: kernel.begin, at });
        }
        Self { tell, events }
    }

    /// The event of that handle is about to start on this thread.
    pub(crate) fn before_start(&self, h: u64) {
        if let (Some(tell), Some(events)) = (self.tell, self.events.get(&h)) {
            // SAFETY: takes any numbers.
            unsafe { tell(events.first, events.last, events.learnt, events.begin.unwrap_or(0), events.at.unwrap_or(0)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{Kernel, Meta, Skipped};
    use std::cell::RefCell;

    thread_local! {
        static TOLD: RefCell<Vec<[u64; 5]>> = const { RefCell::new(Vec::new()) };
    }

    unsafe extern "C" fn tell(first: u64, last: u64, learnt: u64, begin: u64, at: u64) {
        TOLD.with_borrow_mut(|told| told.push([first, last, learnt, begin, at]));
    }

    fn capture() -> Capture {
        let kernel = |t, h, first| Kernel {
            t,
            line: 9,
            h,
            first,
            last: first + 10,
            at: (h == 1).then_some(4),
            begin: (h == 3).then_some(205),
        };
        let origin = Default::default();
        let meta = Meta { api: 5, mask: 0, pid: 1, real0: 0, mono0: 1_000, dropped: 0, full: None, origin };
        let kernels = vec![kernel(5, 1, 100), kernel(6, 3, 200), kernel(7, 3, 300)];
        Capture { path: "c.gz".into(), meta, lines: Vec::new(), kernels, skipped: Skipped::default(), is_complete: true }
    }

    #[test]
    fn the_library_is_told_before_the_event_starts_and_of_no_other() {
        let kernels = Kernels::of(&capture(), Some(tell));
        (1..=4).for_each(|h| kernels.before_start(h));
        // of two times of one kernel the first counts
        assert_eq!(TOLD.take(), [[100, 110, 1_005, 0, 1_004], [200, 210, 1_006, 205, 0]]);
    }

    #[test]
    fn a_library_without_the_function_is_told_nothing() {
        let kernels = Kernels::of(&capture(), None);
        (1..=4).for_each(|h| kernels.before_start(h));
        assert_eq!(TOLD.take(), <[[u64; 5]; 0]>::default());
    }
}
