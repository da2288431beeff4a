//! Tables about what ranks cost: own times, and pauses.

use super::super::names::ReportNames;
use super::super::units::{count, counted, known as or_unknown, part_of, share, time};
use super::cell;
use super::fitted::{TableRoom, fitted, known, prose};
use crate::answer::{CostsWhen, RankGroup, Report, Straggler, Stragglers};
use common::report::TextTable;

/// Writes those that stand out, for the first answer.
pub(super) fn found(report: &Report, view: &TableRoom) -> String {
    let Some(stragglers) = report.stragglers.known().filter(|it| !it.found.is_empty()) else {
        return String::new();
    };
    let names = ReportNames::of(report);
    let rows = stragglers.found.iter().map(|it| {
        [
            cell::name(&name(&names, it)),
            time(it.own_us),
            time(it.excess_us),
            or_unknown(it.gain_us, time),
            cell::part(it.gain_us.map(|gain| part_of(gain.max(0.0), stragglers.step_us))),
            when(it.when),
        ]
    });
    let heading = ["slow", "own time", "longer by", "gain", "of a step", "when"];
    fitted(TextTable::new(heading, 1, &["when", "own time"]), rows, view, ": --part ranks")
}

fn name(names: &ReportNames<'_>, it: &Straggler) -> String {
    match (it.group, &it.gpus[..]) {
        (RankGroup::Stage, [gpu]) => names.gpu(*gpu),
        _ => it.name.clone(),
    }
}

fn when(when: CostsWhen) -> String {
    match when {
        CostsWhen::Always => "always".into(),
        CostsWhen::Since(step) => format!("since {step}"),
        CostsWhen::Sometimes { steps, .. } => counted(steps, "step"),
    }
}

/// Writes the own times of all ranks, the longest beyond those of the peers first.
pub(super) fn ranks(report: &Report, view: &TableRoom) -> String {
    let names = ReportNames::of(report);
    known(&report.stragglers, view, |stragglers| {
        let mut order: Vec<usize> = (0..stragglers.ranks.len()).collect();
        let excess = |place: &usize| stragglers.ranks[*place].excess_us.unwrap_or(f64::MIN);
        order.sort_by(|one, other| excess(other).total_cmp(&excess(one)));
        let rows = order.iter().map(|&place| {
            let rank = &stragglers.ranks[place];
            [
                cell::name(&names.gpu(place)),
                time(rank.own_us),
                or_unknown(rank.excess_us, time),
                or_unknown(rank.z, |z| format!("{z:.1}")),
                or_unknown(rank.gain_us, time),
                count(rank.peers),
            ]
        });
        let heading = ["rank", "own time", "beyond peers", "z", "gain", "peers"];
        prose(&about(stragglers), view) + &fitted(TextTable::new(heading, 1, &["peers"]), rows, view, "")
    })
}

fn about(stragglers: &Stragglers) -> String {
    let period = if stragglers.steps > 0 { "a step" } else { "the recording" };
    let mut text = format!(
        "Own time outside of NCCL, median of {period}, and its part beyond the median of the peers: the ranks with the \
         same number in the last column, which run the same program. Played again unchanged, {period} takes {} instead \
         of {}.",
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
pub(super) fn events(report: &Report, view: &TableRoom) -> String {
    let names = ReportNames::of(report);
    known(&report.stragglers, view, |stragglers| {
        if stragglers.events.is_empty() {
            return prose("No rank paused by itself.", view);
        }
        let rows = stragglers
            .events
            .iter()
            .map(|event| [cell::name(&names.gpu(event.gpu)), count(event.step), time(event.excess_us)]);
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
        prose(&about, view) + &fitted(TextTable::new(["rank", "step", "longer by"], 1, &[]), rows, view, "")
    })
}
