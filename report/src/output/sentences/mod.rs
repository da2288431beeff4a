//! The sentences that answer the report's questions. All forms of output use these.

mod breakdown;
pub(super) mod causes;
mod choices;
mod clocks;
mod conditions;
mod early;
mod findings;
mod late;
mod network;
mod states;
mod sums;
mod tags;
pub mod two_runs;
mod words;

use super::names::ReportNames;
use super::units::{count, counted, part_of, share, time};
use crate::answer::{AnswerVerdict, Answers, Budget, Complete, Late, RankLate, RankPair, Report, Verdicted};
pub(super) use breakdown::about_breakdown;
pub use choices::choices;
pub(crate) use choices::{about_log, fallback};
pub(super) use conditions::about_conditions;
pub(super) use findings::about_findings;
pub use findings::left_out_lines;
pub use network::network;
pub(crate) use network::{of_late_ranks, slow_communicator, slow_part};
pub(crate) use states::{pair_states, sender_and_receiver};
pub(super) use tags::about_tags;
use words::absent;
pub(super) use words::capital;

/// Returns the answers to the three questions, for [`Report::answers`].
pub fn answers(report: &Report) -> Answers {
    Answers { late: late::answer(report), cost: cost_answer(report), network: network::verdicted(report) }
}

/// Returns which rank is late.
pub fn late(report: &Report) -> String {
    late::answer(report).text
}

/// Returns which ranks stand before the others, whether all ranks and operations are here, and how well clocks are
/// known.
pub fn complete(report: &Report) -> String {
    let complete = &report.complete;
    let lacks = lacks(report);
    let verdict = match complete.ranks {
        Some(ranks) if ranks != complete.ranks_here => "Not complete",
        _ if !lacks.is_empty() => "Not complete",
        Some(_) => "Complete",
        None => "Complete as far as is known",
    };
    let ranks = match complete.ranks {
        Some(ranks) if ranks == complete.ranks_here => format!("all {}", counted(ranks, "rank")),
        Some(ranks) => format!("{} of {}", count(complete.ranks_here), counted(ranks, "rank")),
        None => format!("{} of an unknown number", counted(complete.ranks_here, "rank")),
    };
    let are = if complete.ranks_here == 1 { "is" } else { "are" };
    let mut text = early::early(report).map_or_else(String::new, |early| early + " ");
    text += &format!(
        "{verdict}: {ranks} {are} here{} with {}",
        missing(complete),
        counted(complete.operations, "operation")
    );
    if !lacks.is_empty() {
        text += ", but ";
        text += &lacks.join(", ");
    }
    text += &match complete.clock_error_us {
        Some(_) if complete.nodes == 1 => "; all are on one clock".into(),
        Some(us) => format!("; clocks agree to within {}", time(us)),
        None => "; clocks are not connected, so times of different machines are not compared".into(),
    };
    if let Some(us) = complete.wait_error_us {
        text += &format!(", waits are known to {}", time(us));
    }
    text + "."
}

/// Names the ranks that are not here.
fn missing(complete: &Complete) -> String {
    match complete.missing.as_str() {
        "" => String::new(),
        one if one.chars().all(|letter| letter.is_ascii_digit()) => format!(" (rank {one} is missing)"),
        several => format!(" (ranks {} are missing)", several.replace(',', ", ")),
    }
}

/// Returns the deficiencies of the data, each in a few words.
fn lacks(report: &Report) -> Vec<String> {
    let complete = &report.complete;
    let unread = complete.inputs.iter().filter(|input| input.problem.is_some()).count();
    let lack = |number: u64, noun: &str, fate: &str| (number > 0).then(|| format!("{} {fate}", counted(number, noun)));
    let lacking = complete.communicators.len();
    [
        lack(unread as u64, "input", "left out"),
        lack(lacking as u64, "communicator", "with missing or repeated ranks"),
        lack(complete.dropped, "event", "not recorded"),
        lack(complete.untimed, "operation", "without a GPU time"),
        lack(complete.without_begin, "operation", "whose begin is not known"),
        lack(complete.unmatched, "operation", "not matched over all ranks"),
        lack(complete.unfinished, "operation", "never ended"),
        lack(complete.invisible, "call", "that NCCL reports no operation of"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns the places of the GPUs that others waited for, and their waits: the largest own delay cost first, and the
/// largest delay cost where these are equal or not known.
pub(crate) fn latest(late: &Late) -> Vec<(usize, &RankLate)> {
    let mut ranks: Vec<_> = late.ranks.iter().enumerate().filter(|(_, rank)| rank.cost_us > 0.0).collect();
    ranks.sort_by(|(_, a), (_, b)| {
        (b.own_us, b.cost_us).partial_cmp(&(a.own_us, a.cost_us)).unwrap_or(std::cmp::Ordering::Equal)
    });
    ranks
}

/// Returns the cost of communication in a step.
pub fn cost(report: &Report) -> String {
    let budget = match (report.budget.known(), report.budget.absent()) {
        (Some(budget), _) => budget,
        (None, reason) => return absent(reason),
    };
    let whole = &budget.whole;
    if whole.total_ns == 0 {
        return "Not known: no GPU has any time.".into();
    }
    let of_whole = |ns: u64| share(part_of(ns as f64, whole.total_ns as f64));
    let period = if budget.of_steps { "a step" } else { "the recording" };
    let mut parts = match (clocks::unknown_waits(report), waits_are_known(budget)) {
        (Some(error_us), _) => clocks::no_share(error_us),
        (None, true) => format!(
            "{} waiting for other ranks, {} transferring",
            of_whole(whole.waiting_ns),
            of_whole(whole.transferring_ns)
        ),
        (None, false) => format!(
            "how much of that is waiting for other ranks is not known, since {} of it is in operations whose ranks \
             could not all be compared",
            share(part_of(whole.not_compared_ns as f64, communication_ns(budget) as f64))
        ),
    };
    if let Some(micro) = report.steps.known().and_then(|steps| steps.micro).filter(|_| budget.of_steps) {
        parts += &format!(" (a step is {})", counted(micro, "micro-step"));
    }
    let (all, mine) = (time(mean_us(budget, whole.total_ns)), time(mean_us(budget, communication_ns(budget))));
    let text = if budget.with_kernels {
        format!(
            "Communication beside which nothing is computed takes {} of {period}, {mine} of {all}: {parts}. \
             Another {} of {period} is communication beside computation.",
            of_whole(communication_ns(budget)),
            of_whole(whole.overlapped_ns)
        )
    } else {
        format!(
            "NCCL is under way in {}{} of {period}, {mine} of {all}: {parts}. Whether computation runs beside it is not \
             known without kernels (--kernels).",
            if budget.timed < TIMED { "at least " } else { "" },
            of_whole(communication_ns(budget))
        )
    };
    text + &unlimited(report) + &without_kernel(budget) + &unplaced(budget)
}

/// Says how long a step would take if no transfer took time: a wait that hides computation costs nothing.
fn unlimited(report: &Report) -> String {
    let known = report.stragglers.known().and_then(|it| Some((it.unlimited_us?, it.step_us, late::period(it))));
    known.map_or_else(String::new, |(us, step, period)| {
        format!(" With a network without limits {period} would take {} instead of {}.", time(us.min(step)), time(step))
    })
}

/// Says in how many steps no kernel is known, which may be for lack of a record; empty if each has one.
pub(crate) fn without_kernel(budget: &Budget) -> String {
    budget.computed.filter(|computed| *computed < 1.0).map_or_else(String::new, |computed| {
        format!(
            " No kernel is known in {} of the steps: if the profiler recorded a part of the run alone, their \
             computation counts as none.",
            share(1.0 - computed)
        )
    })
}

/// Says how many operations are not in the budget; empty if all are.
pub(crate) fn unplaced(budget: &Budget) -> String {
    if budget.timed >= 1.0 {
        return String::new();
    }
    let without =
        format!(" {} of the operations have no begin and count as time without NCCL", share(1.0 - budget.timed));
    if budget.unplaced_us <= 0.0 {
        return without + ".";
    }
    let period = if budget.of_steps { "a step" } else { "in the recording" };
    format!("{without}, though a GPU takes at least {} {period} for them.", time(budget.unplaced_us))
}

/// Returns whether waits are known in more than half of the time in NCCL.
pub(crate) fn waits_are_known(budget: &Budget) -> bool {
    budget.whole.not_compared_ns.saturating_mul(2) <= communication_ns(budget)
}

/// Returns the time in NCCL of all GPUs without computation beside it, nanoseconds.
pub(crate) fn communication_ns(budget: &Budget) -> u64 {
    budget.whole.waiting_ns.saturating_add(budget.whole.transferring_ns)
}

/// Returns a time of all GPUs as the mean of a GPU and step, microseconds.
fn mean_us(budget: &Budget, ns: u64) -> f64 {
    ns as f64 / 1e3 / budget.gpus.len().max(1) as f64 / budget.steps.max(1) as f64
}

/// Returns the cost of communication with its verdict: by the time that the GPUs wait or transfer beside no
/// computation.
fn cost_answer(report: &Report) -> Verdicted {
    let text = cost(report);
    let Some(budget) = report.budget.known().filter(|budget| budget.whole.total_ns > 0) else {
        return Verdicted { text, ..Verdicted::default() };
    };
    let exposed = part_of(communication_ns(budget) as f64, budget.whole.total_ns as f64);
    let is_known = budget.with_kernels || exposed < MUCH;
    let verdict = match exposed {
        // without kernels, computation may run beside it
        _ if !is_known => AnswerVerdict::Look,
        share if share >= MOSTLY => AnswerVerdict::Bad,
        share if share >= MUCH => AnswerVerdict::Look,
        _ if budget.timed < TIMED => AnswerVerdict::Unknown,
        _ => AnswerVerdict::Fine,
    };
    let next = match verdict {
        AnswerVerdict::Fine | AnswerVerdict::Unknown => "",
        _ if budget.with_kernels => "--part dimensions says which communicators it is.",
        _ => "--kernels says how much of it runs beside computation.",
    };
    Verdicted { verdict, text, next: next.into(), ..Verdicted::default() }
}

/// Share of the operations with a GPU time from which on shares of a step are right.
const TIMED: f64 = 0.9;
/// Shares of a step without computation from which on communication is worth a look, and costs much.
const MUCH: f64 = 0.2;
const MOSTLY: f64 = 0.4;

/// Returns the names of a pair: `rank 2 to rank 5`.
pub(crate) fn pair(pair: &RankPair, names: &ReportNames<'_>) -> String {
    let name = |gpu: Option<usize>, rank: i32| gpu.map_or_else(|| format!("rank {rank}"), |gpu| names.gpu(gpu));
    format!("{} to {}", name(pair.from, pair.rank), name(pair.to, pair.peer))
}

#[cfg(test)]
mod tests;
