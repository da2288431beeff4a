//! The tables of the chapters, each with the sentences above it.

use super::super::names::ReportNames;
use super::super::sentences::{
    about_breakdown, about_conditions, about_findings, about_log, about_tags, fallback, of_late_ranks,
    slow_communicator, slow_part, unplaced, without_kernel,
};
use super::super::units::{count, counted, part_of, share, time};
use super::super::{Chapter, tables};
use super::cell;
use super::fitted::{TableRoom, chapter, known, prose};
use super::transfers;
use crate::analysis::verdict::Pace;
use crate::answer::{Behind, Report, StepSource, Steps, Stragglers};
use std::slice::from_ref;

/// Largest number of steps that are named in a line.
const NAMED: usize = 10;

/// Writes tables of the report, each with a heading. Of a table with more than `top` rows, the line below says how many
/// more there are.
pub fn chapters(report: &Report, width: usize, top: usize, chapters: &[Chapter]) -> String {
    let (names, view) = (&ReportNames::of(report), TableRoom { width, top });
    let table = |chapter: &Chapter| match chapter {
        Chapter::Complete => complete(report, names, &view),
        Chapter::Steps => steps(report, names, &view),
        Chapter::Budget => budget(report, names, &view),
        Chapter::Breakdown => breakdown(report, names, &view),
        Chapter::Dimensions => dimensions(report, &view),
        Chapter::Phases => phases(report, &view),
        Chapter::Ranks => ranks(report, names, &view),
        Chapter::Events => events(report, names, &view),
        Chapter::Conditions => conditions(report, names, &view),
        Chapter::Findings => findings(report, &view),
        Chapter::Late => late(report, names, &view),
        Chapter::Worst => worst(report, names, &view),
        Chapter::Speed => speed(report, names, &view),
        Chapter::Pairs => pairs(report, names, &view),
        Chapter::States => transfers::states(report, names, &view),
        Chapter::Transfers => transfers::of_operations(report, names, &view),
        Chapter::Communicators => communicators(report, names, &view),
        Chapter::Tags => tags(report, &view),
        Chapter::Nccl => choices(report, names, &view),
        Chapter::Unfinished => unfinished(report, names, &view),
    };
    chapters.iter().map(|chapter| format!("\n{}\n{}", chapter.title(), table(chapter))).collect()
}

/// Writes inputs that were left out, communicators that lack ranks, and remarks.
fn complete(report: &Report, names: &ReportNames<'_>, view: &TableRoom) -> String {
    let complete = &report.complete;
    let mut text = String::new();
    let problems: Vec<&str> = complete.inputs.iter().filter_map(|input| input.problem.as_deref()).collect();
    for problem in problems.iter().take(view.top) {
        text += &prose(&format!("left out: {problem}"), view);
    }
    if problems.len() > view.top {
        text += &prose(&format!("{} more are left out", count((problems.len() - view.top) as u64)), view);
    }
    for note in &complete.notes {
        text += &prose(&format!("note: {note}"), view);
    }
    text += &prose(
        &format!(
            "{} matched over all ranks, {} not; {} compared; {}.",
            counted(complete.matched, "operation"),
            count(complete.unmatched),
            count(complete.compared),
            counted(complete.nodes, "machine")
        ),
        view,
    );
    if !complete.communicators.is_empty() {
        text += &chapter(&tables::lacking(complete, names), view, "");
    }
    text
}

/// Writes the steps: how they were found, their lengths, the slowest, outliers and shifts.
fn steps(report: &Report, names: &ReportNames<'_>, view: &TableRoom) -> String {
    known(&report.steps, view, |steps| {
        let mut text = prose(&about_steps(steps), view);
        text += &chapter(&tables::slowest(steps, report, names), view, ": --json has all that are kept");
        text
    })
}

fn about_steps(steps: &Steps) -> String {
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

/// Writes the budget of each rank.
fn budget(report: &Report, names: &ReportNames<'_>, view: &TableRoom) -> String {
    known(&report.budget, view, |budget| {
        let mut text = match budget.overlap {
            Some(overlap) => format!("Computation runs beside NCCL for {} of NCCL's time.", share(overlap)),
            None => "Kernels of the computation are not known (--kernels).".into(),
        };
        text += &without_kernel(budget);
        text += &unplaced(budget);
        prose(&text, view) + &chapter(&tables::by_gpu(budget, names, false), view, "")
    })
}

/// Writes the breakdown of the time.
fn breakdown(report: &Report, names: &ReportNames<'_>, view: &TableRoom) -> String {
    known(&report.budget, view, |budget| {
        let parts = tables::BreakdownParts::of(budget);
        prose(&about_breakdown(report, budget, parts.counted.len()), view)
            + &chapter(&tables::breakdown(&parts, names), view, "")
    })
}

/// Writes the operations of each dimension of parallelism.
fn dimensions(report: &Report, view: &TableRoom) -> String {
    known(&report.budget, view, |budget| {
        if budget.dimensions.is_empty() {
            return prose("No dimension has operations.", view);
        }
        let period = if budget.of_steps { "Means of a rank and step." } else { "Means of a rank." };
        prose(period, view) + &chapter(&tables::dimensions(budget, report), view, "")
    })
}

/// Writes the windows between phases.
fn phases(report: &Report, view: &TableRoom) -> String {
    known(&report.phases, view, |phases| {
        if phases.windows.is_empty() {
            return prose("No phase follows one of another dimension.", view);
        }
        chapter(&tables::windows(&phases.windows), view, "")
    })
}

/// Writes the own times of all ranks.
fn ranks(report: &Report, names: &ReportNames<'_>, view: &TableRoom) -> String {
    known(&report.stragglers, view, |stragglers| {
        prose(&about_own_times(stragglers), view) + &chapter(&tables::own_times(stragglers, names), view, "")
    })
}

fn about_own_times(stragglers: &Stragglers) -> String {
    let period = if stragglers.steps > 0 { "a step" } else { "the recording" };
    let mut text = format!(
        "Own time outside of NCCL, median of {period}, and its part beyond the median of the peers: the ranks with the \
         same number under peer group, which run the same program. Played again unchanged, {period} takes {} instead of {}.",
        time(stragglers.reenacted_us),
        time(stragglers.step_us)
    );
    if let Some(jitter) = stragglers.jitter_us {
        text += &format!(
            " With each rank at the median of its peers, it would take {} less ({}).",
            time(jitter.max(0.0)),
            share(part_of(jitter.max(0.0), stragglers.step_us))
        );
    }
    text
}

/// Writes the pauses.
fn events(report: &Report, names: &ReportNames<'_>, view: &TableRoom) -> String {
    known(&report.stragglers, view, |stragglers| {
        if stragglers.events.is_empty() {
            return prose("No rank paused by itself.", view);
        }
        let shown = stragglers.events.len() as u64;
        let rest = stragglers.event_count.saturating_sub(shown);
        let about = match rest {
            0 => format!("{} on {}.", counted(shown, "pause"), counted(stragglers.event_ranks, "rank")),
            _ => format!(
                "{} on {}; the {} longest are here.",
                counted(stragglers.event_count, "pause"),
                counted(stragglers.event_ranks, "rank"),
                count(shown)
            ),
        };
        prose(&about, view) + &chapter(&tables::events(stragglers, names), view, "")
    })
}

/// Writes the conditions of each rank.
fn conditions(report: &Report, names: &ReportNames<'_>, view: &TableRoom) -> String {
    known(&report.conditions, view, |conditions| {
        prose(&about_conditions(conditions), view) + &chapter(&tables::conditions(conditions, report, names), view, "")
    })
}

/// Writes the findings of a watch.
fn findings(report: &Report, view: &TableRoom) -> String {
    known(&report.findings, view, |findings| {
        let mut text = prose(&about_findings(findings), view);
        let causes = findings.rows.iter().filter(|row| row.is_cause());
        causes.take(view.top).for_each(|row| text += &prose(&row.text, view));
        if !findings.rows.is_empty() {
            text += &chapter(&tables::findings(findings), view, "");
        }
        text
    })
}

/// Writes waits and delay costs of each rank.
fn late(report: &Report, names: &ReportNames<'_>, view: &TableRoom) -> String {
    known(&report.late, view, |late| {
        let period = if Pace::of(report).of_steps { "Times of a step" } else { "Times in all" };
        let about = format!(
            "{period}; a delay cost is the sum of the others' waits. {} of {} have a last rank.",
            count(late.resolved),
            counted(late.compared, "compared operation")
        );
        prose(&about, view) + &chapter(&tables::waits(late, report, names), view, "")
    })
}

/// Writes the operations that others waited for longest.
fn worst(report: &Report, names: &ReportNames<'_>, view: &TableRoom) -> String {
    known(&report.late, view, |late| {
        if late.worst.is_empty() {
            return prose("In no operation did others wait for a last rank.", view);
        }
        chapter(&tables::worst(late, report, names), view, ": --json has all that are kept")
    })
}

/// Writes times and rates by function, communicator and size.
fn speed(report: &Report, names: &ReportNames<'_>, view: &TableRoom) -> String {
    known(&report.speed, view, |speed| {
        if speed.rows.is_empty() {
            return prose("No operation was matched over its ranks.", view);
        }
        let text = match &speed.link {
            Some(link) => format!("The link's rate is from {link}."),
            None => "The link's rate is not known (--link-gbps).".into(),
        };
        let slow = speed.slow.iter().take(view.top).map(|slow| prose(&slow_communicator(slow, names), view));
        prose(&text, view) + &slow.collect::<String>() + &chapter(&tables::speed(speed, report, names), view, "")
    })
}

/// Writes the pairs.
fn pairs(report: &Report, names: &ReportNames<'_>, view: &TableRoom) -> String {
    known(&report.pairs, view, |pairs| {
        if pairs.rows.is_empty() {
            return prose("No pair of ranks has transfers or messages.", view);
        }
        let slow = pairs.slow.iter().take(view.top).map(|part| prose(&slow_part(part, names), view));
        let of_late = of_late_ranks(pairs, names).map(|of_late| prose(&of_late, view));
        slow.chain(of_late).collect::<String>() + &chapter(&tables::pairs(pairs, report, names), view, "")
    })
}

/// Writes the communicators.
fn communicators(report: &Report, names: &ReportNames<'_>, view: &TableRoom) -> String {
    known(&report.communicators, view, |part| chapter(&tables::communicators(part, names), view, ""))
}

/// Writes the operations by tag.
fn tags(report: &Report, view: &TableRoom) -> String {
    known(&report.tags, view, |tags| {
        prose(&about_tags(tags), view) + &chapter(&tables::tags(tags), view, ": --json has all")
    })
}

/// Writes NCCL's own choices: fallbacks, and the communicators of its log.
fn choices(report: &Report, names: &ReportNames<'_>, view: &TableRoom) -> String {
    known(&report.choices, view, |choices| {
        let mut text = prose(&about_log(choices), view);
        for finding in choices.findings.iter().take(view.top) {
            text += &prose(&fallback(finding, names), view);
        }
        let more = choices.findings.len().saturating_sub(view.top);
        if more > 0 {
            text += &prose(&format!("{} more: --json has all.", counted(more as u64, "fallback")), view);
        }
        if !choices.communicators.is_empty() {
            text += &chapter(&tables::choices(choices, names), view, "");
        }
        text
    })
}

/// Writes the communicators that are not over, each with where its ranks stand.
fn unfinished(report: &Report, names: &ReportNames<'_>, view: &TableRoom) -> String {
    known(&report.unfinished, view, |unfinished| {
        let mut text = prose(&format!("{} over.", counted(unfinished.over, "communicator")), view);
        for behind in unfinished.communicators.iter().take(view.top) {
            text += &prose(&about_behind(behind, names), view);
            text += &chapter(&tables::whereabouts(from_ref(behind), names), view, "");
        }
        let more = unfinished.communicators.len().saturating_sub(view.top);
        if more > 0 {
            text += &prose(&format!("{} more communicators are not over", count(more as u64)), view);
        }
        text
    })
}

fn about_behind(behind: &Behind, names: &ReportNames<'_>) -> String {
    let mut text = format!("Communicator {} is not over.", names.communicator(&behind.comm));
    if !behind.behind.is_empty() {
        text += &format!(" Behind: rank {}.", behind.behind);
    }
    if let Some(differs) = &behind.differs {
        let ((one, its), (other, others)) = (&differs.one, &differs.other);
        text +=
            &format!(" Operation {} differs: rank {one} has {its}, rank {other} has {others}.", count(differs.order));
    }
    text
}
