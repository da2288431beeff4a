//! Tables about time: steps, budget, phases, and late ranks.

use super::super::names::ReportNames;
use super::super::pace::Pace;
use super::super::sentences::{latest, unplaced};
use super::super::units::{UNKNOWN, bytes, count, counted, known as or_unknown, number, part_of, share, time};
use super::cell;
use super::fitted::{TableRoom, fitted, known, prose};
use super::questions::wait;
use crate::answer::{GpuBudget, Report, StepSource, Steps, Utilisation};
use common::report::TextTable;

/// Largest number of steps that are named in a line.
const NAMED: usize = 10;

/// Writes the steps: how they were found, their lengths, the slowest, outliers and shifts.
pub(super) fn steps(report: &Report, view: &TableRoom) -> String {
    let names = ReportNames::of(report);
    known(&report.steps, view, |steps| {
        let mut text = prose(&about(steps), view);
        let rows = steps.slowest.iter().map(|step| {
            let (gpu, function) =
                step.waited_for.as_ref().map_or((UNKNOWN.into(), UNKNOWN.into()), |(gpu, function)| {
                    (cell::name(&names.gpu(*gpu)), cell::name(function))
                });
            [
                count(step.step),
                time(step.length_us),
                or_unknown(step.wait_us, |us| cell::resolved(us, &report.complete)),
                gpu,
                function,
                or_unknown(step.cost_us, time),
            ]
        });
        let heading = ["slowest", "length", "mean wait", "most for", "in", "its cost"];
        text += &fitted(TextTable::new(heading, 0, &["its cost", "in"]), rows, view, ": --json has all that are kept");
        text
    })
}

fn about(steps: &Steps) -> String {
    let source = match &steps.source {
        StepSource::Region(name) => format!("from the regions {}", cell::name(name)),
        StepSource::File(name) => format!("from the times in {name}"),
        StepSource::Repetition => "from the exact repetition of operations".into(),
        StepSource::RepetitionWithoutCounts => "from the repetition of operations of varying counts".into(),
    };
    let micro = steps.micro.map_or_else(String::new, |micro| format!(" of {} each", counted(micro, "micro-step")));
    let mut text = format!(
        "{}{micro} behind {} of warm-up, {source}; {} of the operations lie in steps.",
        counted(steps.count, "step"),
        count(steps.warm_up),
        share(steps.covered)
    );
    if let Some(period) = steps.period {
        text += &format!(" A step has {} of a rank.", counted(period, "operation"));
    }
    text += &format!(
        "\nLength: mean {}, median {}, 99th percentile {}.",
        time(steps.mean_us),
        time(steps.median_us),
        time(steps.p99_us)
    );
    if !steps.outliers.is_empty() {
        let named: Vec<String> = steps.outliers.iter().take(NAMED).map(|step| count(*step)).collect();
        let dots = if steps.outliers.len() > NAMED { ", ..." } else { "" };
        text += &format!("\n{}: {}{dots}.", counted(steps.outliers.len() as u64, "outlier"), named.join(", "));
    }
    for shift in steps.shifts.iter().take(NAMED) {
        let (from, to) = (time(shift.from_us), time(shift.to_us));
        text += &format!("\nFrom step {} on, the median is {to} in place of {from}.", count(shift.step));
    }
    text
}

/// Writes the budget of each rank, most communication without computation beside it first.
pub(super) fn budget(report: &Report, view: &TableRoom) -> String {
    let names = ReportNames::of(report);
    known(&report.budget, view, |budget| {
        let steps = budget.steps.max(1) as f64;
        let mut gpus: Vec<(usize, &GpuBudget)> = budget.gpus.iter().enumerate().collect();
        gpus.sort_by_key(|(_, gpu)| std::cmp::Reverse(gpu.waiting_ns.saturating_add(gpu.transferring_ns)));
        let text = |ns: u64| time(ns as f64 / 1e3 / steps);
        let rows = gpus.iter().map(|(place, gpu)| {
            [
                cell::name(&names.gpu(*place)),
                text(gpu.total_ns),
                text(gpu.waiting_ns),
                text(gpu.transferring_ns),
                if budget.with_kernels { text(gpu.overlapped_ns) } else { UNKNOWN.into() },
                if budget.with_kernels { text(gpu.computing_ns) } else { UNKNOWN.into() },
                text(gpu.idle_ns),
                text(gpu.not_compared_ns),
            ]
        });
        let neither = if budget.with_kernels { "neither" } else { "no NCCL" };
        let of = if budget.of_steps { "step" } else { "recording" };
        let heading = ["rank", of, "waiting", "transferring", "beside computing", "computing", neither, "wait unknown"];
        let dispensable = ["wait unknown", of, "computing", "beside computing"];
        let mut text = match budget.overlap {
            Some(overlap) => format!("Computation runs beside NCCL for {} of NCCL's time.", share(overlap)),
            None => "Kernels of the computation are not known (--kernels).".into(),
        };
        text += &unplaced(budget);
        prose(&text, view) + &fitted(TextTable::new(heading, 1, &dispensable), rows, view, "")
    })
}

/// Writes the budget of each dimension of parallelism.
pub(super) fn dimensions(report: &Report, view: &TableRoom) -> String {
    known(&report.budget, view, |budget| {
        if budget.dimensions.is_empty() {
            return prose("No dimension has operations.", view);
        }
        let mean = |utilisation: Option<Utilisation>| cell::part(utilisation.map(|it| it.mean));
        let p95 = |utilisation: Option<Utilisation>| cell::part(utilisation.map(|it| it.p95));
        let rows = budget.dimensions.iter().map(|row| {
            [
                cell::name(&row.dimension),
                cell::origin(row.origin).to_owned(),
                time(row.time_us),
                or_unknown(row.wait_us, |us| cell::resolved(us, &report.complete)),
                bytes(row.bytes.round()),
                number(row.operations),
                mean(row.while_active),
                p95(row.while_active),
                mean(row.of_step),
                p95(row.of_step),
            ]
        });
        let heading = [
            "dimension",
            "from",
            "time",
            "wait",
            "bytes",
            "operations",
            "link while active",
            "p95 while active",
            "link of step",
            "p95 of step",
        ];
        let dispensable = ["p95 of step", "p95 while active", "link of step", "wait", "operations"];
        let period = if budget.of_steps { "Means of a rank and step." } else { "Means of a rank." };
        prose(period, view) + &fitted(TextTable::new(heading, 2, &dispensable), rows, view, "")
    })
}

/// Writes the windows between phases.
pub(super) fn phases(report: &Report, view: &TableRoom) -> String {
    known(&report.phases, view, |phases| {
        if phases.windows.is_empty() {
            return prose("No phase follows one of another dimension.", view);
        }
        let rows = phases.windows.iter().map(|window| {
            [
                cell::name(&window.from),
                cell::name(&window.to),
                count(window.count),
                time(window.mean_us),
                time(window.median_us),
                time(window.p95_us),
                share(window.negative),
            ]
        });
        let heading = ["from", "to", "windows", "mean", "median", "p95", "overlapping"];
        fitted(TextTable::new(heading, 2, &["mean", "windows"]), rows, view, "")
    })
}

/// Writes waits and delay costs of each rank, the ranks that others waited for first.
pub(super) fn late(report: &Report, view: &TableRoom) -> String {
    let (names, pace) = (ReportNames::of(report), Pace::of(report));
    known(&report.late, view, |late| {
        let mut ranks = latest(late);
        ranks.extend(late.ranks.iter().enumerate().filter(|(_, rank)| rank.cost_us <= 0.0));
        let rows = ranks.iter().map(|(place, rank)| {
            let cost = pace.a_step(rank.cost_us);
            [
                cell::name(&names.gpu(*place)),
                time(cost),
                cell::part(pace.share(cost)),
                time(pace.a_step(rank.own_us)),
                time(pace.a_step(rank.propagated_us)),
                count(rank.last),
                count(rank.calls),
                wait(report, rank.calls, rank.wait_us, pace.a_step(rank.wait_us)),
            ]
        });
        let heading = ["rank", "others wait", "share", "its own", "passed on", "last in", "calls", "waits itself"];
        let period = if pace.of_steps {
            "Times of a step; others' waits are summed."
        } else {
            "Times in all; others' waits are summed."
        };
        let about = format!(
            "{period} {} of {} have a last rank.",
            count(late.resolved),
            counted(late.compared, "compared operation")
        );
        prose(&about, view) + &fitted(TextTable::new(heading, 1, &["calls", "share", "last in"]), rows, view, "")
    })
}

/// Writes the operations that others waited for longest.
pub(super) fn worst(report: &Report, view: &TableRoom) -> String {
    let names = ReportNames::of(report);
    known(&report.late, view, |late| {
        if late.worst.is_empty() {
            return prose("In no operation did others wait for a last rank.", view);
        }
        let rows = late.worst.iter().map(|row| {
            let sequence = row.sequence.map_or_else(
                || UNKNOWN.into(),
                |(number, replay)| match replay {
                    0 => number.to_string(),
                    replay => format!("{number} replay {replay}"),
                },
            );
            let cause = match &row.before {
                Some((function, comm, us)) if row.propagated => {
                    format!("{} {} waited {}", cell::name(function), cell::name(&names.communicator(comm)), time(*us))
                }
                _ if row.propagated => "waited before".into(),
                _ => "own".into(),
            };
            [
                cell::name(&row.function),
                cell::name(&names.communicator(&row.comm)),
                sequence,
                bytes(row.bytes as f64),
                time(row.time_us),
                cell::name(&names.gpu(row.gpu)),
                cell::resolved(row.late_us, &report.complete),
                time(row.cost_us),
                part_of_all(late.ranks.get(row.gpu).map(|rank| rank.cost_us), row.cost_us),
                cause,
            ]
        });
        let heading =
            ["function", "communicator", "number", "bytes", "at", "last", "late by", "cost", "of its rank's", "cause"];
        let dispensable = ["of its rank's", "bytes", "number", "cause", "communicator"];
        fitted(TextTable::new(heading, 2, &dispensable), rows, view, ": --json has all that are kept")
    })
}

fn part_of_all(all: Option<f64>, part: f64) -> String {
    cell::part(all.filter(|&all| all > 0.0).map(|all| part_of(part, all)))
}
