//! The first collective that ranks of a communicator have called differently.

use super::finding::{CallShift, DiagnosedCall, Variant};
use super::group::{GroupMember, MemberGroup, named};
use common::status::StatusOperation;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Most processes of a variant that are named.
const MOST_PROCESSES: usize = 8;

/// A call with the ranks that have made it.
type Callers<'a> = (DiagnosedCall, Vec<&'a GroupMember<'a>>);

/// Returns the first number under which ranks have called different operations, and the calls, that of most ranks
/// first. A wait of less than `after` seconds is none.
pub(crate) fn first(of: &MemberGroup<'_>, after: f64) -> Option<(u64, Vec<Variant>)> {
    let members: Vec<&GroupMember<'_>> = of.members.iter().filter(|member| member.counts()).collect();
    let operations = members.iter().flat_map(|member| &member.at.operations);
    let numbers: BTreeSet<u64> = operations.filter_map(|operation| operation.number).collect();
    let (number, calls) = numbers.into_iter().find_map(|number| {
        let calls = calls(&members, number);
        (calls.len() > 1 && !has_passed(&calls, number, after)).then_some((number, calls))
    })?;
    let first = calls.first().map(|(call, _)| call.clone());
    let most = calls.first().and_then(|(_, members)| members.first().copied());
    let variant = |(place, (call, members)): (usize, Callers<'_>)| Variant {
        differs: first.as_ref().and_then(|first| first.difference(&call)),
        shift: most.zip(members.first()).filter(|_| place > 0).and_then(|(most, own)| shift(most, own, number)),
        call,
        ranks: members.iter().map(|member| member.rank).collect(),
        processes: members.iter().take(MOST_PROCESSES).map(|member| named(member.observed)).collect(),
    };
    Some((number, calls.into_iter().enumerate().map(variant).collect()))
}

/// Returns the different calls under a number, that of most ranks first.
fn calls<'a>(members: &[&'a GroupMember<'a>], number: u64) -> Vec<Callers<'a>> {
    let mut calls: Vec<Callers<'_>> = Vec::new();
    for &member in members {
        let Some(call) = member.collective(number).map(DiagnosedCall::from) else { continue };
        match calls.iter_mut().find(|(other, _)| other.difference(&call).is_none()) {
            Some((known, members)) => {
                known.learn(&call);
                members.push(member);
            }
            None => calls.push((call, vec![member])),
        }
    }
    calls.sort_by_key(|(_, members)| Reverse(members.len()));
    calls
}

/// Returns whether the calls differ in the type alone, with as many bytes, and no rank hangs in them: it is past them,
/// or has been in them for less than `after` seconds. Where a rank does not report its GPU, it is past them if it goes
/// on.
fn has_passed(calls: &[Callers<'_>], number: u64, after: f64) -> bool {
    let is_past = |member: &&GroupMember<'_>| {
        member.collective(number).is_some_and(|operation| {
            let goes_on = !member.at.sees_gpu && member.moved;
            operation.finished.is_some() || goes_on || member.since(operation.entered) < after
        })
    };
    let in_bytes = |(call, _): &Callers<'_>| DiagnosedCall { count: None, datatype: None, ..call.clone() };
    let in_bytes: Vec<DiagnosedCall> = calls.iter().map(in_bytes).collect();
    let alike = |one: &DiagnosedCall| in_bytes.iter().all(|other| one.difference(other).is_none());
    in_bytes.iter().all(alike) && calls.iter().flat_map(|(_, members)| members).all(is_past)
}

/// Returns how a rank's calls follow from another's, if the next ones show that.
fn shift(most: &GroupMember<'_>, own: &GroupMember<'_>, number: u64) -> Option<CallShift> {
    let agree = |one: Option<&StatusOperation>, other: Option<&StatusOperation>| {
        one.zip(other)
            .is_some_and(|(one, other)| DiagnosedCall::from(one).difference(&DiagnosedCall::from(other)).is_none())
    };
    // both ways would say nothing, as in an alternating sequence
    let next = number.saturating_add(1);
    let lacks = agree(most.collective(next), own.collective(number));
    let adds = agree(most.collective(number), own.collective(next));
    match (lacks, adds) {
        (true, false) => Some(CallShift::Lacks),
        (false, true) => Some(CallShift::Adds),
        _ => None,
    }
}
