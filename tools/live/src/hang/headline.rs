//! One sentence for each root cause, without durations: it stays as it is as long as the cause does.

use super::phrase::{lacking, of_ranks, operation, part, processes};
use crate::diagnosis::finding::{CallDifference, DiagnosedProcess, RootCause, Variant, WaitingRanks};
use crate::diagnosis::{Condition, label};
use std::collections::BTreeSet;

/// Most different values in a sentence.
const MOST_VALUES: usize = 3;

/// Returns the sentence of a cause.
pub(crate) fn of(cause: &RootCause) -> String {
    match cause {
        RootCause::Processes { condition, processes } => of_processes(*condition, processes),
        RootCause::Desynchronised { communicator, number, variants } => {
            format!("ranks of {} have called {}.", label(communicator), different(*number, variants))
        }
        RootCause::Crossed { circle } => crossed(circle),
        RootCause::NotEntered { wait } => {
            let (whose, has, operation) = (lacking(wait), have(wait.lacking.len()), operation(wait));
            format!("{whose} {has} not entered {operation} of {}.", label(&wait.communicator))
        }
        RootCause::NotBegun { wait } => not_begun(wait),
        RootCause::Unfinished { wait, network, .. } => match network.first() {
            Some(link) => format!(
                "the network from rank {} to rank {} stands, in {} of {}.",
                link.from,
                link.to,
                operation(wait),
                label(&wait.communicator)
            ),
            None => format!(
                "{} of {} does not finish, though {} have begun it.",
                operation(wait),
                label(&wait.communicator),
                of_ranks(&wait.waiters)
            ),
        },
        RootCause::Calls { communicator, func, ranks, .. } => {
            let verb = if ranks.len() == 1 { "does" } else { "do" };
            format!("{} of {} {verb} not return from {func}.", of_ranks(ranks), label(communicator))
        }
    }
}

/// Writes the first difference of calls, with the ranks of each: `AllReduce #10 with different types: ncclFloat32 on
/// ranks 0-2; ncclInt32 on rank 3`.
fn different(number: u64, variants: &[Variant]) -> String {
    let func = variants.first().map(|most| most.call.func.as_str()).unwrap_or_default();
    let difference = variants.iter().filter_map(|variant| variant.differs).min().unwrap_or(CallDifference::Function);
    let called = match difference {
        CallDifference::Function => format!("different functions as #{number}"),
        CallDifference::Count => format!("{func} #{number} with different counts"),
        CallDifference::Bytes => format!("{func} #{number} with different sizes"),
        CallDifference::Datatype => format!("{func} #{number} with different types"),
        CallDifference::Root => format!("{func} #{number} with different roots"),
    };
    let mut values: Vec<(String, Vec<i32>)> = Vec::new();
    for variant in variants {
        let Some(value) = part(&variant.call, difference) else { continue };
        match values.iter_mut().find(|(other, _)| *other == value) {
            Some((_, ranks)) => ranks.extend(&variant.ranks),
            None => values.push((value, variant.ranks.clone())),
        }
    }
    let named = values.iter_mut().take(MOST_VALUES).map(|(value, ranks)| {
        ranks.sort_unstable();
        format!("{value} on {}", of_ranks(ranks))
    });
    let named = named.collect::<Vec<_>>().join("; ");
    let more = values.len().checked_sub(MOST_VALUES).filter(|&more| more > 0);
    let more = match more {
        None => String::new(),
        Some(1) => "; and another one".into(),
        Some(more) => format!("; and {more} further ones"),
    };
    format!("{called}: {named}{more}")
}

fn have(number: usize) -> &'static str {
    if number == 1 { "has" } else { "have" }
}

fn of_processes(condition: Condition, of: &[DiagnosedProcess]) -> String {
    let hosts: BTreeSet<&String> = of.iter().filter_map(|process| process.host.as_ref()).collect();
    let host = match hosts.first() {
        Some(host) if hosts.len() == 1 && of.iter().all(|process| process.rank.is_some()) => format!(" on {host}"),
        _ => String::new(),
    };
    let (is, it) = if of.len() == 1 { ("is", "it") } else { ("are", "they") };
    let whose = format!("{}{host}", processes(of));
    match condition {
        Condition::Dead => format!("{whose} {is} dead."),
        Condition::Stopped => format!("{whose} {is} stopped, by SIGSTOP or a debugger."),
        Condition::Ended => format!("{whose} {} ended in order, while others wait.", have(of.len())),
        Condition::Left => {
            format!("{whose} {is} gone, while others wait: killed, or {have} left by `_exit`.", have = have(of.len()))
        }
        Condition::Silent if of.len() == 1 => format!("{whose} writes no more: it is dead, stopped or cut off."),
        Condition::Silent => format!("{whose} write no more: they are dead, stopped or cut off."),
        Condition::Unwritten | Condition::Runs => {
            let run = if of.len() == 1 { "runs" } else { "run" };
            format!("{whose} {run}, and {it} cannot write a status.")
        }
    }
}

fn crossed(waits: &[WaitingRanks]) -> String {
    // each leg waits for ranks that wait in the next
    let communicators: BTreeSet<&str> = waits.iter().map(|wait| wait.communicator.id.as_str()).collect();
    match (waits, communicators.len()) {
        ([one, other], 2) => {
            format!("{} and {} are entered in crossed order.", label(&one.communicator), label(&other.communicator))
        }
        (_, 1) => "ranks of a communicator wait for each other in a circle.".into(),
        (_, number) => format!("{number} communicators are entered in crossed order."),
    }
}

fn not_begun(wait: &WaitingRanks) -> String {
    let (operation, communicator) = (operation(wait), label(&wait.communicator));
    if wait.waiters.is_empty() {
        return format!("all have entered {operation} of {communicator}, and no GPU begins it.");
    }
    let gpu = if wait.lacking.len() == 1 { "its GPU has" } else { "their GPUs have" };
    let have = have(wait.lacking.len());
    format!("{} {have} entered {operation} of {communicator}, and {gpu} not begun it.", lacking(wait))
}
