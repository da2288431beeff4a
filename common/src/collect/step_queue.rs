//! The queue of a proxy operation's steps, which says since when each step has been at its head.
//!
//! NCCL posts up to eight steps ahead and works on the first of them alone: it sends one step after the other, and
//! takes in the data of one after the other. So a step is at the head once the step before it has left it. The readers
//! may report a step before the one ahead of it; steps are matched by their number.

use crate::record::slot::{StepStates, StepTimes};

/// Most steps of each kind that wait to be matched. NCCL has at most eight of a proxy operation under way; more belong
/// to steps that are lost, and the oldest go.
const MOST: usize = 16;
/// The numbers of steps begin anew here.
const NUMBERS: u64 = 1 << 16;

/// The steps of a proxy operation that have ended and are not matched yet.
#[derive(Debug, Default)]
pub(crate) struct StepQueue {
    /// Numbers of steps whose next step has not ended, and the times at which they left the head, ticks.
    left: Vec<(u64, u64)>,
    /// Numbers and states of steps whose step before has not ended.
    behind: Vec<(u64, StepStates)>,
}

impl StepQueue {
    /// Takes in a step that has ended, with all of its states. Returns the times that are known by it: its own, and
    /// those of the next step. A step whose step before never comes, or lacks a state, has no times.
    pub(crate) fn end(&mut self, number: u64, states: StepStates) -> [Option<StepTimes>; 2] {
        let before = take(&mut self.left, (number + NUMBERS - 1) % NUMBERS);
        let head = before.or_else(|| self.is_first(number).then_some(0));
        if head.is_none() {
            keep(&mut self.behind, (number, states));
        }
        let next = take(&mut self.behind, (number + 1) % NUMBERS);
        if next.is_none() {
            keep(&mut self.left, (number, states.left_head()));
        }
        [head.and_then(|head| states.times(head)), next.and_then(|next| next.times(states.left_head()))]
    }

    /// Returns whether no step comes before this one. In a proxy operation of more steps than there are numbers, 0
    /// comes again behind the high ones.
    fn is_first(&self, number: u64) -> bool {
        number == 0 && self.left.iter().all(|(other, _)| *other < NUMBERS / 2)
    }
}

/// Takes out what is kept of a step.
fn take<T>(kept: &mut Vec<(u64, T)>, number: u64) -> Option<T> {
    let place = kept.iter().position(|(other, _)| *other == number)?;
    Some(kept.remove(place).1)
}

/// Keeps what is known of a step. The last report of a number counts.
fn keep<T>(kept: &mut Vec<(u64, T)>, (number, known): (u64, T)) {
    drop(take(kept, number));
    if kept.len() >= MOST {
        kept.remove(0);
    }
    kept.push((number, known));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::mapping::Mapping;
    use crate::event::handle::Handle;
    use crate::event::kind::EventKind;
    use crate::record::payload::OfStep;
    use crate::record::slot::Slot;

    /// Returns the states of a send that is posted at 100, goes to the network at this time, and stops 50 later.
    fn sent(network: u64) -> StepStates {
        let slot = &Mapping::<Slot>::new(1).unwrap()[0];
        slot.start(Handle::of_event(EventKind::ProxyStep, 0, 1), 42, 100, OfStep { number: 0 }.pack());
        slot.restart(1, 100);
        slot.send_peer_wait(|| network - 1);
        slot.send_wait(1, network, 8);
        slot.read(1).and_then(|event| event.step_states(true, network + 50)).unwrap()
    }

    fn ticks(times: [Option<StepTimes>; 2]) -> [Option<[u64; 4]>; 2] {
        times.map(|times| times.map(|times| times.ticks))
    }

    #[test]
    fn a_step_is_queued_until_the_one_before_it_is_sent() {
        let mut queue = StepQueue::default();
        assert_eq!(ticks(queue.end(0, sent(110))), [Some([0, 9, 1, 50]), None]);
        assert_eq!(ticks(queue.end(1, sent(130))), [Some([10, 19, 1, 50]), None]);
        assert_eq!((queue.left.len(), queue.behind.len()), (1, 0));
    }

    #[test]
    fn the_order_of_the_reports_does_not_matter() {
        let mut queue = StepQueue::default();
        assert_eq!(ticks(queue.end(2, sent(150))), [None, None]);
        assert_eq!(ticks(queue.end(1, sent(130))), [None, Some([30, 19, 1, 50])]);
        assert_eq!(ticks(queue.end(0, sent(110))), [Some([0, 9, 1, 50]), Some([10, 19, 1, 50])]);
        assert_eq!((queue.left.len(), queue.behind.len()), (1, 0));
    }

    #[test]
    fn a_step_behind_a_lost_one_has_no_times_and_those_behind_it_do() {
        let mut queue = StepQueue::default();
        queue.end(0, sent(110));
        assert_eq!(ticks(queue.end(2, sent(150))), [None, None]);
        assert_eq!(ticks(queue.end(3, sent(170))), [Some([50, 19, 1, 50]), None]);
    }

    #[test]
    fn numbers_begin_anew_and_lost_steps_take_no_memory() {
        let mut queue = StepQueue::default();
        queue.end(NUMBERS - 2, sent(110));
        assert_eq!(ticks(queue.end(0, sent(150))), [None, None], "it is not the first");
        assert_eq!(ticks(queue.end(NUMBERS - 1, sent(130))), [Some([10, 19, 1, 50]), Some([30, 19, 1, 50])]);
        for number in (10..10_000).step_by(2) {
            queue.end(number, sent(110));
        }
        assert!(queue.left.len() <= MOST && queue.behind.len() <= MOST);
    }
}
