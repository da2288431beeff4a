//! Who waits in which send or receive, and for whom.

use super::collective::WaitingMembers;
use super::finding::{DiagnosedCall, OperationStage};
use super::group::{GroupMember, MemberGroup};
use common::status::StatusOperation;
use std::collections::BTreeMap;

const SEND: &str = "Send";
const RECEIVE: &str = "Recv";

/// Returns the sends and receives that ranks of a group wait in, one entry for each rank that is waited for.
///
/// Sends and receives have no numbers, so only those are compared that the GPU has begun and not finished. The rank at
/// the other end has a partner for it that is not finished either, or has not called it yet.
pub(crate) fn standing(group: usize, of: &MemberGroup<'_>) -> Vec<WaitingMembers> {
    let mut found: BTreeMap<(OperationStage, Option<usize>), WaitingMembers> = BTreeMap::new();
    for (index, member) in of.members.iter().enumerate().filter(|(_, member)| takes_part(member)) {
        let Some((operation, peer)) = first_open(member) else { continue };
        let partner = of.members.binary_search_by_key(&peer, |member| member.rank).ok();
        let partner = partner.and_then(|index| Some((index, of.members.get(index)?)));
        if partner.is_some_and(|(_, partner)| !partner.counts()) {
            continue;
        }
        let (stage, lacking) = match partner {
            Some((index, partner)) => match answering(partner, operation, member.rank) {
                _ if partner.condition.takes_no_part() => (OperationStage::NotEntered, Some(index)),
                None => (OperationStage::NotEntered, Some(index)),
                Some(other) if other.begun.is_none() => (OperationStage::NotBegun, Some(index)),
                Some(_) => (OperationStage::Unfinished, None),
            },
            None => (OperationStage::Unfinished, None),
        };
        let seconds = member.since(operation.begun.unwrap_or(operation.entered));
        let whose = lacking.and_then(|index| of.members.get(index)).unwrap_or(member);
        let standing = found.entry((stage, lacking)).or_insert_with(|| WaitingMembers {
            group,
            number: None,
            call: None,
            stage,
            waiters: vec![],
            lacking: lacking.into_iter().collect(),
            seconds: -1.0,
            stands: true,
        });
        standing.waiters.push(index);
        standing.stands &= !whose.moved;
        if seconds > standing.seconds {
            (standing.seconds, standing.call) = (seconds, Some(DiagnosedCall::from(operation)));
        }
    }
    found.into_values().collect()
}

fn takes_part(member: &GroupMember<'_>) -> bool {
    member.at.sees_gpu && member.counts() && !member.condition.takes_no_part()
}

/// Returns the first send or receive that a rank's GPU has begun and not finished, with its peer.
fn first_open<'a>(member: &GroupMember<'a>) -> Option<(&'a StatusOperation, i32)> {
    let open =
        member.at.operations.iter().filter(|operation| operation.begun.is_some() && operation.finished.is_none());
    let own = member.rank;
    open.filter_map(|operation| Some((operation, operation.peer?))).find(|(_, peer)| *peer != own)
}

/// Returns the unfinished partner of an operation with the rank `peer`.
fn answering<'a>(member: &GroupMember<'a>, operation: &StatusOperation, peer: i32) -> Option<&'a StatusOperation> {
    let func = if operation.func == SEND { RECEIVE } else { SEND };
    let is_partner =
        |other: &&StatusOperation| other.func == func && other.peer == Some(peer) && other.finished.is_none();
    // NCCL's GPU events of the partner may be unknown: what is entered counts
    member.at.operations.iter().find(is_partner)
}
