//! State of a thread's launch: the kernel whose operations NCCL reports next, and the events around its launch.
//!
//! Only the owning thread writes and reads it. NCCL reports a kernel in this order: its launch begins (KernelLaunch),
//! its launch has returned, Group, and then its operations, until the next kernel. API calls before that show what the
//! kernel will most likely run.

mod group;

use crate::event::handle::Handle;
use crate::launch::Anchor;
use crate::launch::{KernelId, Launch, Recorded, Untimed};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

/// No Group has begun on the thread: each operation counts as a kernel of its own.
const NO_GROUP: u64 = 0;
/// A Group has begun, and none of its operations has started.
const NO_OPERATION: u64 = u64::MAX;

/// Nobody knows.
const UNKNOWN: u8 = 0;
const ASKED: u8 = 1;
const NOT_ASKED: u8 = 2;

/// A launch that its thread holds, or none.
#[derive(Debug, Default)]
struct HeldLaunch(AtomicPtr<Launch>);

impl HeldLaunch {
    fn is_there(&self) -> bool {
        !self.0.load(Ordering::Relaxed).is_null()
    }

    fn take(&self) -> Option<Box<Launch>> {
        let launch = self.0.load(Ordering::Relaxed);
        if launch.is_null() {
            return None;
        }
        // no read-modify-write: only the owning thread accesses it
        self.0.store(std::ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: `put` made the pointer from a box, and it was removed above, so it becomes a box only once.
        Some(unsafe { Box::from_raw(launch) })
    }

    /// Stores a launch and returns the previous one.
    fn put(&self, launch: Box<Launch>) -> Option<Box<Launch>> {
        let before = self.take();
        self.0.store(Box::into_raw(launch), Ordering::Relaxed);
        before
    }
}

/// API calls under way on the thread, in one group.
#[derive(Debug, Default)]
struct GroupCalls {
    /// Index of their context, or `u64::MAX` if they are in several contexts.
    context: AtomicU64,
    count: AtomicU32,
    /// Function and size class of the last call.
    function: AtomicU8,
    class: AtomicU8,
    /// Handle of the first call; 0 where it was not recorded.
    first: AtomicU64,
    /// Launches of the group so far.
    launches: AtomicU32,
}

/// A broadcast that NCCL launches without reporting an operation: only the call is reported.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Silent {
    /// Its kernel, named after the call.
    pub(crate) kernel: KernelId,
    /// Its stream.
    pub(crate) stream: usize,
    /// The call's handle.
    pub(crate) handle: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Launching {
    /// Place of the kernel's first operation in the order of starts plus one; [`NO_GROUP`], [`NO_OPERATION`].
    first: AtomicU64,
    /// Context and ticks of the last launch on the thread; 0 for none.
    launched: [AtomicU64; 2],
    launch: HeldLaunch,
    /// Why the kernel has no events; 0 where no events were wanted.
    untimed: AtomicU8,
    /// Whether the GPU's stamps were asked for when the group of calls began: [`UNKNOWN`], [`ASKED`] or [`NOT_ASKED`].
    group_stamps: AtomicU8,
    /// Whether they were asked for when the last kernel was launched.
    stamped: AtomicBool,
    calls: GroupCalls,
    /// Call and context of the group's captured launch with events; 0 for none.
    captured: [AtomicU64; 2],
    /// The first silent call of the group: its place in the order of starts plus one (0 for none), its context, stream
    /// and handle.
    silent: [AtomicU64; 4],
    around_silent: HeldLaunch,
    /// A recording's times of the next launch: first and last event, when they were learnt, the kernel's begin, and
    /// when the first event was recorded; 0 where the recording lacks the time.
    recorded: [AtomicU64; 5],
    /// A recording's anchor that comes with them: its time on the events' clock, and the times before and behind it; 0
    /// for none.
    anchored: [AtomicU64; 3],
}

impl Launching {
    /// Notes that a kernel is about to be launched for a context.
    pub(crate) fn note_launch(&self, context: u64, ticks: u64) {
        for (place, value) in self.launched.iter().zip([context, ticks]) {
            place.store(value, Ordering::Relaxed);
        }
    }

    /// Returns the ticks since the launch of the kernel whose operation starts now. 0 where this thread did not launch
    /// it, and where the ticks do not fit into 32 bits.
    #[inline(always)]
    pub(crate) fn since_launch(&self, context: u64, now: u64) -> u64 {
        let [of, ticks] = &self.launched;
        let since = now.wrapping_sub(ticks.load(Ordering::Relaxed));
        if of.load(Ordering::Relaxed) == context && since <= u32::MAX.into() { since } else { 0 }
    }

    /// Notes that the operations of a kernel come next.
    #[inline]
    pub(crate) fn begin_kernel(&self) {
        self.first.store(NO_OPERATION, Ordering::Relaxed);
    }

    /// Returns how far an operation, at that place in the order of starts, is behind its kernel's first operation.
    #[inline(always)]
    pub(crate) fn distance(&self, order: u64) -> u64 {
        match self.first.load(Ordering::Relaxed) {
            NO_GROUP => 0,
            NO_OPERATION => {
                self.first.store(order + 1, Ordering::Relaxed);
                0
            }
            // or of another communicator, for which NCCL reported no Group
            first => order.saturating_sub(first - 1),
        }
    }

    /// Resets the state when another thread takes the cell over. Returns the launches that the previous thread has
    /// left.
    pub(crate) fn forget(&self) -> [Option<Box<Launch>>; 2] {
        self.first.store(NO_GROUP, Ordering::Relaxed);
        self.note_launch(0, 0);
        self.untimed.store(0, Ordering::Relaxed);
        self.recorded[1].store(0, Ordering::Relaxed);
        self.group(UNKNOWN);
        [self.launch.take(), self.around_silent.take()]
    }

    /// Sets the launch under way, or the reason why it has no events. Returns the previous launch, which no operation
    /// has followed.
    pub(crate) fn begin(&self, launch: Option<Box<Launch>>, untimed: Option<Untimed>) -> Option<Box<Launch>> {
        self.untimed.store(untimed.map_or(0, |cause| cause as u8), Ordering::Relaxed);
        match launch {
            Some(launch) => self.launch.put(launch),
            None => self.launch.take(),
        }
    }

    /// Takes the launch under way, to be changed and put back.
    pub(crate) fn take(&self) -> Option<Box<Launch>> {
        self.launch.take()
    }

    /// Returns whether the kernel's first operation has something to report to the collector.
    #[inline(always)]
    pub(crate) fn has_news(&self) -> bool {
        self.launch.is_there() || self.untimed.load(Ordering::Relaxed) != 0
    }

    /// Takes the report to the collector: the launch, or why there is none.
    pub(crate) fn news(&self) -> (Option<Box<Launch>>, Option<Untimed>) {
        (self.launch.take(), Untimed::from_bits(self.take_untimed()))
    }

    fn take_untimed(&self) -> u8 {
        let untimed = self.untimed.load(Ordering::Relaxed);
        self.untimed.store(0, Ordering::Relaxed);
        untimed
    }

    /// Notes a call of which NCCL will report nothing more. Returns its distance from the group's first such call, and
    /// the kernel of another communicator that it replaces.
    pub(crate) fn silent_call(&self, kernel: KernelId, stream: usize) -> (u64, Option<KernelId>) {
        let [order, context, of, handle] = &self.silent;
        match order.load(Ordering::Relaxed) {
            first if first != 0 && context.load(Ordering::Relaxed) == kernel.context.raw() => {
                (kernel.order.wrapping_sub(first - 1), None)
            }
            first => {
                let replaced = first.checked_sub(1).zip(Handle::parse_context(context.load(Ordering::Relaxed)));
                order.store(kernel.order + 1, Ordering::Relaxed);
                context.store(kernel.context.raw(), Ordering::Relaxed);
                of.store(stream as u64, Ordering::Relaxed);
                handle.store(0, Ordering::Relaxed);
                (0, replaced.map(|(order, context)| KernelId { context, order }))
            }
        }
    }

    /// Stores the call's handle, which names the kernel if the call is the first silent one.
    pub(crate) fn name_silent(&self, handle: u64) {
        let name = &self.silent[3];
        if name.load(Ordering::Relaxed) == 0 {
            name.store(handle, Ordering::Relaxed);
        }
    }

    /// Takes the silent calls of the group.
    pub(crate) fn take_silent(&self) -> Option<Silent> {
        let [first, context, stream, handle] = &self.silent;
        let order = first.load(Ordering::Relaxed).checked_sub(1)?;
        first.store(0, Ordering::Relaxed);
        let context = Handle::parse_context(context.load(Ordering::Relaxed))?;
        let (stream, handle) = (stream.load(Ordering::Relaxed) as usize, handle.load(Ordering::Relaxed));
        Some(Silent { kernel: KernelId { context, order }, stream, handle })
    }

    /// Sets the launch with events around the silent calls. Returns a launch that was left over.
    pub(crate) fn begin_silent(&self, launch: Box<Launch>) -> Option<Box<Launch>> {
        self.around_silent.put(launch)
    }

    /// Takes the launch of the silent calls, once it has returned.
    pub(crate) fn end_silent(&self) -> Option<Box<Launch>> {
        self.around_silent.take()
    }

    /// Stores a recording's times of the next launch's events, and the anchor that comes with them.
    pub(crate) fn record_next(&self, Recorded { first, begin, last, learnt, at, anchor }: Recorded) {
        let anchored = anchor.map(|Anchor { from, until, time }| [time, from, until]);
        for (place, value) in self.anchored.iter().zip(anchored.into_iter().flatten()) {
            place.store(value, Ordering::Relaxed);
        }
        for (place, value) in self.recorded.iter().zip([first, last, learnt, begin.unwrap_or(0), at]) {
            place.store(value, Ordering::Relaxed);
        }
    }

    /// Takes the anchor of [`Launching::record_next`].
    fn take_anchor(&self) -> Option<Anchor> {
        let [time, from, until] = self.anchored.each_ref().map(|place| place.swap(0, Ordering::Relaxed));
        (time != 0).then_some(Anchor { from, until, time })
    }

    /// Takes the times of [`Launching::record_next`], with their anchor.
    pub(crate) fn take_recorded(&self) -> Option<Recorded> {
        let [first, last, learnt, begin, at] = &self.recorded;
        let told = last.load(Ordering::Relaxed);
        last.store(0, Ordering::Relaxed);
        (told != 0).then(|| {
            let [first, begin, learnt, at] = [first, begin, learnt, at].map(|place| place.load(Ordering::Relaxed));
            Recorded {
                first,
                begin: Some(begin).filter(|&begin| begin != 0),
                last: told,
                learnt,
                at,
                anchor: self.take_anchor(),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_is_known_to_the_operations_of_its_context() {
        let launching = Launching::default();
        assert_eq!(launching.since_launch(7, 100), 0);
        launching.note_launch(7, 100);
        assert_eq!(
            [launching.since_launch(7, 130), launching.since_launch(7, 135), launching.since_launch(8, 140)],
            [30, 35, 0]
        );
        launching.note_launch(8, 200);
        assert_eq!([launching.since_launch(7, 210), launching.since_launch(8, 210)], [0, 10]);
        let far = 200 + u64::from(u32::MAX);
        assert_eq!([far, far + 1, 199].map(|now| launching.since_launch(8, now)), [u32::MAX.into(), 0, 0]);
        launching.forget();
        assert_eq!(launching.since_launch(8, 210), 0);
    }
}
