//! Times of transfers by state: how long the steps of a pair of ranks waited behind others, for a GPU, for the other
//! rank and for the network.

use super::adding::{grow, scaled};
use crate::record::slot::StepTimes;
use rustc_hash::FxHashMap;

/// The side of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// This rank sends.
    Send,
    /// This rank receives.
    Receive,
}

impl Direction {
    /// Both directions.
    pub const ALL: [Self; 2] = [Self::Send, Self::Receive];

    /// Returns its name in figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Receive => "receive",
        }
    }

    /// Returns the states of its steps, in their order.
    pub fn states(self) -> [StepState; 4] {
        match self {
            Self::Send => [StepState::Queued, StepState::Gpu, StepState::Peer, StepState::Network],
            Self::Receive => [StepState::Queued, StepState::Network, StepState::Flush, StepState::Gpu],
        }
    }
}

/// The state of a proxy step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepState {
    /// Posted, behind a step that NCCL has not sent yet, or whose data have not come. It says nothing of a cause.
    Queued,
    /// Waits for this rank's GPU: to fill the buffer of a send, or to empty that of a receive.
    Gpu,
    /// A send waits until the receiver has a buffer for it.
    Peer,
    /// In the network: sent and not confirmed, or awaited as the next.
    Network,
    /// Received, and on its way into the GPU's memory.
    Flush,
}

impl StepState {
    /// Returns its name in figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Gpu => "gpu",
            Self::Peer => "peer",
            Self::Network => "network",
            Self::Flush => "flush",
        }
    }
}

/// Steps of one direction between two ranks. A step is not among them if NCCL did not report each state of it and,
/// except for the first of a proxy operation, of the step before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StateSum {
    /// Number of steps.
    pub steps: u64,
    /// Bytes.
    pub bytes: u64,
    /// Nanoseconds in each state, in the order of [`Direction::states`].
    pub times: [u64; 4],
}

impl StateSum {
    /// Adds a step.
    #[inline]
    pub fn add(&mut self, step: &StepTimes, nanoseconds_per_tick: f64) {
        let times = step.ticks.map(|ticks| scaled(ticks, nanoseconds_per_tick));
        self.merge(&Self { steps: 1, bytes: step.bytes, times });
    }

    /// Returns the nanoseconds in a state; `None` for one that steps of this direction do not have.
    pub fn within(&self, direction: Direction, state: StepState) -> Option<u64> {
        let place = direction.states().iter().position(|of| *of == state)?;
        self.times.get(place).copied()
    }

    /// Adds all steps of another sum.
    pub fn merge(&mut self, other: &Self) {
        self.steps += other.steps;
        grow(&mut self.bytes, other.bytes);
        self.times.iter_mut().zip(other.times).for_each(|(sum, time)| grow(sum, time));
    }
}

/// The steps of a round, by the other rank and direction.
#[derive(Debug, Default)]
pub(crate) struct RoundStates(FxHashMap<(i32, Direction), StateSum>);

impl RoundStates {
    /// Adds a step.
    #[inline]
    pub(crate) fn add(&mut self, peer: i32, direction: Direction, step: &StepTimes, nanoseconds_per_tick: f64) {
        self.0.entry((peer, direction)).or_default().add(step, nanoseconds_per_tick);
    }

    /// Returns the sums, in no order.
    pub(crate) fn into_sums(self) -> impl Iterator<Item = ((i32, Direction), StateSum)> {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_summed_by_peer_and_direction_and_sums_stay_at_the_most_that_they_hold() {
        let mut round = RoundStates::default();
        for (peer, direction, first) in [
            (1, Direction::Send, 5),
            (1, Direction::Receive, 7),
            (1, Direction::Send, u64::MAX),
            (2, Direction::Send, 1),
        ] {
            round.add(peer, direction, &StepTimes { ticks: [4, first, 2, 3], bytes: 8 }, 1.0);
        }
        let mut found: Vec<_> = round.into_sums().collect();
        found.sort_by_key(|(key, _)| *key);
        let sum = |steps, times| StateSum { steps, bytes: 8 * steps, times };
        assert_eq!(
            found,
            [
                ((1, Direction::Send), sum(2, [8, u64::MAX, 4, 6])),
                ((1, Direction::Receive), sum(1, [4, 7, 2, 3])),
                ((2, Direction::Send), sum(1, [4, 1, 2, 3])),
            ]
        );
    }
}
