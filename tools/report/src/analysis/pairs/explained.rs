//! The parts of the network that explain the slow pairs.
//!
//! Many slow pairs have one cause: an adapter, a link between two nodes, a node. A part may be the cause if more than
//! half of the judged pairs that go over it are slow. The part that explains most pairs is taken, then the one that
//! explains most of the rest, and so on; of equals, the one that least goes over. What no part explains stays a pair.

use super::classes::PairWay;
use crate::analysis::robust::median_of;
use crate::answer::{Measure, PartKind, RankPair, SlowPart};
use crate::job::Job;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A part that pairs go over: its kind, its GPU or nodes, and whether these pairs are inside a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Over {
    kind: PartKind,
    /// GPUs of a pair, nodes of a link; else twice the same.
    ends: [usize; 2],
    inside: bool,
}

/// The slow rows of judged pairs of GPUs.
type SlowRows = BTreeMap<[usize; 2], Vec<usize>>;

/// Returns the parts, the one that explains most first.
pub(super) fn explain(job: &Job, rows: &[RankPair]) -> Vec<SlowPart> {
    let mut pairs = SlowRows::new();
    // it is not known whether a late sender's pairs are slow
    for (place, row) in rows.iter().enumerate().filter(|(_, row)| row.is_judged()) {
        let (Some(from), Some(to)) = (row.from, row.to) else { continue };
        pairs.entry([from, to]).or_default().extend(row.slow.then_some(place));
    }
    if pairs.values().all(Vec::is_empty) {
        return vec![];
    }
    let mut totals: BTreeMap<Over, [u64; 2]> = BTreeMap::new();
    for (&ends, slow_rows) in &pairs {
        for over in parts(job, ends) {
            let [slow, all] = totals.entry(over).or_default();
            (*slow, *all) = (*slow + u64::from(!slow_rows.is_empty()), *all + 1);
        }
    }
    let all: BTreeMap<Over, u64> = totals.iter().map(|(over, [_, all])| (*over, *all)).collect();
    totals.retain(|_, [slow, all]| 2 * *slow > *all);
    let mut rest: SlowRows = pairs.into_iter().filter(|(_, slow_rows)| !slow_rows.is_empty()).collect();
    let mut found = vec![];
    while !rest.is_empty() {
        let mut explained: BTreeMap<Over, u64> = BTreeMap::new();
        for over in rest.keys().flat_map(|&ends| parts(job, ends)).filter(|over| totals.contains_key(over)) {
            *explained.entry(over).or_default() += 1;
        }
        // of equals the first one, which is the least
        let Some((over, most)) = explained.into_iter().max_by_key(|&(over, count)| (count, Reverse(over))) else {
            break;
        };
        if most == 1 {
            break;
        }
        let (of_part, others) = rest.into_iter().partition(|(ends, _)| parts(job, *ends).any(|other| other == over));
        rest = others;
        found.extend(part(job, rows, over, of_part, all.get(&over).copied().unwrap_or(most)));
    }
    let mut single: Vec<SlowPart> = vec![];
    for (ends, slow_rows) in rest {
        let over = Over { kind: PartKind::Pair, ends, inside: is_inside(job, ends) };
        single.extend(part(job, rows, over, SlowRows::from([(ends, slow_rows)]), 1));
    }
    single.sort_by(|one, other| other.factor.total_cmp(&one.factor));
    found.extend(single);
    found
}

fn is_inside(job: &Job, [from, to]: [usize; 2]) -> bool {
    PairWay::between(job, Some(from), Some(to)) == PairWay::Inside
}

/// Returns the parts that a pair of GPUs goes over.
fn parts(job: &Job, ends: [usize; 2]) -> impl Iterator<Item = Over> {
    let inside = is_inside(job, ends);
    let [from, to] = ends.map(|gpu| job.gpus.get(gpu).map_or(usize::MAX, |gpu| gpu.node));
    let link = [from.min(to), from.max(to)];
    let over = move |kind: PartKind, ends: [usize; 2]| Over { kind, ends, inside };
    let one = |kind: PartKind, [from, to]: [usize; 2]| {
        [Some(over(kind, [from; 2])), (to != from).then_some(over(kind, [to; 2]))]
    };
    let of_pair = [Some(over(PartKind::Pair, ends)), (!inside).then_some(over(PartKind::Link, link))];
    of_pair.into_iter().chain(one(PartKind::Adapter, ends)).chain(one(PartKind::Node, link)).flatten()
}

/// Describes a part by the slow pairs that it explains.
fn part(job: &Job, rows: &[RankPair], over: Over, pairs: SlowRows, of: u64) -> Option<SlowPart> {
    let Over { kind, ends, inside } = over;
    let node = |node: usize| job.node_name(node);
    let gpu = |gpu: usize| job.gpus.get(gpu).map_or_else(|| format!("GPU {gpu}"), |gpu| gpu.name.clone());
    let node_of = |gpu: usize| job.gpus.get(gpu).map_or_else(String::new, |gpu| node(gpu.node));
    let [one, other] = ends;
    let (name, nodes) = match kind {
        PartKind::Pair => (format!("{} to {}", gpu(one), gpu(other)), vec![node_of(one), node_of(other)]),
        PartKind::Link => {
            let mut nodes = vec![node(one), node(other)];
            nodes.sort_unstable();
            (nodes.join(" and "), nodes)
        }
        PartKind::Adapter => (gpu(one), vec![node_of(one)]),
        PartKind::Node => (node(one), vec![node(one)]),
    };
    let mut gpus: Vec<usize> = match kind {
        PartKind::Pair => ends.to_vec(),
        PartKind::Adapter => vec![one],
        PartKind::Link | PartKind::Node => {
            let lies = |gpu: &usize| job.gpus.get(*gpu).is_some_and(|gpu| ends.contains(&gpu.node));
            pairs.keys().flatten().copied().filter(lies).collect::<BTreeSet<usize>>().into_iter().collect()
        }
    };
    gpus.dedup();
    let mut slow: Vec<usize> = pairs.values().flatten().copied().collect();
    slow.sort_unstable();
    // the like with most bytes stands for all
    let mut like: BTreeMap<(u64, Measure), (u64, Vec<f64>)> = BTreeMap::new();
    for row in slow.iter().filter_map(|&place| rows.get(place)) {
        let (Some(middle), Some(measure), Some(rate)) = (row.median, row.measure, row.judged()) else { continue };
        let (bytes, rates) = like.entry((middle.to_bits(), measure)).or_default();
        *bytes = bytes.saturating_add(row.bytes.max(row.message_bytes));
        rates.push(rate);
    }
    let ((bits, _), (_, rates)) = like.into_iter().max_by_key(|(_, (bytes, _))| *bytes)?;
    let (rate, middle) = (median_of(rates), f64::from_bits(bits));
    let excess_us = slow.iter().filter_map(|&place| excess_us(rows.get(place)?)).reduce(f64::max);
    let count = pairs.len() as u64;
    let factor = if rate > 0.0 { middle / rate } else { f64::MAX };
    Some(SlowPart {
        kind,
        name,
        nodes,
        gpus,
        inside,
        rows: slow,
        pairs: count,
        of,
        rate,
        median: middle,
        factor,
        excess_us,
        gain_us: None,
    })
}

/// Returns by how much the time with a transfer under way would be shorter at the median rate of the pair's like,
/// microseconds.
fn excess_us(row: &RankPair) -> Option<f64> {
    let (rate, middle) = (row.judged()?, row.median.filter(|middle| *middle > 0.0)?);
    let (bytes, pace) = match row.measure? {
        Measure::Typical | Measure::Sustained => (row.bytes, row.sustained?),
        Measure::Lone => (row.message_bytes, row.lone?),
    };
    // GB/s are bytes per nanosecond
    (pace > 0.0).then(|| bytes as f64 / pace / 1e3 * (1.0 - rate / middle))
}
