//! Free launches with their events, one pool for each CUDA context. They are made where they are used, and used again.
//!
//! An event belongs to the context that it was made in, so a thread that launches there makes it. When a context's last
//! communicator ends, the pool's events are destroyed: the library must not ask about them after the program has done
//! away with the context, as by `cudaDeviceReset`. If the program does so earlier, the context has another number
//! (`Calls::id`), and the pool forgets its earlier events.
//!
//! Events of a captured launch are never used again, and never destroyed: the program may replay or destroy their graph
//! at any time.

use super::at_launch::AtLaunch;
use super::own_stream::OwnStream;
use super::{Launch, LaunchSource};
use crate::launch::cuda::{CudaCalls, CudaContext, Relaxed};
use crossbeam_queue::ArrayQueue;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// About the most launches of a context under way. Launches beyond that get no time.
pub(super) const MOST: usize = if cfg!(loom) { 2 } else { 4096 };

/// The free launches of a CUDA context.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) context: CudaContext,
    /// The context's number plus one, from the last begin of a communicator there; 0 where the driver gives none.
    pub(super) id: AtomicU64,
    pub(super) free: ArrayQueue<Box<Launch>>,
    /// The library's own stream there, with the events for it, while the collector does not have it.
    pub(super) own: ArrayQueue<OwnStream>,
    /// The generation plus one for which that stream was made last; 0 for none.
    own_of: AtomicU64,
    /// The anchor that a launching thread is to make.
    pub(super) at_launch: AtLaunch,
    /// Launches that were made and still exist.
    pub(super) made: AtomicUsize,
    /// Launches whose events belong to graphs, over the whole run.
    pub(super) captured: AtomicUsize,
    /// Living communicators in the context.
    pub(super) communicators: AtomicUsize,
    /// Grows when the pool is closed or the context was reset. Launches of earlier generations are not used again.
    pub(super) generation: AtomicU32,
}

/// Returns whether a launch's events were made in that generation of its pool.
fn is_of(launch: &Launch, generation: u32) -> bool {
    matches!(launch.source, LaunchSource::Events { generation: of, .. } if of == generation)
}

impl Pool {
    pub(super) fn new(context: CudaContext) -> Self {
        let [made, captured, communicators] = [const { AtomicUsize::new(0) }; 3];
        Self {
            context,
            id: AtomicU64::new(0),
            free: ArrayQueue::new(MOST),
            own: ArrayQueue::new(1),
            own_of: AtomicU64::new(0),
            at_launch: AtLaunch::new(),
            made,
            captured,
            communicators,
            generation: AtomicU32::new(0),
        }
    }

    /// Returns the context's number, if the driver gave one.
    pub(super) fn id(&self) -> Option<u64> {
        self.id.load(Ordering::Acquire).checked_sub(1)
    }

    /// Handles the begin of a communicator in the context with that number. If the number has changed, the earlier
    /// events are gone.
    ///
    /// The number is there only after the earlier events are forgotten: a look that finds the context as it should be
    /// asks about no earlier event.
    pub(super) fn begin(&self, id: Option<u64>) {
        let id = id.map_or(0, |id| id.wrapping_add(1));
        let generation = self.generation();
        if self.id.load(Ordering::Acquire) != id {
            self.forget(generation);
            self.id.store(id, Ordering::Release);
        }
    }

    /// Returns the generation of launches that are made now.
    pub(super) fn generation(&self) -> u32 {
        self.generation.load(Ordering::Acquire)
    }

    /// Makes a launch of the pool with that number, which is the calling thread's context.
    pub(super) fn make(&self, number: usize, relaxed: &Relaxed<'_>) -> Option<Box<Launch>> {
        let (first, last) = (relaxed.create()?, relaxed.create()?);
        let generation = self.generation();
        Some(Box::new(Launch::new(LaunchSource::Events { pool: number, generation, first, last })))
    }

    /// Takes a free launch. While the collector forgets a generation, its launches are still among the free ones,
    /// though the generation has ended: they are not returned.
    pub(super) fn take(&self) -> Option<Box<Launch>> {
        while let Some(launch) = self.free.pop() {
            if is_of(&launch, self.generation()) {
                return Some(launch);
            }
            self.made.fetch_sub(1, Ordering::Relaxed);
        }
        None
    }

    /// Forgets the events of a generation, unless another thread has: they are not used, asked about or destroyed any
    /// more. A communicator may begin in the context meanwhile; its events are of a later generation and stay.
    pub(super) fn forget(&self, generation: u32) {
        let next = generation.wrapping_add(1);
        if self.generation.compare_exchange(generation, next, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return;
        }
        if let Some(own) = self.own.pop().filter(|own| own.generation != generation) {
            let _ = self.own.push(own);
        }
        let free: Vec<_> = std::iter::from_fn(|| self.free.pop()).collect();
        for launch in free {
            if is_of(&launch, generation) {
                self.made.fetch_sub(1, Ordering::Relaxed);
            } else {
                let _ = self.free.push(launch);
            }
        }
    }

    /// Makes the library's own stream in the calling thread's context, once a generation, if the driver gives one.
    pub(super) fn make_own(&self, calls: &CudaCalls<'_>) {
        let generation = self.generation();
        let of = u64::from(generation) + 1;
        if self.own_of.swap(of, Ordering::AcqRel) == of {
            return;
        }
        if let Some(own) = calls.relaxed().and_then(|relaxed| OwnStream::make(&relaxed, self.context, generation)) {
            // one that is still there went with its context
            self.own.force_push(own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::CudaEvent;

    fn free(generation: u32) -> Box<Launch> {
        let [first, last] = [1, 2].map(CudaEvent::of_tests);
        Box::new(Launch::new(LaunchSource::Events { pool: 0, generation, first, last }))
    }

    /// The collector has ended generation 0 and has not taken its launches out yet, while a communicator begins in the
    /// context that was reset.
    #[test]
    fn a_launch_of_an_ended_generation_is_not_taken() {
        let pool = Pool::new(CudaContext(1));
        for generation in [0, 0, 1] {
            pool.made.fetch_add(1, Ordering::Relaxed);
            assert!(pool.free.push(free(generation)).is_ok());
        }
        pool.generation.store(1, Ordering::Release);
        let taken = pool.take().unwrap();
        assert!(matches!(taken.source, LaunchSource::Events { generation: 1, .. }));
        assert!(pool.take().is_none() && pool.free.is_empty());
        assert_eq!(pool.made.load(Ordering::Relaxed), 1);
    }
}
