//! The ranks of a communicator, from all processes that have it.

use super::condition::Condition;
use super::finding::{AwaitedRank, CommunicatorName, DiagnosedCall, DiagnosedProcess};
use super::ranks::Ranges;
use crate::statuses::Observed;
use common::ranks;
use common::status::{StatusCommunicator, StatusOperation};
use std::collections::BTreeMap;

/// A process with its condition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupMember<'a> {
    /// Index of the process.
    pub(crate) process: usize,
    pub(crate) observed: &'a Observed,
    pub(crate) condition: Condition,
    pub(crate) rank: i32,
    pub(crate) at: &'a StatusCommunicator,
    /// Whether anything has moved in the communicator between the readings.
    pub(crate) moved: bool,
}

/// A communicator.
#[derive(Debug)]
pub(crate) struct MemberGroup<'a> {
    pub(crate) name: CommunicatorName,
    /// Ranks that have a status, in their order.
    pub(crate) members: Vec<GroupMember<'a>>,
    /// Number of statuses without a rank.
    pub(crate) unranked: usize,
}

impl<'a> GroupMember<'a> {
    /// Returns whether the status is of its writing: the library records, and its thread has answered.
    pub(crate) fn is_current(&self) -> bool {
        let status = &self.observed.status;
        status.off.is_none() && status.silent_since.is_none()
    }

    /// Returns whether the numbers of this rank can be compared with those of others, and are of now.
    pub(crate) fn counts(&self) -> bool {
        self.at.counts_all && self.is_current() && self.condition != Condition::Unwritten
    }

    /// Returns the time from `time` to the writing of the status, seconds.
    pub(crate) fn since(&self, time: u64) -> f64 {
        // a clock that was set back gives no negative time
        self.observed.status.written.saturating_sub(time) as f64 / 1e9
    }

    /// Returns a collective by its number, if the status still names it.
    pub(crate) fn collective(&self, number: u64) -> Option<&'a StatusOperation> {
        self.at.operations.iter().find(|operation| operation.number == Some(number))
    }

    /// Names this rank as one that others wait for.
    pub(crate) fn waited_for(&self) -> AwaitedRank {
        let last = self.at.operations.iter().max_by_key(|operation| operation.entered);
        let process = named(self.observed);
        let seconds = last.map(|last| self.since(last.entered));
        AwaitedRank { rank: self.rank, process, seconds, last: last.map(DiagnosedCall::from) }
    }
}

/// Names a process.
pub(crate) fn named(observed: &Observed) -> DiagnosedProcess {
    let status = &observed.status;
    let (rank, host) = (status.origin.rank, status.origin.host.clone());
    DiagnosedProcess { rank, pid: status.pid, host, file: observed.file.clone(), written: status.written }
}

impl MemberGroup<'_> {
    /// Returns the ranks without a status. Empty where the number of ranks is unknown.
    pub(crate) fn without_status(&self) -> Ranges {
        let here: Vec<i32> = self.members.iter().map(|member| member.rank).collect();
        // nobody has more ranks, whatever the status says
        Ranges::without(&here, i32::try_from(self.name.ranks).unwrap_or(ranks::MOST).min(ranks::MOST))
    }
}

/// Returns the communicators of all processes. Those that all ranks with a status have ended are left out.
pub(crate) fn groups<'a>(processes: &[(&'a Observed, Condition)]) -> Vec<MemberGroup<'a>> {
    let mut groups: BTreeMap<&str, MemberGroup<'_>> = BTreeMap::new();
    for (process, &(observed, condition)) in processes.iter().enumerate() {
        for (index, at) in observed.status.communicators.iter().enumerate() {
            let group = groups.entry(&at.comm).or_insert_with(|| MemberGroup {
                name: CommunicatorName::default(),
                members: vec![],
                unranked: 0,
            });
            group.name.ranks = group.name.ranks.max(at.nranks);
            if group.name.name.is_empty() {
                group.name.name.clone_from(&at.name);
            }
            let moved = observed.moved.get(index).copied().unwrap_or(false);
            match at.rank.filter(|&rank| rank >= 0) {
                Some(rank) => group.members.push(GroupMember { process, observed, condition, rank, at, moved }),
                None => group.unranked += 1,
            }
        }
    }
    let alive =
        |group: &MemberGroup<'_>| group.unranked > 0 || group.members.iter().any(|member| member.at.ended.is_none());
    let mut found: Vec<MemberGroup<'a>> = Vec::new();
    for (id, mut group) in groups {
        group.name.id = id.to_owned();
        group.members.sort_by_key(|member| member.rank);
        if alive(&group) {
            found.push(group);
        }
    }
    found
}
