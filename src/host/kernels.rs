//! Times of kernels by CUDA events. A replay has no CUDA, so it passes the recorded times to the library.

use crate::capture::{CaptureSurvey, CapturedAnchor, Kernel};
use std::collections::HashMap;

/// `scorep_nccl_kernel_events`. Its arguments belong to the event that starts next on the calling thread: the times of
/// both CUDA events, when they were learnt, when the kernel began, and when the first CUDA event was recorded (0 where
/// unknown).
pub(crate) type Tell = unsafe extern "C" fn(first: u64, last: u64, learnt: u64, begin: u64, at: u64);

/// `scorep_nccl_kernel_anchor`. Its arguments belong to the kernel whose times follow: a moment on the clock of CUDA's
/// events, and two times of the host with the moment between them.
pub(crate) type Anchored = unsafe extern "C" fn(time: u64, from: u64, until: u64);

/// All kernel times of a capture, and the anchors of their clock.
#[derive(Debug, Default)]
pub(crate) struct CaptureKernels {
    tell: Option<Tell>,
    anchored: Option<Anchored>,
    /// See [`Meta::mono0`](crate::capture::Meta::mono0).
    mono0: u64,
    /// Times by the handle of the event whose launch the CUDA events enclose.
    kernels: HashMap<u64, Kernel>,
    anchors: HashMap<u64, CapturedAnchor>,
}

impl CaptureKernels {
    /// Takes the times of a capture. A library without one of the functions gets nothing by it.
    pub(crate) fn of(survey: &CaptureSurvey, tell: Option<Tell>, anchored: Option<Anchored>) -> Self {
        let (kernels, anchors) = (survey.kernels.clone(), survey.anchors.clone());
        Self { tell, anchored, mono0: survey.meta.mono0, kernels, anchors }
    }

    /// Passes on the time of the event with this handle, which is about to start on this thread.
    pub(crate) fn before_start(&self, h: u64) {
        if let (Some(tell), Some(kernel)) = (self.tell, self.kernels.get(&h)) {
            // converted to the clock that the player shows
            let shown = |t| self.mono0.saturating_add(t);
            let (learnt, at) = (shown(kernel.t), kernel.at.map_or(0, shown));
            if let (Some(anchored), Some(anchor)) = (self.anchored, self.anchors.get(&h)) {
                // SAFETY: the function takes any numbers.
                unsafe { anchored(anchor.time, shown(anchor.from), shown(anchor.until)) };
            }
            // SAFETY: the function takes any numbers.
            unsafe { tell(kernel.first, kernel.last, learnt, kernel.begin.unwrap_or(0), at) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{Content, Meta};
    use std::cell::RefCell;

    thread_local! {
        static TOLD: RefCell<Vec<[u64; 5]>> = const { RefCell::new(Vec::new()) };
    }

    unsafe extern "C" fn tell(first: u64, last: u64, learnt: u64, begin: u64, at: u64) {
        TOLD.with_borrow_mut(|told| told.push([first, last, learnt, begin, at]));
    }

    fn survey() -> CaptureSurvey {
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
        let mut survey = CaptureSurvey::new(meta);
        for kernel in [kernel(5, 1, 100), kernel(6, 3, 200), kernel(7, 3, 300)] {
            survey.note(&Content::Kernel(kernel)).unwrap();
        }
        survey
    }

    #[test]
    fn the_library_is_told_before_the_event_starts_and_of_no_other() {
        let kernels = CaptureKernels::of(&survey(), Some(tell), None);
        (1..=4).for_each(|h| kernels.before_start(h));
        // of two times of one kernel, the first counts
        assert_eq!(TOLD.take(), [[100, 110, 1_005, 0, 1_004], [200, 210, 1_006, 205, 0]]);
    }

    #[test]
    fn a_library_without_the_function_is_told_nothing() {
        let kernels = CaptureKernels::of(&survey(), None, None);
        (1..=4).for_each(|h| kernels.before_start(h));
        assert_eq!(TOLD.take(), <[[u64; 5]; 0]>::default());
    }
}
