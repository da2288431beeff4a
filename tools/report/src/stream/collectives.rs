//! Collectives matched over ranks, by communicator, function, number and replay.

use super::held::{CallGroup, HeldCall, Next};
use super::places::CommunicatorMembers;
use common::name::NcclName;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// The operation of a communicator that a call belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct CollectiveKey {
    communicator: usize,
    function: NcclName,
    sequence: u64,
    replay: u32,
}

/// A collective that lacks calls.
#[derive(Debug)]
struct Pending {
    age: u64,
    /// By member.
    calls: Vec<Option<HeldCall>>,
    /// Number of members that are still to come.
    lacking: usize,
    /// All members before this place have come, or never will.
    passed: usize,
    is_whole: bool,
}

/// The collectives under way.
#[derive(Debug, Default)]
pub(super) struct Collectives {
    pending: FxHashMap<CollectiveKey, Pending>,
    /// Ages and keys, oldest first. An operation that was decided stays here until it comes to the front.
    oldest: VecDeque<(u64, CollectiveKey)>,
    /// Largest number that each member has reached, by communicator, member and function.
    reached: FxHashMap<(usize, usize, NcclName), u64>,
}

impl Collectives {
    /// Takes in a member's call. `age` is larger than those of all calls before. Returns the collective if it is
    /// complete.
    pub(super) fn add(
        &mut self,
        age: u64,
        team: &CommunicatorMembers,
        member: usize,
        held: HeldCall,
    ) -> Option<CallGroup> {
        let (sequence, replay) = held.call.sequence?;
        let (communicator, function) = (held.call.communicator, held.call.function);
        let key = CollectiveKey { communicator, function, sequence, replay };
        if replay == 0 {
            let reached = self.reached.entry((communicator, member, function)).or_default();
            *reached = sequence.max(*reached);
        }
        if team.members.len() == 1 {
            return Some(CallGroup { calls: vec![held], is_whole: team.is_whole });
        }
        let pending = self.pending.entry(key).or_insert_with(|| {
            self.oldest.push_back((age, key));
            let calls = std::iter::repeat_with(|| None).take(team.members.len()).collect();
            let lacking = team.members.iter().filter(|(_, process)| process.is_some()).count();
            Pending { age, calls, lacking, passed: 0, is_whole: team.is_whole }
        });
        match pending.calls.get_mut(member) {
            Some(place @ None) => *place = Some(held),
            // the same operation a second time
            _ => return Some(CallGroup::alone(held)),
        }
        // a member after `passed` was given up
        if member >= pending.passed {
            pending.lacking -= 1;
        }
        (pending.lacking == 0).then(|| self.decided(&key)).flatten()
    }

    /// Takes a collective out.
    fn decided(&mut self, key: &CollectiveKey) -> Option<CallGroup> {
        let pending = self.pending.remove(key)?;
        Some(CallGroup { calls: pending.calls.into_iter().flatten().collect(), is_whole: pending.is_whole })
    }

    /// Returns the age of the oldest collective under way.
    pub(super) fn oldest(&mut self) -> Option<u64> {
        while let Some((age, key)) = self.oldest.front() {
            if self.pending.get(key).is_some_and(|pending| pending.age == *age) {
                return Some(*age);
            }
            self.oldest.pop_front();
        }
        None
    }

    /// Returns the process that the oldest collective lacks, or the collective itself if none will come: a member has
    /// passed it, or its process is over.
    pub(super) fn next(&mut self, teams: &[CommunicatorMembers], is_over: impl Fn(usize) -> bool) -> Option<Next> {
        let (_, key) = *self.oldest.front()?;
        let (pending, team) = (self.pending.get_mut(&key)?, teams.get(key.communicator)?);
        while let Some(call) = pending.calls.get(pending.passed) {
            let lacking = team.process(pending.passed).filter(|_| call.is_none());
            if let Some(process) = lacking {
                let reached = self.reached.get(&(key.communicator, pending.passed, key.function));
                let has_passed = key.replay == 0 && reached.is_some_and(|&reached| reached >= key.sequence);
                if !has_passed && !is_over(process) {
                    return Some(Next::Read(process));
                }
                pending.lacking -= 1;
                pending.is_whole = false;
            }
            pending.passed += 1;
        }
        self.decided(&key).map(Next::Decided)
    }
}
