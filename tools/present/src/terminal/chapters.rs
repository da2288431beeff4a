//! The tables of the chapters, each with the sentences above it.

use super::super::names::ReportNames;
use super::super::sentences::{
    about_breakdown, about_conditions, about_findings, about_log, about_tags, fallback, of_late_ranks, pair_states,
    slow_communicator, slow_part, unplaced, without_kernel,
};
use super::super::units::{count, counted, part_of, share, time};
use super::super::{Chapter, tables};
use super::fitted::{TableRoom, cell_name, chapter, known, prose};
use report::analysis::verdict::Pace;
use report::answer::{Behind, Budget, Late, Part, Report, StepSource, Steps, Stragglers};
use std::slice::from_ref;

/// Largest number of steps that are named in a line.
const NAMED: usize = 10;
/// Largest number of pairs whose states are described in words.
const IN_WORDS: usize = 3;

/// Writes tables of the report, each with a heading. Of a table with more than `top` rows, the line below says how many
/// more there are.
pub fn chapters(report: &Report, width: usize, top: usize, chapters: &[Chapter]) -> String {
    let (names, view) = (&ReportNames::of(report), &TableRoom { width, top });
    let table = |of: &Chapter| match of {
        Chapter::Complete => complete(report, names, view),
        Chapter::Steps => known(&report.steps, view, |steps| {
            prose(&about_steps(steps), view)
                + &chapter(&tables::slowest(steps, report, names), view, ": --json has all that are kept")
        }),
        Chapter::Budget => known(&report.budget, view, |budget| {
            prose(&about_budget(budget), view) + &chapter(&tables::by_gpu(budget, names, false), view, "")
        }),
        Chapter::Breakdown => known(&report.budget, view, |budget| {
            let parts = tables::BreakdownParts::of(budget);
            prose(&about_breakdown(report, budget, parts.counted.len()), view)
                + &chapter(&tables::breakdown(&parts, names), view, "")
        }),
        Chapter::Dimensions => rows(
            &report.budget,
            |budget| budget.dimensions.is_empty(),
            view,
            |budget| {
                let period = if budget.of_steps { "Means of a rank and step." } else { "Means of a rank." };
                prose(period, view) + &chapter(&tables::dimensions(budget, report), view, "")
            },
            "No dimension has operations.",
        ),
        Chapter::Phases => rows(
            &report.phases,
            |phases| phases.windows.is_empty(),
            view,
            |phases| chapter(&tables::windows(&phases.windows), view, ""),
            "No phase follows one of another dimension.",
        ),
        Chapter::Ranks => known(&report.stragglers, view, |stragglers| {
            prose(&about_own_times(stragglers), view) + &chapter(&tables::own_times(stragglers, names), view, "")
        }),
        Chapter::Events => rows(
            &report.stragglers,
            |stragglers| stragglers.events.is_empty(),
            view,
            |stragglers| {
                prose(&about_events(stragglers), view) + &chapter(&tables::events(stragglers, names), view, "")
            },
            "No rank paused by itself.",
        ),
        Chapter::Conditions => known(&report.conditions, view, |conditions| {
            let table = tables::conditions(conditions, report, names);
            prose(&about_conditions(conditions), view) + &chapter(&table, view, "")
        }),
        Chapter::Findings => findings(report, view),
        Chapter::Late => known(&report.late, view, |late| {
            prose(&about_waits(report, late), view) + &chapter(&tables::waits(late, report, names), view, "")
        }),
        Chapter::Worst => rows(
            &report.late,
            |late| late.worst.is_empty(),
            view,
            |late| chapter(&tables::worst(late, report, names), view, ": --json has all that are kept"),
            "In no operation did others wait for a last rank.",
        ),
        Chapter::Speed => rows(
            &report.speed,
            |speed| speed.rows.is_empty(),
            view,
            |speed| {
                let text = match &speed.link {
                    Some(link) => format!("The link's rate is from {link}."),
                    None => "The link's rate is not known (--link-gbps).".into(),
                };
                let slow = speed.slow.iter().take(top).map(|slow| prose(&slow_communicator(slow, names), view));
                prose(&text, view)
                    + &slow.collect::<String>()
                    + &chapter(&tables::speed(speed, report, names), view, "")
            },
            "No operation was matched over its ranks.",
        ),
        Chapter::Pairs => rows(
            &report.pairs,
            |pairs| pairs.rows.is_empty(),
            view,
            |pairs| {
                let slow = pairs.slow.iter().take(top).map(|part| prose(&slow_part(part, names), view));
                let of_late = of_late_ranks(pairs, names).map(|of_late| prose(&of_late, view));
                slow.chain(of_late).collect::<String>() + &chapter(&tables::pairs(pairs, report, names), view, "")
            },
            "No pair of ranks has transfers or messages.",
        ),
        Chapter::States => rows(
            &report.transfers,
            |transfers| transfers.states.is_empty(),
            view,
            |transfers| {
                let longest = transfers.longest().into_iter().take(IN_WORDS.min(top));
                let text = longest.map(|pair| prose(&pair_states(pair, names), view));
                text.collect::<String>() + &chapter(&tables::states(transfers, names), view, "")
            },
            "NCCL reported no transfer with all of its states.",
        ),
        Chapter::Transfers => rows(
            &report.transfers,
            |transfers| transfers.operations.is_empty(),
            view,
            |transfers| chapter(&tables::transfers(transfers, names), view, ""),
            "No operation sent over the network.",
        ),
        Chapter::Communicators => known(&report.communicators, view, |communicators| {
            chapter(&tables::communicators(communicators, names), view, "")
        }),
        Chapter::Tags => known(&report.tags, view, |tags| {
            prose(&about_tags(tags), view) + &chapter(&tables::tags(tags), view, ": --json has all")
        }),
        Chapter::Nccl => choices(report, names, view),
        Chapter::Unfinished => unfinished(report, names, view),
    };
    chapters.iter().map(|of| format!("\n{}\n{}", of.title(), table(of))).collect()
}

/// Writes a part, or says that it has no rows.
fn rows<T>(
    part: &Part<T>,
    is_empty: fn(&T) -> bool,
    view: &TableRoom,
    text: impl Fn(&T) -> String,
    none: &str,
) -> String {
    known(part, view, |part| if is_empty(part) { prose(none, view) } else { text(part) })
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

fn about_steps(steps: &Steps) -> String {
    let source = match &steps.source {
        StepSource::Region(name) => format!("from the regions {}", cell_name(name)),
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

fn about_budget(budget: &Budget) -> String {
    let text = match budget.overlap {
        Some(overlap) => format!("Computation runs beside NCCL for {} of NCCL's time.", share(overlap)),
        None => "Kernels of the computation are not known (--kernels).".into(),
    };
    text + &without_kernel(budget) + &unplaced(budget)
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

fn about_events(stragglers: &Stragglers) -> String {
    let [all, shown] = [stragglers.event_count, stragglers.events.len() as u64];
    let ranks = counted(stragglers.event_ranks, "rank");
    match all > shown {
        false => format!("{} on {ranks}.", counted(shown, "pause")),
        true => format!("{} on {ranks}; the {} longest are here.", counted(all, "pause"), count(shown)),
    }
}

fn about_waits(report: &Report, late: &Late) -> String {
    format!(
        "{}; a delay cost is the sum of the others' waits. {} of {} have a last rank.",
        if Pace::from_report(report).of_steps { "Times of a step" } else { "Times in all" },
        count(late.resolved),
        counted(late.compared, "compared operation")
    )
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
