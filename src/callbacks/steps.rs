//! The states of proxy steps, as lines of a recording enter them.

use report::answer::{StepPhase, StepState};
use std::collections::BTreeMap;

/// States of a proxy step by their numbers in `ncclProfilerEventState_t`.
const STATES: [(u32, StepState); 6] = [
    (8, StepState::Gpu),
    (9, StepState::Network),
    (10, StepState::Network),
    (11, StepState::Flush),
    (12, StepState::Gpu),
    (20, StepState::Peer),
];
/// The states whose argument is the bytes of the step: a send's wait for the network, and a receive's flush.
const WITH_BYTES: [u32; 2] = [9, 11];

/// A proxy step under way. Times are nanoseconds of the process' clock.
#[derive(Debug)]
pub(super) struct OpenProxyStep {
    number: u32,
    entered: Option<(StepState, u64)>,
    phases: Vec<(StepState, [u64; 2])>,
    pub(super) bytes: u64,
}

impl OpenProxyStep {
    pub(super) fn new(number: u32) -> Self {
        Self { number, entered: None, phases: Vec::new(), bytes: 0 }
    }

    /// Enters a state. NCCL reports one again at each poll; then it goes on.
    pub(super) fn enter(&mut self, state: u32, argument: Option<u64>, time: u64) {
        let Some(&(_, known)) = STATES.iter().find(|(number, _)| *number == state) else { return };
        if WITH_BYTES.contains(&state) {
            self.bytes = argument.unwrap_or_default();
        }
        if self.entered.is_none_or(|(before, _)| before != known) {
            self.leave(time);
            self.entered = Some((known, time));
        }
    }

    /// Leaves the present state: at the step's end, or at the last time that is known of one that has not ended.
    pub(super) fn leave(&mut self, time: u64) {
        if let Some((state, since)) = self.entered.take() {
            self.phases.push((state, [since, time.max(since)]));
        }
    }

    /// Queues each of a proxy operation's steps from its post until the step before has left the head: a send to the
    /// network, a receive when its data had come. If it is not known when that was, the first state is unknown, too.
    pub(super) fn queue(steps: &mut BTreeMap<i32, Self>, is_send: bool) {
        let (first, next) =
            if is_send { (StepState::Gpu, StepState::Network) } else { (StepState::Network, StepState::Flush) };
        let mut before: Option<(i32, Option<u64>)> = None;
        for (&number, step) in steps {
            let left = step.phases.iter().find(|(state, _)| *state == next).map(|(_, [from, _])| *from);
            let ahead = before.replace((number, left)).filter(|(other, _)| number.checked_sub(1) == Some(*other));
            let Some(&(state, [posted, until])) = step.phases.first() else { continue };
            if number == 0 || state != first {
                continue;
            }
            let head = match ahead {
                // both are still in the queue
                Some((_, None)) if step.phases.len() == 1 => Some(until),
                Some((_, left)) => left.filter(|head| *head <= until),
                None => None,
            };
            let parts = head.map(|head| head.max(posted));
            let parts = parts.map(|head| [(StepState::Queued, [posted, head]), (state, [head, until])]);
            step.phases.splice(..1, parts.into_iter().flatten().filter(|(_, [from, until])| from < until));
        }
    }

    /// Returns how long the step was in each state, nanoseconds.
    pub(super) fn sums(&self) -> [u64; 5] {
        let mut sums = [0_u64; 5];
        for (sum, state) in sums.iter_mut().zip(StepState::ALL) {
            let of_state = self.phases.iter().filter(|(it, _)| *it == state);
            *sum = of_state.map(|(_, [from, until])| until - from).sum();
        }
        sums
    }

    /// Returns the times in each state, as microseconds of the report.
    pub(super) fn phases(&self, us: impl Fn(u64) -> f64) -> impl Iterator<Item = StepPhase> {
        let step = self.number;
        self.phases.iter().map(move |&(state, [from, until])| StepPhase {
            step,
            state,
            from_us: us(from),
            until_us: us(until),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_lasts_until_the_next_and_polls_do_not_begin_it_anew() {
        let mut step = OpenProxyStep::new(3);
        for (state, argument, time) in
            [(8, None, 10), (20, None, 15), (20, None, 18), (9, Some(4096), 20), (99, None, 25)]
        {
            step.enter(state, argument, time);
        }
        step.leave(40);
        assert_eq!((step.sums(), step.bytes), ([0, 5, 5, 20, 0], 4096));
        let phases: Vec<_> = step.phases(|time| time as f64).collect();
        assert_eq!((phases.len(), phases[1].step), (3, 3));
        assert_eq!((phases[1].state, phases[1].from_us, phases[1].until_us), (StepState::Peer, 15.0, 20.0));
    }
    #[test]
    fn a_step_is_queued_until_the_one_before_has_left_the_head() {
        let sent = |number: u32, peer: u64, network: u64| {
            let mut step = OpenProxyStep::new(number);
            [(8, 10), (20, peer), (9, network)].into_iter().for_each(|(state, time)| step.enter(state, None, time));
            step.leave(network + 5);
            (number as i32, step)
        };
        let mut steps = BTreeMap::from([sent(0, 12, 20), sent(1, 21, 30), sent(3, 41, 50)]);
        OpenProxyStep::queue(&mut steps, true);
        let sums: Vec<_> = steps.values().map(OpenProxyStep::sums).collect();
        assert_eq!(sums, [[0, 2, 8, 5, 0], [10, 1, 9, 5, 0], [0, 0, 9, 5, 0]]);
        let received = |number: u32, came: u64| {
            let mut step = OpenProxyStep::new(number);
            [(10, 10), (11, came), (12, came)].into_iter().for_each(|(state, time)| step.enter(state, None, time));
            step.leave(came + 5);
            (number as i32, step)
        };
        let mut steps = BTreeMap::from([received(0, 20), received(1, 32)]);
        OpenProxyStep::queue(&mut steps, false);
        let sums: Vec<_> = steps.values().map(OpenProxyStep::sums).collect();
        assert_eq!(sums, [[0, 5, 0, 10, 0], [10, 5, 0, 12, 0]]);
        let mut awaited = [0, 1].map(OpenProxyStep::new);
        for step in &mut awaited {
            step.enter(10, None, 10);
            step.leave(30);
        }
        let mut steps: BTreeMap<_, _> = (0..).zip(awaited).collect();
        OpenProxyStep::queue(&mut steps, false);
        let sums: Vec<_> = steps.values().map(OpenProxyStep::sums).collect();
        assert_eq!(sums, [[0, 0, 0, 20, 0], [20, 0, 0, 0, 0]], "neither has its data");
    }
}
