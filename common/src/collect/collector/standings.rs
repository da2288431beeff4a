//! The standings of all communicators, for the status file (`NCCL_SCOREP_STATUS`).

use super::Collector;
use crate::clock::CLOCK;
use crate::clock::wall::Wall;
use crate::collect::communicator::FollowedCommunicator;
use crate::collect::standing::{InApi, Standing};
use crate::event;
use crate::event::handle::Handle;
use crate::figures::missing::Missing;
use crate::status::{self, MOST_COMMUNICATORS, Status};

/// Most communicators that have ended among them.
const MOST_PAST: usize = 16;

impl Collector {
    /// Returns whether the event types that a communicator's NCCL is asked for may change.
    pub(super) fn may_switch(&self, introduction: &event::InitCommunicator) -> bool {
        introduction.timed.mask.is_some() && self.recorder.settings.may_switch()
    }

    /// Makes the standing of a communicator that was just made, if there is a status file.
    pub(super) fn standing_of(&self, id: Handle, introduction: &event::InitCommunicator) -> Option<Standing> {
        let settings = &self.recorder.settings;
        // a mask of the user's may leave calls out
        let is_whole = settings.mask.is_none();
        // its first window was opened with it
        let opened =
            || self.recorder.contexts.at(id.index()).map_or_else(|| CLOCK.now(), |context| context.window(0).opened());
        settings.status.is_some().then(|| Standing::new(introduction, opened(), is_whole, settings.may_switch()))
    }

    /// Returns the state of all communicators, with all that was recorded by now.
    pub(super) fn status(&mut self) -> Status {
        self.round(false);
        let wall = Wall::now(self.figures.nanoseconds_per_tick);
        let alive: Vec<(&FollowedCommunicator, &Standing)> =
            self.communicators.values().filter_map(|one| Some((one, one.standing()?))).collect();
        let standings: Vec<&Standing> = alive.iter().map(|(_, standing)| *standing).collect();
        let calls = InApi::now().of(&standings, wall);
        let mut communicators: Vec<status::StatusCommunicator> =
            alive.iter().zip(calls).map(|(&(one, standing), calls)| self.state(one, standing, calls, wall)).collect();
        communicators.extend(self.past.iter().rev().cloned());
        // stable: those that live keep the order in which they were made
        communicators.sort_by_key(|one| one.ended.is_some());
        let further = communicators.len().saturating_sub(MOST_COMMUNICATORS);
        communicators.truncate(MOST_COMMUNICATORS);
        let types = |one: &&FollowedCommunicator| self.recorder.contexts.at(one.id().index())?.switched().types();
        let asked =
            |one: &FollowedCommunicator, standing: &Standing| types(&one).unwrap_or(standing.asked()).cast_unsigned();
        let mask = alive.iter().filter(|(one, _)| one.ended().is_none());
        let mask = mask.fold(0, |all, (one, standing)| all | asked(one, standing));
        Status {
            mask: mask.into(),
            dropped: Missing::of_threads().dropped,
            communicators,
            further_communicators: further as u64,
            ..Status::default()
        }
    }

    fn state(
        &self,
        one: &FollowedCommunicator,
        standing: &Standing,
        calls: Vec<status::OpenCall>,
        wall: Wall,
    ) -> status::StatusCommunicator {
        let mut state = standing.status(one.comm(), calls, (&self.recorder.pool, wall));
        state.ended = one.ended().map(|ended| wall.at(ended));
        state
    }

    /// Keeps the last state of the communicators that are forgotten now.
    pub(super) fn keep_past(&mut self) {
        let over = self.communicators.values().filter(|one| one.is_over());
        let over: Vec<status::StatusCommunicator> = over
            .filter_map(|one| {
                let wall = Wall::now(self.figures.nanoseconds_per_tick);
                Some(self.state(one, one.standing()?, Vec::new(), wall))
            })
            .collect();
        for mut state in over {
            (state.operations, state.waits) = (Vec::new(), Vec::new());
            self.past.push_back(state);
            if self.past.len() > MOST_PAST {
                self.past.pop_front();
            }
        }
    }
}
