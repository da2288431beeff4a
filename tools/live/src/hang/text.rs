//! The answer for a person: at most some fifteen lines of 80 columns, the cause first.

use super::headline;
use super::phrase::{RANKS, call, contents, duration, lacking, of_ranks, operation, place, process, wait};
use crate::diagnosis::finding::{
    AwaitedRank, CallShift, CommunicatorState, DiagnosedProcess, Diagnosis, Finding, HangVerdict, ProcessCounts,
    RootCause, StuckTransfer, TransferEnd, Variant, WaitingRanks,
};
use crate::diagnosis::ranks::Ranges;
use crate::diagnosis::{Condition, label};
use common::origin::wall_clock;
use common::status::Waiting;
use present::output::broken;
use std::borrow::Cow;
use std::path::Path;

/// Columns of the answer.
const WIDTH: usize = 80;
/// Most causes, waits, processes and lines on what is unknown, unless everything is asked for.
const MAX_SHOWN: usize = 3;
/// Begin of a line that is a command, and stays one line.
const ASK: &str = "    scorep-nccl ask ";

/// Returns the answer. `everything`: all causes and communicators.
pub(super) fn of(diagnosis: &Diagnosis, directory: &Path, after: f64, everything: bool) -> String {
    let most = if everything { usize::MAX } else { MAX_SHOWN };
    let mut lines: Vec<String> = Vec::new();
    for (place, finding) in diagnosis.findings.iter().enumerate().take(most) {
        let sign = match (place, diagnosis.verdict) {
            (0, HangVerdict::Hang) => "HANG: ",
            (0, _) => "CANNOT TELL: ",
            _ => "ALSO: ",
        };
        lines.push(format!("{sign}{}", headline::of(&finding.cause)));
        // the first cause has all its lines, the others the most important ones
        let most = if place == 0 { most } else { most.min(1) };
        lines.extend(details(finding, most).into_iter().map(|line| format!("  {line}")));
        if place == 0 || everything {
            lines.push(format!("  Next: {}", next(&finding.cause, directory)));
            lines.extend(ask(&finding.cause, directory));
        }
    }
    if let Some(more) = diagnosis.findings.len().checked_sub(most).filter(|&more| more > 0) {
        lines.push(format!("And {more} further causes (--verbose)."));
    }
    if diagnosis.findings.is_empty() {
        lines.push(well(diagnosis, after));
    }
    lines.extend(diagnosis.late.as_ref().map(|late| {
        let (whose, operation, communicator) = (lacking(late), operation(late), label(&late.communicator));
        let verb = if late.lacking.len() == 1 { "is" } else { "are" };
        format!("Late: {whose} {verb} {} late at {operation} of {communicator}.", duration(late.seconds))
    }));
    lines.extend(diagnosis.unknown.iter().take(most).map(|line| format!("Unknown: {line}.")));
    if let Some(more) = diagnosis.unknown.len().checked_sub(most).filter(|&more| more > 0) {
        lines.push(format!("Unknown: {more} further facts (--verbose)."));
    }
    lines.extend(counts(diagnosis.processes));
    if everything {
        lines.extend(diagnosis.communicators.iter().map(state));
    }
    let indent = |line: &str| " ".repeat(line.len() - line.trim_start().len() + 2);
    let fit = |line: &String| if line.starts_with(ASK) { line.clone() } else { broken(line, WIDTH, &indent(line)) };
    lines.iter().map(|line| fit(line) + "\n").collect()
}

fn well(diagnosis: &Diagnosis, after: f64) -> String {
    let ProcessCounts { all, running, .. } = diagnosis.processes;
    let last = diagnosis.quiet.map_or_else(
        || "no operation has been entered yet".into(),
        |quiet| format!("the last operation was {} ago", duration(quiet)),
    );
    match diagnosis.verdict {
        HangVerdict::Well => format!("WELL: operations go on: {last}."),
        HangVerdict::Idle => format!("IDLE: no rank is seen to wait for another: {last}."),
        HangVerdict::Over if diagnosis.processes.left == 0 => format!("OVER: all {all} processes have ended in order."),
        HangVerdict::Over => format!("OVER: all {all} processes have ended."),
        _ if all == 0 => "CANNOT TELL: there is no status file.".into(),
        _ if running == 0 => "CANNOT TELL: no process runs.".into(),
        HangVerdict::Hang | HangVerdict::Unknown => {
            format!("CANNOT TELL: no process that runs says anything that is newer than {after} s.")
        }
    }
}

fn counts(of: ProcessCounts) -> Option<String> {
    let named = [
        (of.running, "running"),
        (of.stopped, "stopped"),
        (of.dead, "dead"),
        (of.silent, "silent"),
        (of.ended, "ended"),
        (of.left, "left by `_exit`"),
    ];
    let parts: Vec<String> = named
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, condition)| format!("{number} {condition}"))
        .collect();
    let earlier = match of.earlier {
        0 => String::new(),
        1 => " 1 status of an earlier run is left out.".into(),
        number => format!(" {number} statuses of an earlier run are left out."),
    };
    let noun = if of.all == 1 { "process" } else { "processes" };
    (of.all > 0).then(|| format!("{} {noun}: {}.{earlier}", of.all, parts.join(", ")))
}

fn details(finding: &Finding, most: usize) -> Vec<String> {
    let mut lines = match &finding.cause {
        RootCause::Processes { condition, processes } => of_processes(*condition, processes, most),
        RootCause::Desynchronised { variants, .. } => variants
            .iter()
            .take(most)
            .map(|variant| {
                let shift = match variant.shift {
                    Some(CallShift::Lacks) => ": as if without the call above",
                    Some(CallShift::Adds) => ": as if in addition, before the call above",
                    None => "",
                };
                format!("{}: {}{shift}", of_ranks(&variant.ranks), call(&variant.call))
            })
            .chain(odd(variants).map(whereabouts))
            .collect(),
        RootCause::Crossed { circle } => {
            let leg = |leg: &WaitingRanks| {
                let (whose, whom) = (of_ranks(&leg.waiters), lacking(leg));
                let (operation, communicator) = (operation(leg), label(&leg.communicator));
                format!("{communicator}: {whose} in {operation} for {whom}, {}", duration(leg.seconds))
            };
            circle.iter().take(most.max(4)).map(leg).collect()
        }
        RootCause::NotEntered { wait } => waiting(wait, most),
        RootCause::NotBegun { wait } => {
            let held = "Something before it on its stream holds it: a kernel, a copy, or an event that never comes.";
            [vec![held.into()], waiting(wait, most)].concat()
        }
        RootCause::Unfinished { wait, network, without_status } => {
            let mut lines = waiting(wait, most);
            lines.extend(network.iter().take(most).map(link));
            if network.is_empty() {
                lines.push("No network step stands: the GPUs wait for each other inside a node.".into());
            }
            lines.extend(theirs(without_status));
            lines
        }
        RootCause::Calls { seconds, without_status, .. } => {
            let since = format!("The longest has been in it for {}.", duration(*seconds));
            [since].into_iter().chain(theirs(without_status)).collect()
        }
    };
    let shown = finding.waits.iter().take(most).map(|of| format!("Because of it: {}.", wait(of)));
    lines.extend(shown);
    if let Some(more) = finding.waits.len().checked_sub(most).filter(|&more| more > 0) {
        lines.push(format!("Because of it: {more} further waits (--verbose)."));
    }
    lines
}

fn theirs(without_status: &Ranges) -> Option<String> {
    (!without_status.is_empty()).then(|| format!("It may be for {}, without a status.", without_status.named(RANKS)))
}

fn of_processes(condition: Condition, processes: &[DiagnosedProcess], most: usize) -> Vec<String> {
    let line = |of: &DiagnosedProcess| {
        let written = wall_clock(i128::from(of.written) / 1_000_000_000 * 1_000_000_000).unwrap_or_default();
        let whose = if of.rank.is_some() { format!("{}: {}", process(of), place(of)) } else { process(of) };
        match condition {
            Condition::Stopped => format!("{whose}."),
            _ => format!("{whose}, wrote last at {written}."),
        }
    };
    let mut lines: Vec<String> = processes.iter().take(most).map(line).collect();
    if let Some(more) = processes.len().checked_sub(most).filter(|&more| more > 0) {
        lines.push(format!("And {more} further ones (--verbose)."));
    }
    lines
}

/// Returns who waits in an operation for how long, and who is waited for.
fn waiting(of: &WaitingRanks, most: usize) -> Vec<String> {
    let contents = of.call.as_ref().map(|call| format!("{}. ", contents(call))).unwrap_or_default();
    let wait = match of.waiters.as_slice() {
        [] => format!("{contents}Nothing has moved for {}.", duration(of.seconds)),
        [_] => format!("{contents}{} has waited in it for {}.", capital(&of_ranks(&of.waiters)), duration(of.seconds)),
        _ => {
            let whose = capital(&of_ranks(&of.waiters));
            format!("{contents}{whose} wait in it, the longest for {}.", duration(of.seconds))
        }
    };
    [wait].into_iter().chain(of.lacking.iter().take(most).map(absent)).collect()
}

fn absent(of: &AwaitedRank) -> String {
    let last = of.last.as_ref().zip(of.seconds);
    let last = last.map_or_else(
        || "it has entered nothing there".into(),
        |(last, seconds)| format!("its last operation there was {}, {} ago", last.func, duration(seconds)),
    );
    format!("Rank {} is {}: {last}.", of.rank, whereabouts(&of.process))
}

/// The first process that has called otherwise than most.
fn odd(variants: &[Variant]) -> Option<&DiagnosedProcess> {
    variants.iter().skip(1).flat_map(|variant| &variant.processes).next()
}

fn whereabouts(of: &DiagnosedProcess) -> String {
    if of.rank.is_some() { format!("{}, {}", process(of), place(of)) } else { place(of) }
}

fn link(of: &StuckTransfer) -> String {
    let end = |end: &TransferEnd, sends: bool| {
        let state = match (end.state, sends) {
            (Waiting::Network, true) => "has data in the network",
            (Waiting::Network, false) => "waits for the network",
            (Waiting::Step, true) => "has a step under way",
            (Waiting::Step, false) => "waits in a step",
            (Waiting::Gpu, true) => "has no data of its GPU",
            (Waiting::Gpu, false) => "has no room of its GPU",
        };
        format!("{state} for {} after {} steps", duration(end.seconds), end.steps)
    };
    let name = |rank: i32, host: &Option<String>| match host {
        Some(host) => format!("rank {rank} ({host})"),
        None => format!("rank {rank}"),
    };
    let [from, to] = &of.hosts;
    let sender = of.sender.as_ref().map_or_else(|| "says nothing of it".into(), |of| end(of, true));
    let receiver = of.receiver.as_ref().map_or_else(|| "says nothing of it".into(), |of| end(of, false));
    format!("Channel {}: {} {sender}; {} {receiver}.", of.channel, name(of.from, from), name(of.to, to))
}

/// Returns a name as a shell takes it: people copy the lines that it stands in, and a status may say anything.
fn quoted(name: &str) -> String {
    shlex::try_quote(name).map_or_else(|_| "'?'".into(), Cow::into_owned)
}

/// Returns the next step for a person.
fn next(cause: &RootCause, directory: &Path) -> String {
    // `ask` prints the command below
    let look = |for_what: &str| match awaited(cause) {
        Some(DiagnosedProcess { pid, host: Some(host), .. }) => {
            let host = quoted(host);
            format!("see {for_what}, from here, or on {host} by `py-spy dump --pid {pid}` or `gdb -p {pid}`:")
        }
        _ => format!("see {for_what}:"),
    };
    match cause {
        RootCause::Processes { condition, processes } => {
            let first = processes.first();
            let host = first.and_then(|process| process.host.as_deref()).map_or("its host".into(), quoted);
            let place = quoted(&directory.display().to_string());
            let pid = first.map(|process| process.pid).unwrap_or_default();
            match condition {
                Condition::Dead => format!("why: its log, and on {host} `dmesg -T` (out of memory, a GPU's Xid)."),
                Condition::Stopped => format!("on {host}, `kill -CONT {pid}`, or look who has stopped it."),
                Condition::Left => format!("why: its log, and on {host} `dmesg -T`; or it has left by `_exit`, early."),
                Condition::Ended => "why did it leave early: its log; ranks with less data than others.".into(),
                Condition::Silent => {
                    format!("is {host} up? There, `scorep-nccl hang {place}` knows more.")
                }
                _ => format!("is there room: `df {place}`; otherwise its library's warnings."),
            }
        }
        RootCause::Desynchronised { .. } => look("what the last one above does otherwise"),
        RootCause::Crossed { .. } => "call the operations of these communicators in one order on all ranks.".into(),
        RootCause::NotEntered { .. } => look("where it is"),
        RootCause::NotBegun { .. } => look("where it is, and its streams"),
        RootCause::Unfinished { network, .. } => match network.first() {
            Some(_) => "check that link (`ibstat`, `ethtool -S`, the switch), and NCCL's log (NCCL_DEBUG=WARN).".into(),
            None => "`nvidia-smi` on each host (Xid, throttled GPUs), and NCCL's log (NCCL_DEBUG=WARN).".into(),
        },
        RootCause::Calls { .. } => "it may connect to ranks that have not called. See where all are:".into(),
    }
}

/// Returns the first process that runs and that others wait for, or that has called otherwise than most.
fn awaited(cause: &RootCause) -> Option<&DiagnosedProcess> {
    match cause {
        RootCause::Desynchronised { variants, .. } => odd(variants),
        RootCause::NotEntered { wait } | RootCause::NotBegun { wait } => wait.lacking.first().map(|rank| &rank.process),
        _ => None,
    }
}

/// Returns the command that shows the stacks of the process that others wait for, or of all; `None` if no stack says more.
fn ask(cause: &RootCause, directory: &Path) -> Option<String> {
    let says_more = match cause {
        RootCause::Desynchronised { .. } | RootCause::NotEntered { .. } | RootCause::NotBegun { .. } => true,
        RootCause::Calls { .. } => true,
        RootCause::Processes { .. } | RootCause::Crossed { .. } | RootCause::Unfinished { .. } => false,
    };
    let process = awaited(cause).map(|process| {
        let host = process.host.as_deref().map(|host| format!(" --host {}", quoted(host)));
        format!(" --pid {}{}", process.pid, host.unwrap_or_default())
    });
    let place = quoted(&directory.display().to_string());
    says_more.then(|| format!("{ASK}{place} --stacks{}", process.unwrap_or_default()))
}

fn state(of: &CommunicatorState) -> String {
    let (fewest, most) = of.entered;
    let entered = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
    let wait = match &of.wait {
        Some(wait) => format!("; {} stands, for {}", operation(wait), duration(wait.seconds)),
        None => String::new(),
    };
    let (all, here) = (of.communicator.ranks, Ranges::of(&of.ranks));
    format!("{}: ranks {here} of {all}, collectives entered: {entered}{wait}", label(&of.communicator))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
