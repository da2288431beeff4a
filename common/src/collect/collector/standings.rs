//! The standings of all communicators, for the status file (`NCCL_SCOREP_STATUS`).

use super::Collector;
use crate::clock::CLOCK;
use crate::clock::wall::Wall;
use crate::collect::communicator::FollowedCommunicator;
use crate::collect::standing::{InApi, Standing};
use crate::event;
use crate::event::handle::Handle;
use crate::figures::missing::Missing;
use crate::status::progress::{LinkSum, MOST_LINKS, MOST_MARKS};
use crate::status::{self, MOST_COMMUNICATORS, Status};
use crate::sums::run_sums::{CommunicatorRank, Direction, StepState};
use std::cmp::Reverse;

/// Most communicators that have ended among them.
const MOST_PAST: usize = 16;
/// Most marks of a process, and most links, unless so many communicators have some that each has [`LEAST`] of them.
const MOST_OF_PROCESS: usize = 96;
const LEAST: usize = 4;

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
        if let Some(progress) = self.figures.progress.as_ref().filter(|_| state.ended.is_none()) {
            let most = (MOST_OF_PROCESS / progress.marked().max(1)).clamp(LEAST, MOST_MARKS);
            (state.stride, state.marks) = progress.marks(one.id().index(), most, |ticks| wall.at(ticks));
        }
        if let (Some(comm), Some(rank), None) = (one.comm(), state.rank, state.ended) {
            state.links = self.links(CommunicatorRank { comm, rank });
        }
        state
    }

    /// Returns the network transfers of a rank, those with the most bytes, by peer and direction.
    fn links(&self, rank: CommunicatorRank) -> Vec<LinkSum> {
        let all = self.figures.totals.states.range((rank, i32::MIN, Direction::Send)..);
        let of_rank = all.take_while(|((of, ..), _)| *of == rank);
        let mut links: Vec<LinkSum> = of_rank
            .map(|(&(_, peer, direction), sum)| LinkSum {
                peer,
                sends: direction == Direction::Send,
                transfers: sum.steps,
                bytes: sum.bytes,
                network: sum.within(direction, StepState::Network).unwrap_or(0),
            })
            .collect();
        let most = (MOST_OF_PROCESS / self.communicators.len().max(1)).clamp(LEAST, MOST_LINKS);
        if links.len() > most {
            links.sort_by_key(|link| (Reverse(link.bytes), link.peer, link.sends));
            links.truncate(most);
            links.sort_by_key(|link| (link.peer, link.sends));
        }
        links
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
