//! State of a thread's launch: the kernel whose operations NCCL reports next, and the events around its launch.
//!
//! Only the owning thread writes and reads it. NCCL reports a kernel in this order: its launch begins (KernelLaunch),
//! its launch has returned, Group, and then its operations, until the next kernel. API calls before that show what the
//! kernel will most likely run.

use crate::event::handle::Handle;
use crate::event::name::NcclName;
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

    /// Begins a group of API calls. `stamps` says whether the GPU's stamps are asked for.
    pub(crate) fn begin_group(&self, stamps: bool) {
        self.group(if stamps { ASKED } else { NOT_ASKED });
    }

    fn group(&self, stamps: u8) {
        self.group_stamps.store(stamps, Ordering::Relaxed);
        for count in [&self.calls.count, &self.calls.launches] {
            count.store(0, Ordering::Relaxed);
        }
        self.captured[0].store(0, Ordering::Relaxed);
        self.silent[0].store(0, Ordering::Relaxed);
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

    /// Notes whether the GPU's stamps are asked for at a kernel's launch: as when its group began, or `now` if this
    /// thread has seen no group. NCCL launches the kernels of a communicator that does not block on a thread of its
    /// own.
    pub(crate) fn launch_stamped(&self, now: bool) {
        let stamped = match self.group_stamps.load(Ordering::Relaxed) {
            ASKED => true,
            NOT_ASKED => false,
            _ => now,
        };
        self.stamped.store(stamped, Ordering::Relaxed);
    }

    /// Returns whether the GPU's stamps were asked for at the last kernel's launch.
    pub(crate) fn has_stamps(&self) -> bool {
        self.stamped.load(Ordering::Relaxed)
    }

    /// Notes an API call.
    pub(crate) fn call(&self, context: u32, function: NcclName, bytes: u64) {
        let GroupCalls { context: of, count, function: last, class, .. } = &self.calls;
        let before = count.load(Ordering::Relaxed);
        let other = before > 0 && of.load(Ordering::Relaxed) != u64::from(context);
        of.store(if other { u64::MAX } else { u64::from(context) }, Ordering::Relaxed);
        count.store(before.saturating_add(1), Ordering::Relaxed);
        last.store(function.bits(), Ordering::Relaxed);
        class.store((u64::BITS - bytes.leading_zeros()) as u8, Ordering::Relaxed);
    }

    /// Returns the only call of the group, if the group has one call and it is of that context: its function, and its
    /// size class (0 for no bytes, else one more than the binary logarithm).
    pub(crate) fn only_call(&self, context: u32) -> Option<(NcclName, u8)> {
        let GroupCalls { context: of, count, function, class, .. } = &self.calls;
        let only = count.load(Ordering::Relaxed) == 1 && of.load(Ordering::Relaxed) == u64::from(context);
        only.then(|| (NcclName::from_bits(function.load(Ordering::Relaxed)), class.load(Ordering::Relaxed)))
    }

    /// Stores the handle of the last call, if the call is the group's first one.
    pub(crate) fn name_call(&self, handle: u64) {
        if self.calls.count.load(Ordering::Relaxed) == 1 {
            self.calls.first.store(handle, Ordering::Relaxed);
        }
    }

    /// Counts a launch of the group. Returns the handle of the group's first call, if all calls are of that context and
    /// no other launch has come before: unless another one follows, the launch runs this call.
    pub(crate) fn first_launch(&self, context: u32) -> Option<u64> {
        let GroupCalls { context: of, count, first, launches, .. } = &self.calls;
        let before = launches.load(Ordering::Relaxed);
        launches.store(before.saturating_add(1), Ordering::Relaxed);
        let is_first = before == 0 && count.load(Ordering::Relaxed) > 0;
        let is_alone = is_first && of.load(Ordering::Relaxed) == u64::from(context);
        Some(first.load(Ordering::Relaxed)).filter(|&handle| is_alone && handle != 0)
    }

    /// Notes that the group has a captured launch with events.
    pub(crate) fn captured(&self, call: u64, context: Handle) {
        for (place, value) in self.captured.iter().zip([call, context.raw()]) {
            place.store(value, Ordering::Relaxed);
        }
    }

    /// Takes the group's captured launch with events: its call and its context.
    pub(crate) fn take_captured(&self) -> Option<(u64, Handle)> {
        let [call, context] = &self.captured;
        let found = Some(call.load(Ordering::Relaxed)).filter(|&call| call != 0)?;
        call.store(0, Ordering::Relaxed);
        Some((found, Handle::parse_context(context.load(Ordering::Relaxed))?))
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

    /// Stores a recording's times of the next launch's events.
    pub(crate) fn record_next(&self, Recorded { first, begin, last, learnt, at, .. }: Recorded) {
        for (place, value) in self.recorded.iter().zip([first, last, learnt, begin.unwrap_or(0), at]) {
            place.store(value, Ordering::Relaxed);
        }
    }

    /// Stores the anchor that comes with these times.
    pub(crate) fn anchor_next(&self, Anchor { from, until, time }: Anchor) {
        for (place, value) in self.anchored.iter().zip([time, from, until]) {
            place.store(value, Ordering::Relaxed);
        }
    }

    /// Takes the anchor of [`Launching::anchor_next`].
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
    fn a_thread_that_has_seen_no_group_has_the_stamps_of_the_moment() {
        let launching = Launching::default();
        for asked in [true, false, true] {
            launching.launch_stamped(asked);
            assert_eq!(launching.has_stamps(), asked);
        }
        for asked in [true, false] {
            launching.begin_group(asked);
            launching.launch_stamped(!asked);
            assert_eq!(launching.has_stamps(), asked);
        }
        launching.forget();
        launching.launch_stamped(true);
        assert!(launching.has_stamps());
    }

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
