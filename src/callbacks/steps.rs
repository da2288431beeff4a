//! The states of proxy steps, as lines of a recording enter them.

use report::answer::{StepPhase, StepState};

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

    /// Returns how long the step was in each state, nanoseconds.
    pub(super) fn sums(&self) -> [u64; 4] {
        let mut sums = [0_u64; 4];
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
        assert_eq!((step.sums(), step.bytes), ([5, 5, 20, 0], 4096));
        let phases: Vec<_> = step.phases(|time| time as f64).collect();
        assert_eq!((phases.len(), phases[1].step), (3, 3));
        assert_eq!((phases[1].state, phases[1].from_us, phases[1].until_us), (StepState::Peer, 15.0, 20.0));
    }
}
