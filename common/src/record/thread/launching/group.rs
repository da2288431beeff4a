//! The group of API calls on a thread: whether the GPU's stamps are asked for, and what its launches most likely run.

use super::{ASKED, GroupCalls, Launching, NOT_ASKED};
use crate::event::handle::Handle;
use crate::event::name::NcclName;
use std::sync::atomic::Ordering;

impl Launching {
    /// Begins a group of API calls. `stamps` says whether the GPU's stamps are asked for.
    pub(crate) fn begin_group(&self, stamps: bool) {
        self.group(if stamps { ASKED } else { NOT_ASKED });
    }

    pub(super) fn group(&self, stamps: u8) {
        self.group_stamps.store(stamps, Ordering::Relaxed);
        for count in [&self.calls.count, &self.calls.launches] {
            count.store(0, Ordering::Relaxed);
        }
        self.captured[0].store(0, Ordering::Relaxed);
        self.silent[0].store(0, Ordering::Relaxed);
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
}
