//! One event in one cache line.
//!
//! A slot is eight words. The thread that starts an event writes it. The threads that report its states and its stop
//! update it in place. The collector reads it. Every word is an atomic written with plain (relaxed) stores, so there
//! are no data races, and no read-modify-writes on the hot path.
//!
//! | word | all kinds | Coll, P2p | CollApi, P2pApi | ProxyOp | ProxyStep | KernelCh |
//! |---|---|---|---|---|---|---|
//! | 0 | handle | | | | | |
//! | 1 | parent's handle | | | | | |
//! | 2 | start, ticks | | | | about the start | about the start |
//! | 3 | stop (stamped) | | | | without a size: about the stop | of all but the first of an operation and thread: the start |
//! | 4 | | bytes | bytes | peer, channel, send | network (stamped) | pTimer at start |
//! | 5 | | sequence number or peer, root, type | captured, silent | steps | size (stamped) | pTimer at stop less start (stamped) |
//! | 6 | | function, algorithm, protocol, channels, ticks since the launch | function, type, root | | step, peer wait or flush | channel |
//! | 7 | | order, distance | order, distance | | start again, GPU wait (stamped) | |
//!
//! **Stamped** words are written after the start: 48 bits of value under 16 bits of the slot's generation. A stop that
//! comes too late, when the slot serves another event already, carries the wrong generation and reads as absent. At
//! worst an event counts as unfinished; no wrong figure is published. The other stamped words are plain words in slots
//! of other kinds. So their writers check that the slot still holds the event, and the collector waits for them (see
//! `callbacks`). `step` has the states of a ProxyStep.

mod step;
#[cfg(test)]
mod tests;

pub use step::{SendWait, StepStates, StepTimes};

use crate::base::sync::{AtomicU64, Ordering};
use crate::event::handle::Handle;
use crate::event::kind::EventKind;
use crate::record::payload::Payload;

const VALUE_BITS: u32 = 48;
const VALUE_MASK: u64 = (1 << VALUE_BITS) - 1;
/// The stamped value for "out of range".
const IMPLAUSIBLE: u64 = 1 << (VALUE_BITS - 1);

/// A cache line in the recording memory. All zero is an empty slot.
#[repr(C, align(64))]
#[derive(Debug)]
#[cfg_attr(loom, derive(Default))]
pub struct Slot {
    words: [AtomicU64; 8],
}

/// The content of a slot at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotContent {
    /// Its handle.
    pub handle: u64,
    /// Kind of the event.
    pub kind: EventKind,
    /// The parent's handle as NCCL gave it, unchecked.
    pub parent: u64,
    /// Start of the event in ticks.
    pub start: u64,
    /// Stop of the event in ticks, once it has stopped.
    pub stop: Option<u64>,
    payload: Payload,
    tag: u64,
}

/// Returns the generation's bits in a stamped word. Never zero, so fresh memory of the system reads as absent.
fn tag(generation: u32) -> u64 {
    u64::from(generation) & 0x7FFF | 0x8000
}

fn stamped(generation: u32, value: u64) -> u64 {
    tag(generation) << VALUE_BITS | value & VALUE_MASK
}

fn unstamped(tag: u64, word: u64) -> Option<u64> {
    (word >> VALUE_BITS == tag).then_some(word & VALUE_MASK)
}

/// Returns the full value of a stamped time, given a full time less than 2^47 ticks away.
fn near(reference: u64, low: u64) -> u64 {
    let difference = low.wrapping_sub(reference) << (64 - VALUE_BITS);
    reference.wrapping_add_signed((difference as i64) >> (64 - VALUE_BITS))
}

impl Slot {
    /// Writes a new event of the kind that its handle says. It becomes visible to the collector as a whole.
    #[inline(always)]
    pub fn start(&self, handle: Handle, parent: u64, start: u64, payload: Payload) {
        self.words[1].store(parent, Ordering::Relaxed);
        self.words[2].store(start, Ordering::Relaxed);
        // tags repeat after 32768 generations, so an old stop could be taken for this event's
        self.words[3].store(0, Ordering::Relaxed);
        match handle.kind() {
            // words 4, 5 and 7 of a step are stamped: its states write them later
            Some(EventKind::ProxyStep) => self.words[6].store(payload[2], Ordering::Relaxed),
            // word 5 of a kernel channel is stamped
            Some(EventKind::KernelCh) => {
                self.words[4].store(payload[0], Ordering::Relaxed);
                self.words[6].store(payload[2], Ordering::Relaxed);
            }
            _ => {
                for (word, value) in self.words[4..].iter().zip(payload) {
                    word.store(value, Ordering::Relaxed);
                }
            }
        }
        self.words[0].store(handle.raw(), Ordering::Release);
    }

    /// Returns whether the slot holds the event of that handle.
    #[inline(always)]
    pub fn holds(&self, handle: u64) -> bool {
        self.words[0].load(Ordering::Acquire) == handle
    }

    /// Returns true once [`Slot::stop`] was called for this generation.
    #[inline(always)]
    pub fn is_stopped(&self, generation: u32) -> bool {
        unstamped(tag(generation), self.words[3].load(Ordering::Acquire)).is_some()
    }

    /// Writes the stop time. Everything that the same thread wrote before becomes visible with it.
    #[inline(always)]
    pub fn stop(&self, generation: u32, time: u64) {
        self.words[3].store(stamped(generation, time), Ordering::Release);
    }

    /// Writes a stop without a time, for kinds whose start is not timed either: the stop equals the start
    /// ([`SlotContent::timed_stop`]). A timed stop in the same tick counts as untimed, too; its time is lost, but no
    /// wrong time takes its place.
    #[inline(always)]
    pub fn stop_untimed(&self, generation: u32) {
        self.stop(generation, self.words[2].load(Ordering::Relaxed));
    }

    /// Returns the parent's handle. Only valid for events under way.
    #[inline(always)]
    pub fn parent(&self) -> u64 {
        self.words[1].load(Ordering::Relaxed)
    }

    /// Returns whether the size of a step was reported, or [`Slot::kernel_stop`] of a kernel channel, was called for this
    /// generation.
    #[inline(always)]
    pub fn has_state(&self, generation: u32) -> bool {
        unstamped(tag(generation), self.words[5].load(Ordering::Relaxed)).is_some()
    }

    /// Writes a kernel channel's stop on the GPU's clock. The last call counts.
    #[inline(always)]
    pub fn kernel_stop(&self, generation: u32, ptimer: u64) {
        let elapsed = ptimer.wrapping_sub(self.words[4].load(Ordering::Relaxed)) as i64;
        let limit = IMPLAUSIBLE as i64;
        let value = if (1 - limit..limit).contains(&elapsed) { elapsed as u64 } else { IMPLAUSIBLE };
        self.words[5].store(stamped(generation, value), Ordering::Relaxed);
    }

    /// Has the processor fetch the slot behind this one for writing. With many communicators in turn, the processor
    /// does not predict where the next event of each will go. This is a hint: behind the last slot of a block (one in
    /// 64) may lie another thread's slot.
    #[inline(always)]
    pub fn fetch_next(&self) {
        // SAFETY: the instruction changes nothing but caches, whatever the address. x86-64 processors that lack it do
        // nothing.
        #[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
        unsafe {
            std::arch::asm!("prefetchw [{} + 64]", in(reg) self, options(readonly, nostack, preserves_flags));
        }
    }

    /// Has the processor fetch the slot for reading. This is a hint.
    #[inline(always)]
    pub fn fetch(&self) {
        // SAFETY: the instruction changes nothing but caches, whatever the address.
        #[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
        unsafe {
            std::arch::asm!("prefetcht0 [{}]", in(reg) self, options(readonly, nostack, preserves_flags));
        }
    }

    /// Has the system provide the memory of the slot, without changing it. The compiler would turn other ways of
    /// writing the same value back into a mere load.
    pub fn touch(&self) {
        let _ = self.words[0].compare_exchange(0, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Returns when the event began for the first time, in ticks, if the slot holds an event of `generation`.
    pub fn begun(&self, generation: u32) -> Option<u64> {
        Handle::of_generation(self.words[0].load(Ordering::Acquire), generation)?;
        Some(self.words[2].load(Ordering::Relaxed))
    }

    /// Returns whether the slot holds an event of `generation`.
    #[inline]
    pub fn is_of(&self, generation: u32) -> bool {
        Handle::of_generation(self.words[0].load(Ordering::Acquire), generation).is_some()
    }

    /// Returns the content, if the slot holds an event of `generation`.
    #[inline]
    pub fn read(&self, generation: u32) -> Option<SlotContent> {
        let handle = Handle::of_generation(self.words[0].load(Ordering::Acquire), generation)?;
        let kind = handle.kind()?;
        let tag = tag(generation);
        let stop = unstamped(tag, self.words[3].load(Ordering::Acquire));
        let word = |index: usize| self.words[index].load(Ordering::Relaxed);
        let mut start = word(2);
        if kind == EventKind::ProxyStep
            && let Some(again) = unstamped(tag, word(7))
        {
            // a start before the first one belongs to an older event, whose tag has come round again
            start = start.max(near(start, again));
        }
        Some(SlotContent {
            handle: handle.raw(),
            kind,
            parent: word(1),
            start,
            stop: stop.map(|low| near(start, low)),
            payload: [word(4), word(5), word(6), word(7)],
            tag,
        })
    }
}

impl SlotContent {
    /// Returns words 4 to 7 as the start wrote them.
    pub fn payload(&self) -> Payload {
        self.payload
    }

    /// Returns the stop of the event in ticks, unless [`Slot::stop_untimed`] wrote it.
    pub fn timed_stop(&self) -> Option<u64> {
        self.stop.filter(|&stop| stop != self.start)
    }

    /// Returns a kernel channel's start and stop on the GPU's clock, if the stop was reported within 2^47 of the start.
    pub fn kernel(&self) -> Option<(u64, u64)> {
        let low = unstamped(self.tag, self.payload[1])?;
        let start = self.payload[0];
        (low != IMPLAUSIBLE).then(|| (start, near(start, start.wrapping_add(low) & VALUE_MASK)))
    }
}
