//! Slow pairs, and the parts of the network that explain them.

use crate::names::ReportNames;
use crate::sentences::early::capital;
use crate::units::{count, counted, rate, share, time};
use report::answer::{Pairs, PartKind, RankPair, Report, SlowPart};
use std::collections::BTreeSet;

/// Most slow parts of the network that are named.
pub(super) const NAMED: usize = 3;

/// Names a part of the network.
pub(super) fn subject(part: &SlowPart, names: &ReportNames<'_>) -> String {
    let SlowPart { nodes, gpus, .. } = part;
    let name = match part.kind {
        PartKind::Pair | PartKind::Adapter => gpus.iter().map(|&gpu| names.gpu(gpu)).collect::<Vec<_>>().join(" to "),
        PartKind::Link | PartKind::Node => part.name.clone(),
    };
    let at = |join: &str| nodes.join(join);
    match part.kind {
        PartKind::Pair if part.inside => format!("the pair {name} (on {})", nodes.first().map_or("", |it| it)),
        PartKind::Pair => format!("the pair {name} ({})", at(" to ")),
        PartKind::Link => format!("the link between {name}"),
        PartKind::Adapter if part.inside => format!("{name}'s links on {}", at("")),
        PartKind::Adapter => format!("{name}'s adapter (on {})", at("")),
        PartKind::Node if part.inside => format!("the inside of {name}"),
        PartKind::Node => format!("the network of {name}"),
    }
}

/// Says how slow a part of the network is.
pub(crate) fn slow_part(part: &SlowPart, names: &ReportNames<'_>) -> String {
    let (reached, others) = (rate(part.rate), rate(part.median));
    let of = share(part.rate / part.median);
    let pairs = match part.pairs {
        1 => format!("reaches {reached}"),
        _ if part.pairs == part.of => format!("its {} reach {reached}", counted(part.pairs, "pair")),
        _ => format!("{} of its {} reach {reached}", count(part.pairs), counted(part.of, "pair")),
    };
    let colon = if part.pairs == 1 { " " } else { ": " };
    format!("{}{colon}{pairs}, {of} of the others' {others}.", capital(&subject(part, names)))
}

/// Says what a step gains if a slow part of the network is like the others.
fn without(part: &SlowPart, step_us: Option<f64>) -> String {
    let Some((gain, step)) = part.gain_us.map(|gain| gain.max(0.0)).zip(step_us) else { return String::new() };
    format!(
        " Like the others, a step would take {} instead of {} ({}).",
        time(step - gain),
        time(step),
        share(gain / step)
    )
}

/// Says which pairs are slow, and which part of the network explains them.
pub(super) fn pairs(report: &Report, names: &ReportNames<'_>, are_named: bool) -> String {
    let Some(pairs) = report.pairs.known() else { return "Pairs of ranks are not known.".into() };
    let compared = pairs.rows.iter().filter(|pair| pair.is_judged()).count();
    let mut said: Vec<String> = vec![];
    if pairs.slow.is_empty() {
        said.extend(match compared {
            0 if are_named => None,
            0 => Some("No pair of ranks could be compared with others of its class.".to_owned()),
            _ => Some(format!(
                "None of {} is slow beside others of its class.",
                counted(compared as u64, "compared pair")
            )),
        });
    } else {
        let step_us = report.stragglers.known().map(|of| of.step_us).filter(|us| *us > 0.0);
        let named = pairs.slow.iter().take(NAMED);
        said.extend(named.map(|part| slow_part(part, names) + &without(part, step_us)));
        said.extend(more(pairs.slow.len(), "slow part", "pairs"));
        let is_unknown = report.stragglers.absent().is_some();
        said.extend(is_unknown.then(|| "Late ranks may send more slowly, and are not known here.".to_owned()));
    }
    said.extend(of_late_ranks(pairs, names));
    said.join(" ")
}

/// Says which pairs are as slow as a slow pair, and have a late sender.
pub(crate) fn of_late_ranks(pairs: &Pairs, names: &ReportNames<'_>) -> Option<String> {
    let rows: Vec<&RankPair> = pairs.rows.iter().filter(|pair| pair.of_late_rank).collect();
    let part = |row: &RankPair| Some((row.judged()?, row.median.filter(|median| *median > 0.0)?));
    let known = rows.iter().filter_map(|row| part(row));
    let (reached, others) = known.min_by(|one, other| (one.0 / one.1).total_cmp(&(other.0 / other.1)))?;
    let senders: BTreeSet<usize> = rows.iter().filter_map(|row| row.from).collect();
    let named: Vec<String> = senders.iter().take(NAMED).map(|&gpu| names.gpu(gpu)).collect();
    let dots = if senders.len() > named.len() { ", ..." } else { "" };
    let (are, slowest) = if rows.len() == 1 { ("is", "") } else { ("are", "the slowest ") };
    let (sender, is) = if senders.len() == 1 { ("sender", "is") } else { ("senders", "are") };
    Some(format!(
        "{} {are} not judged, {slowest}with {}, {} of the others' {}: the {sender} ({}{dots}) {is} late, and late ranks \
         may send more slowly.",
        counted(rows.len() as u64, "pair"),
        rate(reached),
        share(reached / others),
        rate(others),
        named.join(", ")
    ))
}

/// Says how many more there are than are named.
pub(super) fn more(all: usize, noun: &str, part: &str) -> Option<String> {
    let more = all.checked_sub(NAMED).filter(|more| *more > 0)?;
    Some(format!("{} more: --part {part}.", counted(more as u64, noun)))
}
