//! What a thread is launching: the kernel whose operations NCCL tells of next, and the events around its launch.
//!
//! Only the owning thread writes and reads it. NCCL tells of a kernel in this order: its launch begins (KernelLaunch),
//! its launch has returned, Group, and then its operations, up to the next one. Calls of the API before tell what the
//! kernel will most likely run.

use crate::event::handle::Handle;
use crate::event::name::Name;
use crate::launch::{KernelId, Launch, Recorded, Untimed};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

/// No Group has begun on the thread: each operation is taken for a kernel of its own.
const NO_GROUP: u64 = 0;
/// A Group has begun, and none of its operations has started.
const NO_OPERATION: u64 = u64::MAX;

/// A launch that its thread holds, or none.
#[derive(Debug, Default)]
struct Held(AtomicPtr<Launch>);

impl Held {
    fn is_there(&self) -> bool {
        !self.0.load(Ordering::Relaxed).is_null()
    }

    fn take(&self) -> Option<Box<Launch>> {
        let launch = self.0.load(Ordering::Relaxed);
        if launch.is_null() {
            return None;
        }
        // no read-modify-write: nobody but the owning thread is here
        self.0.store(std::ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: what `put` made of a box, and what is taken out above, so that nobody makes a box of it again.
        Some(unsafe { Box::from_raw(launch) })
    }

    /// Gives the one before.
    fn put(&self, launch: Box<Launch>) -> Option<Box<Launch>> {
        let before = self.take();
        self.0.store(Box::into_raw(launch), Ordering::Relaxed);
        before
    }
}

/// Calls of the API that are under way on the thread, in one group.
#[derive(Debug, Default)]
struct Calls {
    /// The context they were made in, if it is one and the same.
    context: AtomicU64,
    count: AtomicU32,
    /// Function and size class of the last one.
    function: AtomicU8,
    class: AtomicU8,
}

/// A broadcast that NCCL launches without telling of it: a call that nothing follows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Silent {
    /// Its kernel, named by the call.
    pub(crate) kernel: KernelId,
    /// Its stream.
    pub(crate) stream: usize,
    /// The call's handle.
    pub(crate) handle: u64,
}

/// What a thread is launching.
#[derive(Debug, Default)]
pub(crate) struct Launching {
    /// Place of the kernel's first operation in the order of starts plus one; [`NO_GROUP`], [`NO_OPERATION`].
    first: AtomicU64,
    /// Context and ticks of the last launch on the thread; 0 for none.
    launched: [AtomicU64; 2],
    launch: Held,
    /// Why the kernel has no events; 0 where nobody asked for any.
    untimed: AtomicU8,
    /// Set where the GPU's stamps were not asked for when the group of calls began; not where nobody looked then.
    unstamped: AtomicBool,
    calls: Calls,
    /// The first silent call of the group: its place in the order of starts plus one, 0 for none; its context, stream
    /// and handle.
    silent: [AtomicU64; 4],
    around_silent: Held,
    /// What a recording tells of the next launch: first and last event, when they were learnt, the kernel's begin, and
    /// when the first event was recorded; 0 for what it does not tell.
    recorded: [AtomicU64; 5],
}

impl Launching {
    /// A kernel is about to be launched, on behalf of that context.
    pub(crate) fn launched(&self, context: u64, ticks: u64) {
        for (place, value) in self.launched.iter().zip([context, ticks]) {
            place.store(value, Ordering::Relaxed);
        }
    }

    /// Ticks since the launch of a kernel whose operation starts now; 0 where it was not launched on this thread, and
    /// when that was too long ago for 32 bits.
    #[inline(always)]
    pub(crate) fn since_launch(&self, context: u64, now: u64) -> u64 {
        let [of, ticks] = &self.launched;
        let since = now.wrapping_sub(ticks.load(Ordering::Relaxed));
        if of.load(Ordering::Relaxed) == context && since <= u32::MAX.into() { since } else { 0 }
    }

    /// A kernel's operations are told of next.
    #[inline]
    pub(crate) fn begin_kernel(&self) {
        self.first.store(NO_OPERATION, Ordering::Relaxed);
    }

    /// An operation starts, at that place in the order of starts. Gives how far behind its kernel's first one it is.
    #[inline(always)]
    pub(crate) fn distance(&self, order: u64) -> u64 {
        match self.first.load(Ordering::Relaxed) {
            NO_GROUP => 0,
            NO_OPERATION => {
                self.first.store(order + 1, Ordering::Relaxed);
                0
            }
            // one of another communicator, of which no Group has told
            first => order.saturating_sub(first - 1),
        }
    }

    /// A group of API calls begins, and the GPU's stamps are asked for or not.
    pub(crate) fn begin_group(&self, stamps: bool) {
        self.unstamped.store(!stamps, Ordering::Relaxed);
        self.calls.count.store(0, Ordering::Relaxed);
        self.silent[0].store(0, Ordering::Relaxed);
    }

    /// Another thread takes the cell over. Gives the launches that the one before has left.
    pub(crate) fn forget(&self) -> [Option<Box<Launch>>; 2] {
        self.first.store(NO_GROUP, Ordering::Relaxed);
        self.launched(0, 0);
        self.untimed.store(0, Ordering::Relaxed);
        self.recorded[1].store(0, Ordering::Relaxed);
        self.begin_group(true);
        [self.launch.take(), self.around_silent.take()]
    }

    /// Whether the GPU's stamps were asked for when it began, as far as anybody knows.
    pub(crate) fn has_stamps(&self) -> bool {
        !self.unstamped.load(Ordering::Relaxed)
    }

    /// A call of the API starts.
    pub(crate) fn call(&self, context: u32, function: Name, bytes: u64) {
        let Calls { context: of, count, function: last, class } = &self.calls;
        let before = count.load(Ordering::Relaxed);
        let other = before > 0 && of.load(Ordering::Relaxed) != u64::from(context);
        of.store(if other { u64::MAX } else { u64::from(context) }, Ordering::Relaxed);
        count.store(before.saturating_add(1), Ordering::Relaxed);
        last.store(function.bits(), Ordering::Relaxed);
        class.store((u64::BITS - bytes.leading_zeros()) as u8, Ordering::Relaxed);
    }

    /// The only call of the group, if it is one and of that context: its function, and a number for its size (0 for
    /// none, else one more than its binary logarithm).
    pub(crate) fn only_call(&self, context: u32) -> Option<(Name, u8)> {
        let Calls { context: of, count, function, class } = &self.calls;
        let only = count.load(Ordering::Relaxed) == 1 && of.load(Ordering::Relaxed) == u64::from(context);
        only.then(|| (Name::from_bits(function.load(Ordering::Relaxed)), class.load(Ordering::Relaxed)))
    }

    /// A launch is under way. Gives one that no operation has followed.
    pub(crate) fn begin(&self, launch: Option<Box<Launch>>, untimed: Option<Untimed>) -> Option<Box<Launch>> {
        self.untimed.store(untimed.map_or(0, |cause| cause as u8), Ordering::Relaxed);
        match launch {
            Some(launch) => self.launch.put(launch),
            None => self.launch.take(),
        }
    }

    /// The launch under way, to be changed and put back.
    pub(crate) fn take(&self) -> Option<Box<Launch>> {
        self.launch.take()
    }

    /// Whether something is to be told when the kernel's first operation starts.
    #[inline(always)]
    pub(crate) fn has_news(&self) -> bool {
        self.launch.is_there() || self.untimed.load(Ordering::Relaxed) != 0
    }

    /// What is to be told: the launch, or why there is none.
    pub(crate) fn news(&self) -> (Option<Box<Launch>>, Option<Untimed>) {
        (self.launch.take(), Untimed::from_bits(self.take_untimed()))
    }

    fn take_untimed(&self) -> u8 {
        let untimed = self.untimed.load(Ordering::Relaxed);
        self.untimed.store(0, Ordering::Relaxed);
        untimed
    }

    /// A call starts that NCCL will tell nothing more of. Gives how far behind the group's first such call it is, and
    /// the kernel of another communicator that it takes the place of.
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

    /// The handle of that call, which names the kernel if it is the first.
    pub(crate) fn name_silent(&self, handle: u64) {
        let name = &self.silent[3];
        if name.load(Ordering::Relaxed) == 0 {
            name.store(handle, Ordering::Relaxed);
        }
    }

    /// The silent calls of the group, once.
    pub(crate) fn take_silent(&self) -> Option<Silent> {
        let [first, context, stream, handle] = &self.silent;
        let order = first.load(Ordering::Relaxed).checked_sub(1)?;
        first.store(0, Ordering::Relaxed);
        let context = Handle::parse_context(context.load(Ordering::Relaxed))?;
        let (stream, handle) = (stream.load(Ordering::Relaxed) as usize, handle.load(Ordering::Relaxed));
        Some(Silent { kernel: KernelId { context, order }, stream, handle })
    }

    /// Events lie around the silent calls' launch. Gives a launch that was left over.
    pub(crate) fn begin_silent(&self, launch: Box<Launch>) -> Option<Box<Launch>> {
        self.around_silent.put(launch)
    }

    /// The launch of the silent calls, once it has returned.
    pub(crate) fn end_silent(&self) -> Option<Box<Launch>> {
        self.around_silent.take()
    }

    /// A recording tells when the next launch's events happened.
    pub(crate) fn record_next(&self, Recorded { first, begin, last, learnt, at }: Recorded) {
        for (place, value) in self.recorded.iter().zip([first, last, learnt, begin.unwrap_or(0), at]) {
            place.store(value, Ordering::Relaxed);
        }
    }

    /// What it told, once.
    pub(crate) fn take_recorded(&self) -> Option<Recorded> {
        let [first, last, learnt, begin, at] = &self.recorded;
        let told = last.load(Ordering::Relaxed);
        last.store(0, Ordering::Relaxed);
        (told != 0).then(|| {
            let [first, begin, learnt, at] = [first, begin, learnt, at].map(|place| place.load(Ordering::Relaxed));
            Recorded { first, begin: Some(begin).filter(|&begin| begin != 0), last: told, learnt, at }
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
        launching.launched(7, 100);
        assert_eq!(
            [launching.since_launch(7, 130), launching.since_launch(7, 135), launching.since_launch(8, 140)],
            [30, 35, 0]
        );
        launching.launched(8, 200);
        assert_eq!([launching.since_launch(7, 210), launching.since_launch(8, 210)], [0, 10]);
        let far = 200 + u64::from(u32::MAX);
        assert_eq!([far, far + 1, 199].map(|now| launching.since_launch(8, now)), [u32::MAX.into(), 0, 0]);
        launching.forget();
        assert_eq!(launching.since_launch(8, 210), 0);
    }
}
