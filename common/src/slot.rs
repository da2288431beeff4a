//! One event in one cache line.
//!
//! A slot is eight words. The thread that starts an event writes it; the threads that report its states and its stop update it in
//! place; the collector reads it. Every word is an atomic written with plain (relaxed) stores, so there is no data race to argue
//! about, and no read-modify-write on the hot path.
//!
//! | word | all kinds | Coll, P2p | CollApi, P2pApi | ProxyOp | ProxyStep | KernelCh |
//! |---|---|---|---|---|---|---|
//! | 0 | handle | | | | | |
//! | 1 | parent's handle | | | | | |
//! | 2 | start, ticks | | | | about the start | about the start |
//! | 3 | stop (stamped) | | | | of a receive: about the stop | |
//! | 4 | | bytes | bytes | peer, channel, send | send wait (stamped) | pTimer at start |
//! | 5 | | sequence number | | steps | size (stamped) | pTimer at stop less start (stamped) |
//! | 6 | | function, algorithm, protocol, channels, peer | function | | step | channel |
//! | 7 | | order | order | | start again (stamped) | |
//!
//! **Stamped** words are those written after the start: 48 bits of value under 16 bits of the slot's generation. A stop that comes too late,
//! when the slot serves another event already, carries the wrong stamp and reads as absent: at worst an event is counted as unfinished,
//! never a wrong figure published. The other stamped words are plain ones of other kinds: who writes them makes sure that the slot is still
//! the event's, and is waited for (see `callbacks`).

use crate::handle::Handle;
use crate::kind::Kind;
use crate::sync::{AtomicU64, Ordering};

const VALUE_BITS: u32 = 48;
const VALUE_MASK: u64 = (1 << VALUE_BITS) - 1;
/// A stamped value that stands for "out of range".
const IMPLAUSIBLE: u64 = 1 << (VALUE_BITS - 1);

/// Words 4 to 7 as the start of an event writes them.
pub type Payload = [u64; 4];

/// A cache line in the recording memory. All zero is an empty slot.
#[repr(C, align(64))]
#[derive(Debug)]
#[cfg_attr(loom, derive(Default))]
pub struct Slot {
    words: [AtomicU64; 8],
}

/// A slot's content at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// Its handle.
    pub handle: u64,
    /// What it is.
    pub kind: Kind,
    /// The parent's handle as NCCL gave it, unchecked.
    pub parent: u64,
    /// Start of the event in ticks.
    pub start: u64,
    /// Stop of the event in ticks, once it has stopped.
    pub stop: Option<u64>,
    payload: Payload,
    tag: u64,
}

/// Never zero, so that memory as the system gives it reads as absent.
fn tag(generation: u32) -> u64 {
    u64::from(generation) & 0x7FFF | 0x8000
}

fn stamped(generation: u32, value: u64) -> u64 {
    tag(generation) << VALUE_BITS | value & VALUE_MASK
}

fn unstamped(tag: u64, word: u64) -> Option<u64> {
    (word >> VALUE_BITS == tag).then_some(word & VALUE_MASK)
}

/// Full value of a stamped time, knowing a full time less than 2^47 ticks away.
fn near(reference: u64, low: u64) -> u64 {
    let difference = low.wrapping_sub(reference) << (64 - VALUE_BITS);
    reference.wrapping_add_signed((difference as i64) >> (64 - VALUE_BITS))
}

impl Slot {
    /// Writes a new event, of the kind that its handle says; it becomes visible to the collector as a whole.
    #[inline(always)]
    pub fn start(&self, handle: Handle, parent: u64, start: u64, payload: Payload) {
        self.words[1].store(parent, Ordering::Relaxed);
        self.words[2].store(start, Ordering::Relaxed);
        // stamps come round again after 32768 generations
        self.words[3].store(0, Ordering::Relaxed);
        match handle.kind() {
            // words 4 and 5 of a step are stamped: written later, by its states
            Some(Kind::ProxyStep) => self.words[6].store(payload[2], Ordering::Relaxed),
            // word 5 of a kernel channel is stamped
            Some(Kind::KernelCh) => {
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

    /// A step starts again, under the same handle. The last call counts.
    #[inline(always)]
    pub fn restart(&self, generation: u32, start: u64) {
        self.words[7].store(stamped(generation, start), Ordering::Relaxed);
    }

    /// Whether this is the slot of the event of that handle.
    #[inline(always)]
    pub fn holds(&self, handle: u64) -> bool {
        self.words[0].load(Ordering::Acquire) == handle
    }

    /// True once [`Slot::stop`] was called for this generation.
    #[inline(always)]
    pub fn is_stopped(&self, generation: u32) -> bool {
        unstamped(tag(generation), self.words[3].load(Ordering::Acquire)).is_some()
    }

    /// Writes the stop time; everything that the same thread wrote before becomes visible with it.
    #[inline(always)]
    pub fn stop(&self, generation: u32, time: u64) {
        self.words[3].store(stamped(generation, time), Ordering::Release);
    }

    /// A send step's data went to the network: time in ticks and size in bytes. The last call counts.
    #[inline(always)]
    pub fn send_wait(&self, generation: u32, time: u64, bytes: u64) {
        self.words[5].store(stamped(generation, bytes.min(IMPLAUSIBLE)), Ordering::Relaxed);
        self.words[4].store(stamped(generation, time), Ordering::Relaxed);
    }

    /// Whether [`Slot::send_wait`] was called for this generation.
    #[inline]
    pub fn has_size(&self, generation: u32) -> bool {
        unstamped(tag(generation), self.words[5].load(Ordering::Relaxed)).is_some()
    }

    /// A kernel channel's stop on the GPU's clock. The last call counts.
    #[inline(always)]
    pub fn kernel_stop(&self, generation: u32, ptimer: u64) {
        let elapsed = ptimer.wrapping_sub(self.words[4].load(Ordering::Relaxed)) as i64;
        let limit = IMPLAUSIBLE as i64;
        let value = if (1 - limit..limit).contains(&elapsed) { elapsed as u64 } else { IMPLAUSIBLE };
        self.words[5].store(stamped(generation, value), Ordering::Relaxed);
    }

    /// Changes nothing, but has the system provide the memory that the slot lies in. Other ways to write what is there already end as a
    /// mere look in the compiler's hands.
    pub fn touch(&self) {
        let _ = self.words[0].compare_exchange(0, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// When the event began for the first time, ticks, if the slot holds one of `generation`.
    pub fn begun(&self, generation: u32) -> Option<u64> {
        Handle::of_generation(self.words[0].load(Ordering::Acquire), generation)?;
        Some(self.words[2].load(Ordering::Relaxed))
    }

    /// Whether the slot holds an event of `generation`.
    #[inline]
    pub fn is_of(&self, generation: u32) -> bool {
        Handle::of_generation(self.words[0].load(Ordering::Acquire), generation).is_some()
    }

    /// The content, if the slot holds an event of `generation`.
    #[inline]
    pub fn read(&self, generation: u32) -> Option<Recorded> {
        let handle = Handle::of_generation(self.words[0].load(Ordering::Acquire), generation)?;
        let kind = handle.kind()?;
        let tag = tag(generation);
        let stop = unstamped(tag, self.words[3].load(Ordering::Acquire));
        let word = |index: usize| self.words[index].load(Ordering::Relaxed);
        let mut start = word(2);
        if kind == Kind::ProxyStep
            && let Some(again) = unstamped(tag, word(7))
        {
            // a start before the first one is an older event's, whose stamp has come round again
            start = start.max(near(start, again));
        }
        Some(Recorded {
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

/// What a send step transferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendWait {
    /// When the data went to the network, ticks.
    pub time: u64,
    /// Size in bytes.
    pub bytes: u64,
}

impl Recorded {
    /// Words 4 to 7 as the start wrote them.
    pub fn payload(&self) -> Payload {
        self.payload
    }

    /// A step's [`Slot::send_wait`], when it was reported with a plausible size (below 2^47 bytes).
    pub fn send_wait(&self) -> Option<SendWait> {
        let time = near(self.start, unstamped(self.tag, self.payload[0])?);
        let bytes = unstamped(self.tag, self.payload[1])?;
        (bytes < IMPLAUSIBLE).then_some(SendWait { time, bytes })
    }

    /// A kernel channel's start and stop on the GPU's clock, when the stop was reported within 2^47 of the start.
    pub fn kernel(&self) -> Option<(u64, u64)> {
        let low = unstamped(self.tag, self.payload[1])?;
        let start = self.payload[0];
        (low != IMPLAUSIBLE).then(|| (start, near(start, start.wrapping_add(low) & VALUE_MASK)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handle(generation: u32, kind: Kind) -> Handle {
        Handle::of_event(kind, 0, generation)
    }

    fn empty() -> Slot {
        Slot { words: Default::default() }
    }

    #[test]
    fn is_one_cache_line() {
        assert_eq!((size_of::<Slot>(), align_of::<Slot>()), (64, 64));
    }

    #[test]
    fn an_empty_slot_holds_nothing() {
        assert_eq!(empty().read(1), None);
        assert_eq!(empty().read(0), None);
    }

    #[test]
    fn a_step_keeps_its_send_wait_and_its_stop() {
        let slot = empty();
        let start = 0xABCD_FFFF_FFFF_FFF0; // low 48 bits wrap between start and stop
        slot.start(handle(5, Kind::ProxyStep), 42, start, [0, 0, 3, 0]);
        assert_eq!(slot.read(5).and_then(|event| event.send_wait()), None);
        slot.send_wait(5, start + 20, 1000);
        slot.stop(5, start + 100);
        let event = slot.read(5).unwrap();
        assert_eq!((event.parent, event.start, event.stop), (42, start, Some(start + 100)));
        assert_eq!(event.send_wait(), Some(SendWait { time: start + 20, bytes: 1000 }));
    }

    #[test]
    fn a_step_starts_again_and_no_event_after_it_does() {
        let slot = empty();
        slot.start(handle(5, Kind::ProxyStep), 0, 10, [0; 4]);
        slot.restart(5, 15);
        slot.stop(5, 20);
        let event = slot.read(5).unwrap();
        assert_eq!((event.start, event.stop), (15, Some(20)));
        slot.start(handle(6, Kind::ProxyStep), 0, 30, [0; 4]);
        slot.restart(5, 40);
        assert_eq!(slot.read(6).unwrap().start, 30);
        slot.start(handle(5 + (1 << 15), Kind::ProxyStep), 0, 50, [0; 4]);
        assert_eq!(slot.read(5 + (1 << 15)).unwrap().start, 50);
    }

    #[test]
    fn a_write_for_an_older_event_reads_as_absent() {
        let slot = empty();
        slot.start(handle(5, Kind::ProxyStep), 0, 10, [0; 4]);
        slot.start(handle(6, Kind::ProxyStep), 0, 20, [0; 4]);
        slot.stop(5, 30);
        slot.send_wait(5, 30, 8);
        let event = slot.read(6).unwrap();
        assert_eq!((event.stop, event.send_wait()), (None, None));
        assert_eq!(slot.read(5), None);
    }

    #[test]
    fn sizes_and_stamps_out_of_range_are_absent() {
        let slot = empty();
        slot.start(handle(1, Kind::ProxyStep), 0, 0, [0; 4]);
        slot.send_wait(1, 1, u64::MAX);
        assert_eq!(slot.read(1).unwrap().send_wait(), None);
        slot.start(handle(2, Kind::KernelCh), 0, 0, [1000, 0, 0, 0]);
        slot.kernel_stop(2, u64::MAX / 2);
        assert_eq!(slot.read(2).unwrap().kernel(), None);
    }

    #[test]
    fn kernel_stops_before_and_after_their_start() {
        let slot = empty();
        let start = 1_795_151_200_592_925_376;
        slot.start(handle(3, Kind::KernelCh), 0, 0, [start, 0, 7, 0]);
        slot.kernel_stop(3, start + 43_744);
        assert_eq!(slot.read(3).unwrap().kernel(), Some((start, start + 43_744)));
        slot.kernel_stop(3, start - 5);
        assert_eq!(slot.read(3).unwrap().kernel(), Some((start, start - 5)));
        assert_eq!(slot.read(3).unwrap().payload()[2], 7);
    }
}
