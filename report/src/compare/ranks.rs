//! Ranks whose own time has changed beyond that of the others.
//!
//! A rank's own time is that between its operations, by the re-enactment ([`crate::answer::RankOwn`]), or without one
//! the time with no NCCL under way; both are medians over steps. Its change is laid beside the median change of all
//! other ranks: a longer computation of all is no rank's fault.
//!
//! Chance: a change is told if it is beyond the others' by a robust z above 5 and by more than 1 % of a step. The
//! spread for z is taken from the ranks on the near side of the others' median, since the far side may have a node's
//! worth of ranks with the same fault.

use super::verdict::{LEAST, Verdict};
use crate::answer::{Part, Report};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Robust z above which a rank's change is not by chance.
const Z: f64 = 5.0;
/// Fewest other ranks whose spread says anything.
const PEERS: usize = 4;
/// Factor that makes the median absolute deviation of normally distributed values their standard deviation.
const NORMAL: f64 = 1.4826;

/// How a rank's own time was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnTime {
    /// Between its operations, by the re-enactment.
    BetweenOperations,
    /// With no NCCL under way.
    OutsideNccl,
}

/// The ranks that are in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ranks {
    /// How own times were taken.
    pub time: OwnTime,
    /// Median change over the ranks: 0.1 for own times 10 % longer.
    pub change: f64,
    /// The ranks, in the order of the second report.
    pub rows: Vec<RankChanged>,
}

/// A rank's own time a step, before and after.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RankChanged {
    /// The rank's name.
    pub name: String,
    /// The name of its node in the second run, or empty.
    pub node: String,
    /// Own time a step, median, microseconds.
    pub own_us: [f64; 2],
    /// The second over the first, less 1.
    pub change: f64,
    /// Median change of the other ranks.
    pub others: f64,
    /// The change beyond the others': 0.5 for a rank that takes half as long again as it would with their change.
    pub beyond: f64,
    /// Robust z of that; `None` for fewer than four others, or where they do not spread.
    pub z: Option<f64>,
    /// The verdict on the change beyond the others'.
    pub verdict: Verdict,
}

/// Compares ranks by name. `step_us` is the length of a step before, where it is known.
pub(super) fn of(reports: [&Report; 2], step_us: Option<f64>, threshold: f64) -> Part<Ranks> {
    let Some((time, [before, after])) = own(reports) else {
        return Part::Absent("a report has no own times of ranks: it has no steps.".into());
    };
    let before: FxHashMap<&str, f64> = before.into_iter().collect();
    let places = (0..).zip(after);
    let both: Vec<(usize, &str, [f64; 2])> = places
        .filter_map(|(place, (name, after))| Some((place, name, [*before.get(name).filter(|us| **us > 0.0)?, after])))
        .collect();
    if both.len() < 2 {
        return Part::Absent("fewer than two ranks are in both reports.".into());
    }
    let mut growths: Vec<f64> = both.iter().map(|(_, _, [before, after])| after / before).collect();
    growths.sort_unstable_by(f64::total_cmp);
    let least_us = step_us.unwrap_or(0.0) * LEAST;
    let row = |(place, name, own_us): (usize, &str, [f64; 2])| {
        let [before, after] = own_us;
        let growth = after / before;
        let (others, z) = beside(growth, &growths);
        let beyond = growth / others - 1.0;
        let is_chance = z.is_some_and(|z| z.abs() <= Z) || (after - before * others).abs() <= least_us;
        RankChanged {
            name: name.to_owned(),
            node: reports[1].nodes.get(place).cloned().unwrap_or_default(),
            own_us,
            change: growth - 1.0,
            others: others - 1.0,
            beyond,
            z,
            verdict: if is_chance { Verdict::Equal } else { Verdict::of(beyond, threshold) },
        }
    };
    let change = middle(&growths) - 1.0;
    Part::Known(Ranks { time, change, rows: both.into_iter().map(row).collect() })
}

/// Ranks and their own times a step, microseconds.
type Own<'a> = Vec<(&'a str, f64)>;

fn named(report: &Report) -> impl Iterator<Item = &str> {
    report.gpus.iter().map(String::as_str)
}

/// Returns the ranks' own times of both reports, taken in one way.
fn own(reports: [&Report; 2]) -> Option<(OwnTime, [Own<'_>; 2])> {
    let between = reports.map(|report| {
        let ranks = report.stragglers.known().map(|stragglers| &stragglers.ranks).filter(|ranks| !ranks.is_empty())?;
        Some(named(report).zip(ranks.iter().map(|rank| rank.own_us)).collect::<Own<'_>>())
    });
    if let [Some(before), Some(after)] = between {
        return Some((OwnTime::BetweenOperations, [before, after]));
    }
    let outside = reports.map(|report| {
        let own: Own<'_> = named(report).zip(report.series.outside_us.iter().map(|us| f64::from(*us))).collect();
        (!own.is_empty()).then_some(own)
    });
    let [before, after] = outside;
    Some((OwnTime::OutsideNccl, [before?, after?]))
}

/// Returns the median of the other ranks' growths, and the robust z of this one's distance from it. `growths` has all,
/// sorted.
fn beside(growth: f64, growths: &[f64]) -> (f64, Option<f64>) {
    let mut others = growths.to_vec();
    if let Some(own) = others.iter().position(|other| *other == growth) {
        others.remove(own);
    }
    let median = middle(&others);
    let is_near = |other: &&f64| if growth > median { **other <= median } else { **other >= median };
    let mut near: Vec<f64> = others.iter().filter(is_near).map(|other| (other - median).abs()).collect();
    near.sort_unstable_by(f64::total_cmp);
    let spread = NORMAL * middle(&near);
    (median, (others.len() >= PEERS && spread > 0.0).then(|| (growth - median) / spread))
}

/// Returns the median of sorted values; 1 of none, for growths.
fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    let at = |place: usize| sorted.get(place).copied().unwrap_or(1.0);
    if sorted.len() % 2 == 1 || sorted.is_empty() { at(half) } else { (at(half - 1) + at(half)) / 2.0 }
}
