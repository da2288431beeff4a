//! What communication costs a step.

use super::super::units::{counted, part_of, share, time};
use super::early::absent;
use super::late;
use report::analysis::verdict::{communication_ns, of_cost, shares_hold, unknown_waits, waits_are_known};
use report::answer::{AnswerVerdict, Budget, Report, Verdicted};

/// Returns the answer with its verdict.
pub(super) fn answer(report: &Report) -> Verdicted {
    let budget = report.budget.known();
    let verdict = budget.and_then(of_cost).unwrap_or_default();
    let next = match verdict {
        AnswerVerdict::Fine | AnswerVerdict::Unknown => "",
        _ if budget.is_some_and(|budget| budget.with_kernels) => "--part dimensions says which communicators it is.",
        _ => "--kernels says how much of it runs beside computation.",
    };
    Verdicted { verdict, text: cost(report), next: next.into(), ..Verdicted::default() }
}

/// Returns the cost of communication in a step.
fn cost(report: &Report) -> String {
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
    let mut parts = match (unknown_waits(report), waits_are_known(budget)) {
        (Some(error_us), _) => no_share(error_us),
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
            if !shares_hold(budget) { "at least " } else { "" },
            of_whole(communication_ns(budget))
        )
    };
    text + &unlimited(report) + &without_kernel(budget) + &unplaced(budget)
}

/// Says that the share of waits is not known, and how it would be.
pub(super) fn no_share(error_us: f64) -> String {
    format!(
        "how much of that is waiting for other ranks is not known, since waits between nodes are known to {} an \
         operation (an all-reduce over all nodes a step, of a few bytes, lets the report compare their clocks)",
        time(error_us)
    )
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

/// Returns a time of all GPUs as the mean of a GPU and step, microseconds.
fn mean_us(budget: &Budget, ns: u64) -> f64 {
    ns as f64 / 1e3 / budget.gpus.len().max(1) as f64 / budget.steps.max(1) as f64
}
