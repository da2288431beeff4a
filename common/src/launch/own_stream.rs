//! A stream of the library's own in a context of CUDA's, for anchors.

use super::cuda::{CudaContext, CudaEvent, Relaxed, Stream};

/// A stream of the library's own in a context. Of its events one may be the context's reference, one the closest anchor so
/// far, and one is free.
#[derive(Debug)]
pub struct OwnStream {
    pub(super) stream: Stream,
    pub(super) events: [CudaEvent; 3],
    /// Time right before the first event was recorded, ticks; `None` under Score-P. The first record in a stream takes
    /// long, so it is made beforehand; it is the first anchor.
    pub(super) recorded: Option<u64>,
    /// Generation of the context's pool when they were made.
    pub(super) generation: u32,
}

impl OwnStream {
    /// Makes them in the calling thread's context. `None` where the driver gives no stream.
    pub(super) fn make(relaxed: &Relaxed<'_>, context: CudaContext, generation: u32) -> Option<Self> {
        let events = [relaxed.create()?, relaxed.create()?, relaxed.create()?];
        let Some(stream) = relaxed.create_stream(context) else {
            events.into_iter().for_each(|event| relaxed.destroy(event));
            return None;
        };
        let recorded = if relaxed.is_watched() { None } else { Some(relaxed.record_here(events[0], stream)?) };
        Some(Self { stream, events, recorded, generation })
    }

    pub(super) fn destroy(self, relaxed: &Relaxed<'_>) {
        self.events.into_iter().for_each(|event| relaxed.destroy(event));
        relaxed.destroy_stream(self.stream);
    }
}
