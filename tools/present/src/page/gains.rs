//! What a step gains: a bar for each rank or group that stands out, and own excess by node.

use super::super::names::ReportNames;
use super::super::sentences::causes;
use super::super::units::{TimeUnit, UNKNOWN, count, counted, known, part_of, share, time};
use super::draw::{Area, Chart, Px, Scale, across, bars_beside, margin};
use super::strip::{SMALL, Strip};
use super::table::PageTable;
use maud::{Markup, Render, html};
use report::answer::{CostsWhen, LateCause, RankGroup, Straggler, Stragglers};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of bars.
const TOP: usize = 16;
/// Height of a bar with the room around it.
const ROW: f64 = 26.0;

/// A bar: name, gain in microseconds, whether it stands out.
type GainBar = (String, f64, bool);

/// Draws the gains of what stands out, and of other ranks whose gain is known.
pub(super) fn ranks(stragglers: &Stragglers, names: &ReportNames<'_>) -> Markup {
    let members: BTreeSet<usize> = stragglers.found.iter().flat_map(|one| &one.gpus).copied().collect();
    let found = stragglers.found.iter().filter_map(|one| Some((one.name.clone(), one.gain_us?, true)));
    let ranks = stragglers.ranks.iter().enumerate().filter(|(place, _)| !members.contains(place));
    let others = ranks.filter_map(|(place, rank)| Some((names.gpu(place), rank.gain_us?, false)));
    let mut bars: Vec<GainBar> = found.chain(others).filter(|(_, gain, _)| gain.is_finite()).collect();
    bars.sort_by(|a, b| (b.2, b.1).partial_cmp(&(a.2, a.1)).unwrap_or(std::cmp::Ordering::Equal));
    let further = bars.len().saturating_sub(TOP);
    bars.truncate(TOP);
    if bars.is_empty() {
        return html! {
            h3 { "What a step gains" }
            p { "No rank stands out among its peers." }
            (table(stragglers, names))
        };
    }
    let most = bars.iter().map(|(_, gain, _)| *gain).fold(0.0, f64::max);
    let unit = TimeUnit::of(most);
    let texts: Vec<String> = bars.iter().map(|(name, ..)| name.clone()).chain(names.all().iter().cloned()).collect();
    let left = margin(&texts);
    let area = Area { left, top: 10.0, right: 700.0, bottom: 10.0 + ROW * bars.len() as f64 };
    let x = Scale::linear([0.0, most / unit.us], [area.left, area.right]);
    let texts = texts.get(..bars.len()).unwrap_or_default();
    let facts = |us: f64| format!("{}, {} of a step", time(us), share(part_of(us, stragglers.step_us)));
    let drawing = html! {
        (across(area, &x, &format!("gain of a step, {}", unit.name), x.numbers(8)))
        (bars_beside(area, texts, ROW))
        @for (place, (name, gain, is_found)) in bars.iter().enumerate() {
            @let y = area.top + ROW * (place as f64 + 0.16);
            @let end = x.at(gain.max(0.0) / unit.us);
            rect.column.marked[*is_found] x=(Px(area.left)) y=(Px(y)) width=(Px((end - area.left).max(0.6)))
                height=(Px(ROW * 0.68)) { title { (name) ": " (facts(*gain)) } }
            text x=(Px(end + 6.0)) y=(Px(y + ROW * 0.34 + 4.0)) { (facts(*gain)) }
        }
    };
    Chart {
        id: "gain-chart",
        title: "What a step gains",
        look: "Look for long bars, since a step would be shorter by that much if the rank, node or stage were like its \
               peers.",
        description: format!(
            "Gain of a step by {}: {}.",
            counted(bars.len() as u64, "rank or group"),
            bars.iter()
                .take(3)
                .map(|(name, gain, _)| format!("{name} {}", facts(*gain)))
                .collect::<Vec<_>>()
                .join("; ")
        ),
        size: [880.0, area.bottom + 46.0],
        key: html! {},
        drawing,
        notes: html! {
            p {
                "Gains do not add up: two ranks that are late at one time cost a step once. Strong bars stand out \
                 among their peers."
                @if further > 0 { " The table has " (counted(further as u64, "further rank")) "." }
            }
        },
        below: html! { (table(stragglers, names)) },
    }
    .render()
}

fn table(stragglers: &Stragglers, names: &ReportNames<'_>) -> PageTable {
    let row = |one: &Straggler| {
        let gpus: Vec<String> = one.gpus.iter().take(8).map(|gpu| names.gpu(*gpu)).collect();
        let more = if one.gpus.len() > gpus.len() { ", …" } else { "" };
        vec![
            one.name.clone(),
            group(one.group).to_owned(),
            format!("{}{more}", gpus.join(", ")),
            when(&one.when),
            why(one.why).to_owned(),
            cause(one),
            known(one.gain_us, time),
            known(one.gain_us.filter(|_| stragglers.step_us > 0.0), |us| share(us / stragglers.step_us)),
            time(one.own_us),
            time(one.excess_us),
            count(one.peers),
            format!("{:.1}", one.z),
        ]
    };
    let columns =
        ["name", "what", "GPUs", "when", "why", "cause", "gain", "of a step", "own time", "beyond peers", "peers", "z"];
    PageTable::new("Ranks and groups that stand out", &columns, 6, stragglers.found.iter().map(row)).without_unknown()
}

fn group(group: RankGroup) -> &'static str {
    match group {
        RankGroup::Rank => "rank",
        RankGroup::Node => "node",
        RankGroup::Stage => "stage",
    }
}

fn when(when: &CostsWhen) -> String {
    match when {
        CostsWhen::Always => "in all steps".into(),
        CostsWhen::Since(step) => format!("from step {} on", count(*step)),
        CostsWhen::Steps { from, to } => format!("in steps {} to {}", count(*from), count(*to)),
        CostsWhen::Sometimes { steps, every: None } => format!("in {}", counted(*steps, "step")),
        CostsWhen::Sometimes { steps, every: Some(every) } => {
            format!("in {}, every {}", counted(*steps, "step"), count(*every))
        }
    }
}

fn why(why: Option<LateCause>) -> &'static str {
    match why {
        Some(LateCause::Host) => "calls come late",
        Some(LateCause::Gpu) => "the GPU is late",
        None => UNKNOWN,
    }
}

/// Names the condition that explains most.
fn cause(one: &Straggler) -> String {
    match one.causes.as_deref() {
        None => UNKNOWN.into(),
        Some([]) => "none seen".into(),
        Some([first, ..]) => causes::name(first.kind).into(),
    }
}

/// Returns the median: one slow GPU makes no slow node.
fn middle(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Draws own excess by node; nothing of a single node.
pub(super) fn nodes(stragglers: &Stragglers, nodes: &[String]) -> Markup {
    let mut by_node: BTreeMap<&str, (usize, Vec<f64>)> = BTreeMap::new();
    for (place, (node, rank)) in nodes.iter().zip(&stragglers.ranks).enumerate() {
        let (_, excesses) = by_node.entry(node).or_insert((place, vec![]));
        excesses.extend(rank.excess_us);
    }
    if by_node.len() < 2 {
        return html! {};
    }
    let mut order: Vec<(&str, usize, Option<f64>)> =
        by_node.into_iter().map(|(node, (first, excesses))| (node, first, middle(excesses))).collect();
    order.sort_by_key(|(_, first, _)| *first);
    let most = order.iter().filter_map(|(.., us)| *us).fold(0.0, |most: f64, us| most.max(us.abs()));
    let unit = TimeUnit::of(most.max(SMALL * stragglers.step_us));
    let found: Vec<&str> =
        stragglers.found.iter().filter(|one| one.group == RankGroup::Node).map(|one| &*one.name).collect();
    let marked = order.iter().enumerate().filter(|(_, (node, ..))| found.contains(node)).map(|(place, _)| place);
    let size = [880.0, 230.0];
    let strip = Strip {
        values: order.iter().map(|(.., us)| us.map(|us| us / unit.us)).collect(),
        least: SMALL * stragglers.step_us / unit.us,
        marked: marked.collect(),
        name: &|place| order.get(place).map_or_else(String::new, |(node, ..)| (*node).to_owned()),
        text: &|value| time(value * unit.us),
        axes: ["node, in the order of ranks".into(), format!("median own time beyond peers a step, {}", unit.name)],
        size,
    };
    let columns = ["node", "median own time beyond peers"];
    let rows = order.iter().map(|(node, _, us)| vec![(*node).to_owned(), known(*us, time)]);
    Chart {
        id: "nodes-chart",
        title: "Own time beyond peers, node by node",
        look: "Look for a node whose GPUs are slow together, which points to its cooling, its power or its host.",
        description: format!(
            "Own time beyond that of peers, median over the GPUs of each of {}.",
            counted(order.len() as u64, "node")
        ),
        size,
        key: html! {},
        drawing: strip.draw(),
        notes: html! {
            p {
                "The median over a node's GPUs of their own time beyond that of their peers. Strong columns stand out."
            }
        },
        below: html! { (PageTable::new("Own time beyond peers by node", &columns, 1, rows)) },
    }
    .render()
}
