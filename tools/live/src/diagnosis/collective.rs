//! Who waits in which collective of a communicator, and for whom.

use super::finding::{DiagnosedCall, OperationStage};
use super::group::{GroupMember, MemberGroup};
use common::status::StatusOperation;
use std::collections::BTreeMap;

/// Ranks that wait in an operation, as members of their group.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WaitingMembers {
    /// Index of the group.
    pub(crate) group: usize,
    pub(crate) number: Option<u64>,
    pub(crate) call: Option<DiagnosedCall>,
    pub(crate) stage: OperationStage,
    /// Members that wait.
    pub(crate) waiters: Vec<usize>,
    /// Members that they wait for.
    pub(crate) lacking: Vec<usize>,
    /// The longest wait, seconds.
    pub(crate) seconds: f64,
    /// Whether whoever is waited for has not moved between the readings.
    pub(crate) stands: bool,
}

/// Returns the first collective that some ranks of a group wait in.
///
/// Waits follow each other in a communicator: a later collective cannot be finished before the first. So the first one
/// is its only wait that matters.
pub(crate) fn standing(group: usize, of: &MemberGroup<'_>) -> Option<WaitingMembers> {
    let members: Vec<(usize, &GroupMember<'_>)> =
        of.members.iter().enumerate().filter(|(_, member)| member.counts()).collect();
    let fewest = members.iter().map(|(_, member)| member.at.entered).min()?;
    let most = members.iter().map(|(_, member)| member.at.entered).max()?;
    let unfinished = members.iter().filter_map(|(_, member)| first_unfinished(member)).min();
    let mut standing = match unfinished.filter(|&number| number < fewest) {
        Some(number) => on_gpus(group, number, &members)?,
        None if fewest < most => not_entered(group, fewest, &members)?,
        None => return None,
    };
    let taking_no_part = |&(index, member): &(usize, &GroupMember<'_>)| {
        let is_done = standing.number.and_then(|number| member.collective(number)).is_some_and(is_finished);
        (member.condition.takes_no_part() && !is_done && !standing.lacking.contains(&index)).then_some(index)
    };
    // a process that is gone takes part in nothing, however far it had come
    let gone: Vec<usize> = members.iter().filter_map(taking_no_part).collect();
    standing.waiters.retain(|index| !gone.contains(index));
    standing.lacking.extend(gone);
    let takes_part = |index: &usize| of.members.get(*index).is_some_and(|member| !member.condition.takes_no_part());
    let concerned = standing.waiters.iter().chain(&standing.lacking).any(takes_part);
    concerned.then_some(standing)
}

fn is_finished(operation: &StatusOperation) -> bool {
    operation.finished.is_some()
}

/// Returns the number of the first collective that a rank has entered and its GPU has not finished.
fn first_unfinished(member: &GroupMember<'_>) -> Option<u64> {
    let open = member.at.operations.iter().filter(|operation| member.at.sees_gpu && !is_finished(operation));
    open.filter_map(|operation| operation.number).min()
}

fn not_entered(group: usize, number: u64, members: &[(usize, &GroupMember<'_>)]) -> Option<WaitingMembers> {
    let lacking: Vec<_> = members.iter().filter(|(_, member)| member.at.entered <= number).collect();
    // the root of a broadcast may have finished before others enter
    let waits = |member: &GroupMember<'_>| !member.collective(number).is_some_and(is_finished);
    let waiters: Vec<_> =
        members.iter().filter(|(_, member)| member.at.entered > number && waits(member)).copied().collect();
    let seconds = |member: &GroupMember<'_>| match member.collective(number) {
        Some(operation) => Some(member.since(operation.begun.unwrap_or(operation.entered))),
        // it is older than all that are named
        None => member.at.operations.iter().map(|operation| member.since(operation.entered)).reduce(f64::max),
    };
    (!waiters.is_empty()).then(|| WaitingMembers {
        group,
        number: Some(number),
        call: call_of(number, &waiters),
        stage: OperationStage::NotEntered,
        seconds: waiters.iter().filter_map(|(_, member)| seconds(member)).fold(0.0, f64::max),
        stands: lacking.iter().all(|(_, member)| !member.moved),
        waiters: waiters.iter().map(|(index, _)| *index).collect(),
        lacking: lacking.iter().map(|(index, _)| *index).collect(),
    })
}

/// Returns the wait in a collective that all have entered.
fn on_gpus(group: usize, number: u64, members: &[(usize, &GroupMember<'_>)]) -> Option<WaitingMembers> {
    let entered: Vec<_> =
        members.iter().filter_map(|&(index, member)| Some((index, member, member.collective(number)?))).collect();
    let open: Vec<_> = entered.iter().filter(|(_, member, at)| member.at.sees_gpu && !is_finished(at)).collect();
    let (begun, held): (Vec<_>, Vec<_>) = open.into_iter().partition(|(_, _, at)| at.begun.is_some());
    let seconds =
        |(_, member, at): &&(usize, &GroupMember<'_>, &StatusOperation)| member.since(at.begun.unwrap_or(at.entered));
    let indices =
        |of: &[&(usize, &GroupMember<'_>, &StatusOperation)]| of.iter().map(|(index, ..)| *index).collect::<Vec<_>>();
    let named: Vec<_> = entered.iter().map(|&(index, member, _)| (index, member)).collect();
    let standing = |stage, seconds, stands| WaitingMembers {
        group,
        number: Some(number),
        call: call_of(number, &named),
        stage,
        waiters: indices(&begun),
        lacking: indices(&held),
        seconds,
        stands,
    };
    let stand = |of: &[&(usize, &GroupMember<'_>, &StatusOperation)]| of.iter().all(|(_, member, _)| !member.moved);
    let waited = if begun.is_empty() { &held } else { &begun };
    let seconds = waited.iter().map(seconds).fold(0.0, f64::max);
    match (begun.is_empty(), held.is_empty()) {
        (true, true) => None,
        (_, false) => Some(standing(OperationStage::NotBegun, seconds, stand(&held))),
        (false, true) => Some(standing(OperationStage::Unfinished, seconds, stand(&begun))),
    }
}

/// Returns the call of a collective by most of the members.
pub(crate) fn call_of(number: u64, members: &[(usize, &GroupMember<'_>)]) -> Option<DiagnosedCall> {
    let mut votes: BTreeMap<DiagnosedCall, usize> = BTreeMap::new();
    for call in members.iter().filter_map(|(_, member)| member.collective(number).map(DiagnosedCall::from)) {
        *votes.entry(call).or_default() += 1;
    }
    votes.into_iter().max_by_key(|(_, votes)| *votes).map(|(call, _)| call)
}
