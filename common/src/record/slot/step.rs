//! A proxy step in its slot: the times at which it entered its states, and its size.
//!
//! NCCL reports three states of each step, and a state lasts until the next one or the step's stop:
//!
//! | states | word 7 | word 6, below the number | word 4 | word 5 |
//! |---|---|---|---|---|
//! | of a send: GPU wait, peer wait, network | GPU wait | peer wait | network | size, with the network's state |
//! | of a receive: network, flush, GPU wait | GPU wait | flush | network | size, with the flush |
//!
//! NCCL reports the first state when it posts the buffer, up to eight steps ahead, and works on the first of them
//! alone. So a step is queued until the one before it has left the head of the queue: a send with its state network, a
//! receive with its flush.
//!
//! Word 6 is not stamped: the start writes it, with no time in it, and the states' writers check that the slot still
//! holds the step. Until a receive is posted, word 7 has its start again.

use super::{IMPLAUSIBLE, Slot, SlotContent, VALUE_MASK, near, stamped, unstamped};
use crate::base::sync::Ordering;

/// The transfer of a send step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendWait {
    /// Time at which the data went to the network, ticks.
    pub time: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// A step of which every state was reported, and its stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepStates {
    /// Times at which it entered each state, in the order in which a send or a receive passes them, and its stop,
    /// ticks.
    entered: [u64; 4],
    /// Size in bytes.
    bytes: u64,
    sends: bool,
}

impl StepStates {
    /// Returns when the step left the head of its queue, ticks: the step behind it is the next one there.
    pub fn left_head(&self) -> u64 {
        let [_, second, third, _] = self.entered;
        if self.sends { third } else { second }
    }

    /// Returns the time in each state of a step that was at the head of its queue from the time `head` on, ticks; 0 of
    /// the first step. `None` if it had left its first state by then, which NCCL never reports.
    pub fn times(&self, head: u64) -> Option<StepTimes> {
        let [posted, second, third, stop] = self.entered;
        let begin = posted.max(head);
        let waited = second.checked_sub(begin)?;
        Some(StepTimes { ticks: [begin - posted, waited, third - second, stop - third], bytes: self.bytes })
    }
}

/// The times of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepTimes {
    /// Ticks in the queue, and in each state in the order in which a send or a receive passes them.
    pub ticks: [u64; 4],
    /// Size in bytes.
    pub bytes: u64,
}

impl Slot {
    /// Notes that a step has started again under the same handle, or that a send step waits for the GPU: NCCL reports
    /// that right behind the start. The last call counts.
    #[inline(always)]
    pub fn restart(&self, generation: u32, start: u64) {
        self.words[7].store(stamped(generation, start), Ordering::Relaxed);
    }

    /// Writes when a send step began to wait for the receiver. The first call counts, since NCCL reports the state at
    /// each poll; `now` is called by that one alone. The writer has checked that the slot holds the step.
    #[inline(always)]
    pub fn send_peer_wait(&self, now: impl FnOnce() -> u64) {
        let word = self.words[6].load(Ordering::Relaxed);
        if word & VALUE_MASK == 0 {
            self.words[6].store(word | timed(now()), Ordering::Relaxed);
        }
    }

    /// Writes when a send step's data went to the network, in ticks, and its size in bytes. The last call counts.
    #[inline(always)]
    pub fn send_wait(&self, generation: u32, time: u64, bytes: u64) {
        self.words[5].store(stamped(generation, bytes.min(IMPLAUSIBLE)), Ordering::Relaxed);
        self.words[4].store(stamped(generation, time), Ordering::Relaxed);
    }

    /// Writes when a receive step was posted, in ticks. The last call counts.
    #[inline(always)]
    pub fn receive_wait(&self, generation: u32, time: u64) {
        self.words[4].store(stamped(generation, time), Ordering::Relaxed);
    }

    /// Writes when a receive step's data had come, in ticks, and its size in bytes. The last call counts. The writer has
    /// checked that the slot holds the step.
    #[inline(always)]
    pub fn receive_flush(&self, generation: u32, time: u64, bytes: u64) {
        let number = self.words[6].load(Ordering::Relaxed) & !VALUE_MASK;
        self.words[6].store(number | timed(time), Ordering::Relaxed);
        self.words[5].store(stamped(generation, bytes.min(IMPLAUSIBLE)), Ordering::Relaxed);
    }

    /// Writes when a receive step began to wait for the GPU, in ticks. The last call counts.
    #[inline(always)]
    pub fn receive_gpu_wait(&self, generation: u32, time: u64) {
        self.words[7].store(stamped(generation, time), Ordering::Relaxed);
    }
}

/// Returns a time as word 6 has it: 0 stands for none.
#[inline(always)]
fn timed(time: u64) -> u64 {
    (time & VALUE_MASK).max(1)
}

impl SlotContent {
    /// Returns a send step's [`Slot::send_wait`], if it was reported with a plausible size (below 2^47 bytes).
    pub fn send_wait(&self) -> Option<SendWait> {
        let time = near(self.start, unstamped(self.tag, self.payload[0])?);
        Some(SendWait { time, bytes: self.size()? })
    }

    /// Returns the states of a step that stopped at `stop`. `None` unless each was reported in its order, with a
    /// plausible size.
    pub fn step_states(&self, sends: bool, stop: u64) -> Option<StepStates> {
        let full = |low: u64| near(self.start, low);
        let network = full(unstamped(self.tag, self.payload[0])?);
        let middle = full(Some(self.payload[2] & VALUE_MASK).filter(|&low| low != 0)?);
        let gpu = full(unstamped(self.tag, self.payload[3])?);
        let entered = if sends { [gpu, middle, network, stop] } else { [network, middle, gpu, stop] };
        if !entered.is_sorted() {
            return None;
        }
        Some(StepStates { entered, bytes: self.size()?, sends })
    }

    /// Returns the size of a step, if it was reported and is plausible.
    fn size(&self) -> Option<u64> {
        unstamped(self.tag, self.payload[1]).filter(|&bytes| bytes < IMPLAUSIBLE)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{empty, handle};
    use super::*;
    use crate::event::kind::EventKind;
    use crate::record::payload::OfStep;

    /// The low 48 bits of the times begin anew between the states.
    const START: u64 = 0xABCD_FFFF_FFFF_FFF0;

    fn step() -> Slot {
        let slot = empty();
        slot.start(handle(5, EventKind::ProxyStep), 42, START, OfStep { number: 70_003 }.pack());
        slot
    }

    fn states(slot: &Slot, sends: bool) -> Option<StepStates> {
        slot.read(5).and_then(|event| event.step_states(sends, event.stop.unwrap_or(START + 100)))
    }

    fn times(slot: &Slot, sends: bool) -> Option<StepTimes> {
        states(slot, sends)?.times(0)
    }

    #[test]
    fn a_send_has_the_time_until_each_next_state() {
        let slot = step();
        slot.restart(5, START + 1);
        for poll in 0..3 {
            slot.send_peer_wait(|| START + 8 + poll);
        }
        assert_eq!(times(&slot, true), None, "it has not gone to the network");
        slot.send_wait(5, START + 20, 1000);
        slot.stop(5, START + 50);
        assert_eq!(times(&slot, true), Some(StepTimes { ticks: [0, 7, 12, 30], bytes: 1000 }));
        let states = states(&slot, true).unwrap();
        assert_eq!(states.left_head(), START + 20);
        let behind = |head| states.times(head).map(|times| times.ticks);
        assert_eq!(behind(START), Some([0, 7, 12, 30]), "the head was free before the post");
        assert_eq!(behind(START + 5), Some([4, 3, 12, 30]));
        assert_eq!((behind(START + 8), behind(START + 9)), (Some([7, 0, 12, 30]), None));
        let event = slot.read(5).unwrap();
        assert_eq!(event.send_wait(), Some(SendWait { time: START + 20, bytes: 1000 }));
        assert_eq!(OfStep::unpack(event.payload()).number, 70_003 % (1 << 16), "states leave the number alone");
    }

    #[test]
    fn a_receive_has_the_time_until_each_next_state() {
        let slot = step();
        slot.restart(5, START + 2);
        slot.receive_wait(5, START + 3);
        slot.receive_flush(5, START + 23, 64);
        slot.receive_gpu_wait(5, START + 24);
        slot.stop(5, START + 30);
        assert_eq!(times(&slot, false), Some(StepTimes { ticks: [0, 20, 1, 6], bytes: 64 }));
        let states = states(&slot, false).unwrap();
        assert_eq!(states.left_head(), START + 23);
        assert_eq!(states.times(START + 13).map(|times| times.ticks), Some([10, 10, 1, 6]));
        assert_eq!(OfStep::unpack(slot.read(5).unwrap().payload()).number, 70_003 % (1 << 16));
    }

    #[test]
    fn a_step_without_a_state_or_with_states_out_of_order_has_no_times() {
        for missing in 0..3 {
            let slot = step();
            let reports: [fn(&Slot); 3] = [
                |slot| slot.receive_wait(5, START + 3),
                |slot| slot.receive_flush(5, START + 5, 8),
                |slot| slot.receive_gpu_wait(5, START + 7),
            ];
            (0..3).filter(|state| *state != missing).for_each(|state| reports[state](&slot));
            assert_eq!(times(&slot, false), None, "{missing}");
            reports[missing](&slot);
            assert!(times(&slot, false).is_some() && times(&slot, true).is_none(), "{missing}");
        }
    }

    /// A start clears the time that an older step in the slot has left.
    #[test]
    fn a_step_has_no_times_of_an_older_one() {
        let slot = step();
        slot.restart(5, START + 1);
        slot.send_peer_wait(|| START + 2);
        slot.send_wait(5, START + 3, 8);
        slot.start(handle(5, EventKind::ProxyStep), 42, START, OfStep { number: 1 }.pack());
        assert_eq!(times(&slot, true), None);
    }
}
