//! What holds a job up, as a pure function of its processes' statuses.
//!
//! Each communicator gives its waits: the first collective that some ranks wait in (`collective`), and sends and
//! receives (`peer`). Whoever is waited for may wait in another communicator; `chain` follows that to the causes.

mod chain;
mod collective;
mod condition;
mod desync;
pub(crate) mod finding;
mod group;
mod network;
mod peer;
pub(crate) mod ranks;
#[cfg(test)]
mod tests;
mod unknown;

use crate::statuses::Observed;
use chain::Root;
use collective::WaitingMembers;
pub(crate) use condition::{Condition, of_latest_run};
use finding::{
    CommunicatorState, Diagnosis, Finding, HangVerdict, OperationStage, ProcessCounts, RootCause, Variant, WaitingRanks,
};
use group::{GroupMember, MemberGroup, named};
use std::collections::{BTreeMap, BTreeSet};
pub(crate) use unknown::label;

/// Shortest wait that makes a rank late, seconds.
const LATE: f64 = 1.0;

/// Returns what holds a job up. A wait is a hang from `after` seconds on, if whoever is waited for has not moved.
pub(crate) fn diagnose(observed: &[Observed], after: f64) -> Diagnosis {
    let latest = condition::of_latest_run(observed);
    let of_run = observed.iter().zip(&latest).filter(|(_, latest)| **latest);
    let processes: Vec<(&Observed, Condition)> = of_run.map(|(process, _)| (process, Condition::of(process))).collect();
    let conditions: Vec<Condition> = processes.iter().map(|(_, condition)| *condition).collect();
    let groups = group::groups(&processes);
    let waits: Vec<WaitingMembers> =
        groups.iter().enumerate().flat_map(|(index, group)| waits(index, group, after)).collect();
    let desynchronised: BTreeMap<usize, (u64, Vec<Variant>)> =
        groups.iter().enumerate().filter_map(|(index, group)| Some((index, desync::first(group, after)?))).collect();
    let is_gone = |wait: &WaitingMembers| {
        let members = groups.get(wait.group).map(|group| &group.members);
        wait.lacking.iter().any(|&index| {
            members.and_then(|members| members.get(index)).is_some_and(|member| member.condition.takes_no_part())
        })
    };
    let (standing, passing): (Vec<_>, Vec<_>) =
        waits.iter().cloned().partition(|wait| is_gone(wait) || wait.stands && wait.seconds >= after);
    let case = Case { processes: &processes, groups: &groups, waits: &standing, after };
    let roots = chain::roots(&standing, &groups, &conditions, &desynchronised.keys().copied().collect());
    let findings = case.findings(roots, desynchronised);
    let passing = passing.iter().filter(|wait| !wait.lacking.is_empty() && wait.seconds >= LATE);
    let late = passing.max_by(|one, other| one.seconds.total_cmp(&other.seconds));
    let counts = counts(&conditions, observed.len());
    let quiet = quiet(&processes);
    let verdict = case.verdict(&findings, counts, quiet);
    Diagnosis {
        verdict,
        findings,
        late: late.and_then(|wait| case.wait(wait)),
        unknown: unknown::lines(&groups, &processes, !matches!(verdict, HangVerdict::Well | HangVerdict::Over)),
        processes: counts,
        quiet,
        communicators: groups.iter().enumerate().map(|(index, group)| case.state(index, group)).collect(),
    }
}

/// Returns the waits of a communicator.
fn waits(index: usize, group: &MemberGroup<'_>, after: f64) -> Vec<WaitingMembers> {
    let mut waits = peer::standing(index, group);
    waits.extend(collective::standing(index, group));
    // where GPUs are not seen, a transfer that stands shows the wait
    let links = if waits.is_empty() { network::links(group, after) } else { vec![] };
    if let Some(longest) =
        links.iter().flat_map(|link| [link.sender, link.receiver]).flatten().map(|end| end.seconds).reduce(f64::max)
    {
        let ends: BTreeSet<i32> = links.iter().flat_map(|link| [link.from, link.to]).collect();
        let members = group.members.iter().enumerate();
        let waiters: Vec<usize> =
            members.filter(|(_, member)| ends.contains(&member.rank)).map(|(index, _)| index).collect();
        let number = group.members.iter().filter_map(|member| member.at.entered.checked_sub(1)).min();
        let all: Vec<(usize, &GroupMember<'_>)> = group.members.iter().enumerate().collect();
        let call = number.and_then(|number| collective::call_of(number, &all));
        let number = number.filter(|_| call.is_some());
        let stage = OperationStage::Unfinished;
        waits.push(WaitingMembers {
            group: index,
            number,
            call,
            stage,
            waiters,
            lacking: vec![],
            seconds: longest,
            stands: true,
        });
    }
    waits
}

/// Returns the numbers of processes; `all` counts those of earlier runs, too.
fn counts(conditions: &[Condition], all: usize) -> ProcessCounts {
    let number = |these: &[Condition]| conditions.iter().filter(|condition| these.contains(condition)).count();
    ProcessCounts {
        all: conditions.len(),
        running: number(&[Condition::Runs]),
        stopped: number(&[Condition::Stopped]),
        ended: number(&[Condition::Ended]),
        left: number(&[Condition::Left]),
        dead: number(&[Condition::Dead]),
        silent: number(&[Condition::Silent, Condition::Unwritten]),
        earlier: all - conditions.len(),
    }
}

/// Returns the time since the last operation of the processes that run, seconds.
fn quiet(processes: &[(&Observed, Condition)]) -> Option<f64> {
    let running = processes.iter().filter(|(_, condition)| *condition == Condition::Runs);
    let since = |process: &Observed| {
        let operations = process.status.communicators.iter().flat_map(|communicator| &communicator.operations);
        let times = operations.flat_map(|operation| [Some(operation.entered), operation.begun, operation.finished]);
        let newest = times.flatten().max()?;
        Some(process.status.written.saturating_sub(newest) as f64 / 1e9)
    };
    running.filter_map(|(process, _)| since(process)).reduce(f64::min)
}

/// A job with the waits that stand.
struct Case<'a> {
    processes: &'a [(&'a Observed, Condition)],
    groups: &'a [MemberGroup<'a>],
    waits: &'a [WaitingMembers],
    after: f64,
}

impl Case<'_> {
    fn findings(
        &self,
        roots: BTreeMap<Root, Vec<usize>>,
        desynchronised: BTreeMap<usize, (u64, Vec<Variant>)>,
    ) -> Vec<Finding> {
        let mut gone: BTreeMap<Condition, (BTreeSet<usize>, BTreeSet<usize>)> = BTreeMap::new();
        for (index, (_, condition)) in self.processes.iter().enumerate() {
            if !matches!(condition, Condition::Runs | Condition::Ended | Condition::Left) {
                gone.entry(*condition).or_default().0.insert(index);
            }
        }
        let mut explained: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut circles = Vec::new();
        let mut own = Vec::new();
        for (root, waits) in roots {
            match root {
                Root::Process(index) => {
                    let Some((_, condition)) = self.processes.get(index) else { continue };
                    let (processes, explained) = gone.entry(*condition).or_default();
                    processes.insert(index);
                    explained.extend(waits);
                }
                Root::Desynchronised(group) => {
                    explained.insert(group, waits);
                }
                Root::Circle(circle) => circles.push((circle, waits)),
                Root::Wait(wait) => own.push((wait, waits)),
            }
        }
        let gone = gone.into_iter().map(|(condition, (processes, waits))| {
            let named = processes.iter().filter_map(|&index| Some(named(self.processes.get(index)?.0)));
            Finding {
                cause: RootCause::Processes { condition, processes: named.collect() },
                waits: self.all(waits, &[]),
            }
        });
        let desynchronised = desynchronised.into_iter().filter_map(|(group, (number, variants))| {
            let communicator = self.groups.get(group)?.name.clone();
            let waits = self.all(explained.remove(&group).unwrap_or_default(), &[]);
            Some(Finding { cause: RootCause::Desynchronised { communicator, number, variants }, waits })
        });
        let mut findings: Vec<Finding> = gone.chain(desynchronised).collect();
        findings.extend(circles.into_iter().map(|(circle, waits)| Finding {
            waits: self.all(waits, &circle),
            cause: RootCause::Crossed {
                circle: circle.iter().filter_map(|&wait| self.wait(self.waits.get(wait)?)).collect(),
            },
        }));
        let mut own: Vec<Finding> = own.into_iter().filter_map(|(wait, waits)| self.own(wait, waits)).collect();
        own.sort_by_key(|finding| std::cmp::Reverse(finding.waits.len()));
        findings.extend(own);
        findings.extend(self.calls());
        findings
    }

    /// Returns a wait that is its own cause.
    fn own(&self, index: usize, explains: Vec<usize>) -> Option<Finding> {
        let standing = self.waits.get(index)?;
        let group = self.groups.get(standing.group)?;
        let wait = self.wait(standing)?;
        let cause = match wait.stage {
            OperationStage::NotEntered => RootCause::NotEntered { wait },
            OperationStage::NotBegun => RootCause::NotBegun { wait },
            OperationStage::Unfinished => {
                let (network, without_status) = (network::links(group, self.after), group.without_status());
                RootCause::Unfinished { wait, network, without_status }
            }
        };
        Some(Finding { cause, waits: self.all(explains, &[index]) })
    }

    /// Returns calls that have not returned, of communicators without a wait that stands.
    fn calls(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        let waiting: BTreeSet<usize> = self.waits.iter().map(|wait| wait.group).collect();
        for (_, group) in self.groups.iter().enumerate().filter(|(index, _)| !waiting.contains(index)) {
            let mut calls: BTreeMap<&str, (f64, BTreeSet<i32>)> = BTreeMap::new();
            let may_stand =
                |member: &&GroupMember<'_>| !member.moved && member.is_current() && member.condition == Condition::Runs;
            let stand = group.members.iter().filter(may_stand);
            for (member, call) in stand.flat_map(|member| member.at.calls.iter().map(move |call| (member, call))) {
                let seconds = member.since(call.since);
                if seconds >= self.after {
                    let (longest, ranks) = calls.entry(&call.func).or_default();
                    *longest = longest.max(seconds);
                    ranks.insert(member.rank);
                }
            }
            found.extend(calls.into_iter().map(|(func, (seconds, ranks))| {
                let (communicator, func) = (group.name.clone(), func.to_owned());
                let (ranks, without_status) = (ranks.into_iter().collect(), group.without_status());
                Finding {
                    cause: RootCause::Calls { communicator, func, seconds, ranks, without_status },
                    waits: vec![],
                }
            }));
        }
        found
    }

    fn verdict(&self, findings: &[Finding], counts: ProcessCounts, quiet: Option<f64>) -> HangVerdict {
        let is_doubt = |finding: &Finding| {
            let silent = [Condition::Silent, Condition::Unwritten];
            finding.waits.is_empty()
                && matches!(&finding.cause, RootCause::Processes { condition, .. } if silent.contains(condition))
        };
        let says = |(process, condition): &(&Observed, Condition)| {
            let status = &process.status;
            *condition == Condition::Runs && status.off.is_none() && status.silent_since.is_none()
        };
        let moved = || self.processes.iter().any(|(process, _)| process.moved.contains(&true));
        if findings.iter().any(|finding| !is_doubt(finding)) {
            HangVerdict::Hang
        } else if !findings.is_empty() || counts.all == 0 {
            HangVerdict::Unknown
        } else if counts.ended + counts.left == counts.all {
            HangVerdict::Over
        } else if !self.processes.iter().any(says) {
            HangVerdict::Unknown
        } else if moved() || quiet.is_some_and(|quiet| quiet < self.after) {
            HangVerdict::Well
        } else {
            HangVerdict::Idle
        }
    }

    fn all(&self, waits: impl IntoIterator<Item = usize>, without: &[usize]) -> Vec<WaitingRanks> {
        let waits = waits.into_iter().filter(|wait| !without.contains(wait));
        let mut waits: Vec<WaitingRanks> = waits.filter_map(|wait| self.wait(self.waits.get(wait)?)).collect();
        waits.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
        waits
    }

    fn wait(&self, of: &WaitingMembers) -> Option<WaitingRanks> {
        let group = self.groups.get(of.group)?;
        let member = |index: &usize| group.members.get(*index);
        let mut waiters: Vec<i32> = of.waiters.iter().filter_map(member).map(|member| member.rank).collect();
        waiters.sort_unstable();
        let lacking: BTreeSet<usize> = of.lacking.iter().copied().collect();
        Some(WaitingRanks {
            communicator: group.name.clone(),
            number: of.number,
            call: of.call.clone(),
            stage: of.stage,
            waiters,
            lacking: lacking.iter().filter_map(member).map(GroupMember::waited_for).collect(),
            seconds: of.seconds,
            stands: of.stands,
        })
    }

    fn state(&self, index: usize, group: &MemberGroup<'_>) -> CommunicatorState {
        let entered = group.members.iter().map(|member| member.at.entered);
        CommunicatorState {
            communicator: group.name.clone(),
            ranks: group.members.iter().map(|member| member.rank).collect(),
            entered: (entered.clone().min().unwrap_or(0), entered.max().unwrap_or(0)),
            sees_gpu: group.members.iter().all(|member| member.at.sees_gpu),
            wait: self.waits.iter().find(|wait| wait.group == index).and_then(|wait| self.wait(wait)),
        }
    }
}
