//! Facts that the status files do not have. They are said, never guessed.

use super::condition::Condition;
use super::finding::CommunicatorName;
use super::group::MemberGroup;
use super::ranks::Ranges;
use crate::statuses::Observed;
use std::collections::BTreeMap;

/// Most communicators that are named with one fact.
const MOST: usize = 3;
/// Longest list of ranks, letters.
const RANKS: usize = 30;

/// Returns what is unknown, one line each. `gpu`: whether it matters that GPUs are not seen.
pub(super) fn lines(groups: &[MemberGroup<'_>], processes: &[(&Observed, Condition)], gpu: bool) -> Vec<String> {
    let missing = each(groups, "have no status here", |group| group.without_status());
    let uncounted = each(groups, "are not compared by number: their first operations were not counted", |group| {
        let gaps = group.members.iter().filter(|member| !member.at.counts_all && member.observed.status.off.is_none());
        Ranges::of(&gaps.map(|member| member.rank).collect::<Vec<_>>())
    });
    let unseen = each(groups, "do not report what the GPU does (`ask --preset full` makes them)", |group| {
        let blind = group.members.iter().filter(|member| gpu && !member.at.sees_gpu);
        Ranges::of(&blind.map(|member| member.rank).collect::<Vec<_>>())
    });
    let unranked = groups
        .iter()
        .filter(|group| group.unranked > 0)
        .map(|group| format!("{}: {} statuses name no rank, and are not compared", label(&group.name), group.unranked));
    let lines = [missing, uncounted, unseen].concat();
    lines.into_iter().chain(unranked.take(MOST)).chain(of_processes(processes)).collect()
}

/// Returns a line for each communicator in which some ranks have a fact.
fn each(groups: &[MemberGroup<'_>], fact: &str, of: impl Fn(&MemberGroup<'_>) -> Ranges) -> Vec<String> {
    let with = |group| Some((group, of(group))).filter(|(_, ranks)| !ranks.is_empty());
    let found: Vec<(&MemberGroup<'_>, Ranges)> = groups.iter().filter_map(with).collect();
    let line = |(group, ranks): &(&MemberGroup<'_>, Ranges)| {
        let verb = if ranks.count() == 1 { singular(fact) } else { fact.to_owned() };
        format!("{}: {} {verb}", label(&group.name), ranks.named(RANKS))
    };
    let mut lines: Vec<String> = found.iter().take(MOST).map(line).collect();
    if let Some(more) = found.len().checked_sub(MOST).filter(|&more| more > 0) {
        lines.push(format!("{more} further communicators: some ranks {fact}"));
    }
    lines
}

fn singular(fact: &str) -> String {
    let verbs = [("have ", "has "), ("are ", "is "), ("do ", "does ")];
    let change = verbs.iter().find_map(|(many, one)| Some(format!("{one}{}", fact.strip_prefix(many)?)));
    change.unwrap_or_else(|| fact.to_owned()).replace("their", "its").replace("makes them", "makes it")
}

fn of_processes(processes: &[(&Observed, Condition)]) -> Vec<String> {
    let mut off: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    let mut silent = Vec::new();
    let mut further: u64 = 0;
    for (observed, condition) in processes {
        let status = &observed.status;
        let rank = status.origin.rank.and_then(|rank| i32::try_from(rank).ok()).unwrap_or(-1);
        if let Some(reason) = &status.off {
            off.entry(reason).or_default().push(rank);
        }
        if status.silent_since.is_some() && *condition == Condition::Runs {
            silent.push(rank);
        }
        further = further.saturating_add(status.further_communicators);
    }
    let whose = |mut ranks: Vec<i32>| {
        ranks.sort_unstable();
        let named = ranks.first().is_some_and(|&rank| rank >= 0);
        if named {
            format!("process {}", Ranges::of(&ranks).named(RANKS))
        } else {
            format!("{} processes", ranks.len())
        }
    };
    let mut lines: Vec<String> = off
        .into_iter()
        .take(MOST)
        .map(|(reason, ranks)| format!("{}: nothing is recorded: {reason}", whose(ranks)))
        .collect();
    if !silent.is_empty() {
        lines.push(format!("{}: the library's thread has not answered: the state is an old one", whose(silent)));
    }
    if further > 0 {
        lines.push(format!("{further} further communicators are in no status"));
    }
    lines
}

/// Names a communicator.
pub(crate) fn label(name: &CommunicatorName) -> String {
    if name.name.is_empty() { format!("communicator {}", name.id) } else { format!("communicator {}", name.name) }
}
