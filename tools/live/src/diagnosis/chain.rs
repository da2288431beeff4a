//! Follows waits to their causes: whoever is waited for may wait itself, in another communicator.

use super::collective::WaitingMembers;
use super::condition::Condition;
use super::group::MemberGroup;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A root cause: a process that takes no part, a communicator out of step, a wait of its own, or a circle of waits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Root {
    /// A process by its index.
    Process(usize),
    /// A group by its index.
    Desynchronised(usize),
    /// Waits by their indices, each for a rank that waits in the next.
    Circle(Vec<usize>),
    /// A wait by its index: whoever is waited for waits for nobody.
    Wait(usize),
}

/// Returns the root causes of waits, each with the waits that it explains.
pub(crate) fn roots(
    waits: &[WaitingMembers],
    groups: &[MemberGroup<'_>],
    conditions: &[Condition],
    desynchronised: &BTreeSet<usize>,
) -> BTreeMap<Root, Vec<usize>> {
    let process = |wait: &WaitingMembers, member: usize| Some(groups.get(wait.group)?.members.get(member)?.process);
    let mut waiting: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, wait) in waits.iter().enumerate() {
        for process in wait.waiters.iter().filter_map(|&member| process(wait, member)) {
            waiting.entry(process).or_default().push(index);
        }
    }
    let mut next: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); waits.len()];
    let mut causes: BTreeMap<Root, BTreeSet<usize>> = BTreeMap::new();
    for (index, (wait, next)) in waits.iter().zip(&mut next).enumerate() {
        let lacking: Vec<usize> = wait.lacking.iter().filter_map(|&member| process(wait, member)).collect();
        let takes_no_part = |process: &usize| conditions.get(*process).is_some_and(|of| of.takes_no_part());
        let gone = lacking.iter().copied().filter(takes_no_part).map(Root::Process);
        let out_of_step = desynchronised.contains(&wait.group).then_some(Root::Desynchronised(wait.group));
        let certain: Vec<Root> = gone.chain(out_of_step).collect();
        let mut is_root = lacking.is_empty();
        if certain.is_empty() {
            for process in &lacking {
                let others = waiting.get(process).into_iter().flatten().copied().filter(|&other| other != index);
                let before = next.len();
                next.extend(others);
                is_root |= next.len() == before && !waiting.contains_key(process);
            }
            is_root |= next.is_empty();
        }
        let own = (certain.is_empty() && is_root).then_some(Root::Wait(index));
        certain.into_iter().chain(own).for_each(|root| {
            causes.entry(root).or_default().insert(index);
        });
    }
    for circle in circles(&next) {
        causes.insert(Root::Circle(circle.clone()), circle.into_iter().collect());
    }
    let mut before: Vec<Vec<usize>> = vec![vec![]; next.len()];
    for (from, to) in next.iter().enumerate().flat_map(|(from, to)| to.iter().map(move |&to| (from, to))) {
        if let Some(before) = before.get_mut(to) {
            before.push(from);
        }
    }
    let reached = |(root, from): (Root, BTreeSet<usize>)| (root, all_that_lead_to(from, &before));
    causes.into_iter().map(reached).collect()
}

/// Returns waits from which these can be reached, and these. `before` has the waits that lead to each one.
fn all_that_lead_to(these: BTreeSet<usize>, before: &[Vec<usize>]) -> Vec<usize> {
    let mut reached = these.clone();
    let mut open: VecDeque<usize> = these.into_iter().collect();
    while let Some(at) = open.pop_front() {
        let new = before.get(at).into_iter().flatten().copied().filter(|&wait| reached.insert(wait));
        open.extend(new.collect::<Vec<_>>());
    }
    reached.into_iter().collect()
}

/// Returns a shortest circle through each set of waits that lead to each other.
fn circles(next: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    let mut done: BTreeSet<usize> = BTreeSet::new();
    for start in 0..next.len() {
        if done.contains(&start) {
            continue;
        }
        if let Some(circle) = circle(start, next, &mut done) {
            // what leads to a circle that is known is no circle of its own
            done.extend(&circle);
            found.push(circle);
        }
    }
    found
}

/// Returns the shortest way from a wait back to itself. Waits that are done lie on no other circle than a known one.
fn circle(start: usize, next: &[BTreeSet<usize>], done: &mut BTreeSet<usize>) -> Option<Vec<usize>> {
    let mut came_from: BTreeMap<usize, usize> = BTreeMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(at) = open.pop_front() {
        for &to in next.get(at).into_iter().flatten() {
            if to == start {
                let mut circle = vec![at];
                let mut at = at;
                while at != start {
                    at = *came_from.get(&at)?;
                    circle.push(at);
                }
                circle.reverse();
                return Some(circle);
            }
            if !done.contains(&to) && !came_from.contains_key(&to) {
                came_from.insert(to, at);
                open.push_back(to);
            }
        }
    }
    // no way leads back to it, so no later circle goes through it
    done.insert(start);
    None
}
