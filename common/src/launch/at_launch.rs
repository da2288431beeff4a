//! Anchors that launching threads make, where the collector must not.
//!
//! For a record, Score-P's CUDA adapter looks up the calling thread's location, also within its measurement. The
//! collector has no location: with `SCOREP_CUDA_ENABLE=yes` its record ended jobs (Score-P 8.4). NCCL's launching thread
//! records events in any case. So under Score-P the collector asks for an anchor, and the next launch in the context that
//! events time makes it: a record, and looks for some microseconds, once a second.
//!
//! The event and the stream pass from the collector to one launching thread and back.

use super::cuda::{CudaCalls, CudaEvent, Stream};
use crossbeam_queue::ArrayQueue;

/// Looks of a launching thread at one event, 0.2 to 0.5 us each: an event in a free queue happens within 10 us.
const LOOKS: usize = 40;

/// An event that a launching thread is to record in a stream of the library's own.
#[derive(Debug)]
struct WantedAnchor {
    event: CudaEvent,
    stream: Stream,
    /// Generation of the context's pool when the event was made.
    generation: u32,
}

/// A recorded event.
#[derive(Debug)]
pub(super) struct MadeAnchor {
    /// Generation of the context's pool when the event was made.
    pub(super) generation: u32,
    /// Time right before the record, ticks.
    pub(super) from: u64,
    /// Time of the first look that showed that it had happened, ticks. `None` if no look did.
    pub(super) until: Option<u64>,
}

/// The anchor of a context that is wanted, or has been made. There is one at a time.
#[derive(Debug)]
pub(super) struct AtLaunch {
    wanted: ArrayQueue<WantedAnchor>,
    made: ArrayQueue<MadeAnchor>,
}

impl AtLaunch {
    pub(super) fn new() -> Self {
        Self { wanted: ArrayQueue::new(1), made: ArrayQueue::new(1) }
    }

    /// Asks for an anchor. The caller must not use the event or the stream before [`AtLaunch::take`] returns something, or
    /// [`AtLaunch::withdraw`] returns true.
    pub(super) fn want(&self, event: CudaEvent, stream: Stream, generation: u32) {
        self.made.pop();
        self.wanted.force_push(WantedAnchor { event, stream, generation });
    }

    /// Returns the anchor that was asked for, if it has been made.
    pub(super) fn take(&self) -> Option<MadeAnchor> {
        self.made.pop()
    }

    /// Returns whether the caller has the event and the stream back.
    pub(super) fn withdraw(&self) -> bool {
        self.wanted.pop().is_some() || self.made.pop().is_some()
    }

    /// Makes the anchor, if one is wanted. The calling thread launches in the context of the pool, which has that
    /// `generation` now. An anchor from before goes with its context.
    #[inline]
    pub(super) fn make(&self, generation: u32, calls: &CudaCalls<'_>) {
        if !self.wanted.is_empty() {
            self.make_wanted(generation, calls);
        }
    }

    #[cold]
    fn make_wanted(&self, generation: u32, calls: &CudaCalls<'_>) {
        let Some(wanted) = self.wanted.pop().filter(|wanted| wanted.generation == generation) else { return };
        let Some(relaxed) = calls.relaxed() else { return };
        // a failure ends all calls
        if let Some(from) = relaxed.record_here(wanted.event, wanted.stream) {
            self.made.force_push(MadeAnchor { generation, from, until: relaxed.see(wanted.event, LOOKS) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::cuda::CudaContext;

    #[test]
    fn an_event_is_with_its_asker_or_with_one_launching_thread() {
        let at_launch = AtLaunch::new();
        let (event, stream) = (CudaEvent::of_tests(1), Stream::of_tests(CudaContext(1)));
        assert!(!at_launch.withdraw(), "nothing was asked for");
        at_launch.want(event, stream, 3);
        assert!(at_launch.take().is_none());
        assert!(at_launch.withdraw() && at_launch.wanted.is_empty());
        at_launch.want(event, stream, 3);
        let wanted = at_launch.wanted.pop().unwrap();
        assert!(!at_launch.withdraw(), "a launching thread has it");
        let made = MadeAnchor { generation: wanted.generation, from: 10, until: Some(20) };
        assert!(at_launch.made.push(made).is_ok());
        let made = at_launch.take().unwrap();
        assert_eq!((made.generation, made.from, made.until), (3, 10, Some(20)));
        assert!(at_launch.take().is_none());
    }
}
