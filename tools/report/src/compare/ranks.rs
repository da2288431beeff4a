//! Ranks whose own time has changed beyond that of the others.
//!
//! A rank's own time is that between its operations, by the re-enactment ([`crate::answer::RankOwn`]), or without one
//! the time with no NCCL under way; both are medians over steps. Its change is laid beside the median change of all
//! other ranks: a longer computation of all is no rank's fault.
//!
//! Chance: a change is reported if it is beyond the others' by a robust z above 5 and by more than 1 % of a step. The
//! spread for z is that of the medians over steps in either run, or that of the ranks where it is larger. The latter is
//! taken on the near side of the others' median, since the far side may have a node's worth of ranks with one fault.

use super::verdict::{ChangeVerdict, MIN_CHANGE};
use crate::analysis::robust::{NORMAL, median_of};
use crate::answer::{Part, RankOwn, Report};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Robust z above which a rank's change is not by chance.
const MIN_Z: f64 = 5.0;
/// Fewest other ranks whose spread says anything.
const MIN_PEERS: usize = 4;

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
    /// Robust z of that; `None` where nothing spreads.
    pub z: Option<f64>,
    /// The verdict on the change, as far as it is beyond the others', too.
    pub verdict: ChangeVerdict,
}

/// Compares ranks by name. `step_us` is the length of a step before, where it is known.
pub(super) fn compare(reports: [&Report; 2], step_us: Option<f64>, threshold: f64) -> Part<Ranks> {
    let time = match reports.iter().all(|report| stragglers(report).is_some()) {
        true => OwnTime::BetweenOperations,
        false => OwnTime::OutsideNccl,
    };
    let [before, after] = reports.map(|report| own(report, time));
    if before.is_empty() || after.is_empty() {
        return Part::Absent("a report has no own times of ranks: it has no steps.".into());
    }
    let before: FxHashMap<&str, RankOwnTime<'_>> = before.into_iter().map(|own| (own.name, own)).collect();
    let known = |name| before.get(name).copied().filter(|before| before.us > 0.0);
    let both: Vec<[RankOwnTime<'_>; 2]> =
        after.into_iter().filter_map(|after| Some([known(after.name)?, after])).collect();
    if both.len() < 2 {
        return Part::Absent("fewer than two ranks are in both reports.".into());
    }
    let growths: Vec<f64> = both.iter().map(|[before, after]| after.us / before.us).collect();
    let least_us = step_us.unwrap_or(0.0) * MIN_CHANGE;
    let row = |[before, after]: [RankOwnTime<'_>; 2]| {
        let growth = after.us / before.us;
        let (others, of_ranks) = beside(growth, &growths);
        let of_steps = (before.error_us * growth).hypot(after.error_us) / before.us;
        let spread = of_ranks.max(of_steps);
        let z = (spread > 0.0).then(|| (growth - others) / spread);
        let is_chance = z.is_some_and(|z| z.abs() <= MIN_Z) || (after.us - before.us * others).abs() <= least_us;
        let (change, beyond) = (growth - 1.0, growth / others - 1.0);
        // a rank that has not grown is not worse where most others have become faster, and the reverse
        let both = if change * beyond > 0.0 { change.abs().min(beyond.abs()).copysign(change) } else { 0.0 };
        RankChanged {
            name: after.name.to_owned(),
            node: after.node.to_owned(),
            own_us: [before.us, after.us],
            change,
            others: others - 1.0,
            beyond,
            z,
            verdict: if is_chance { ChangeVerdict::Equal } else { ChangeVerdict::sure(both, threshold) },
        }
    };
    let rows = both.into_iter().map(row).collect();
    Part::Known(Ranks { time, change: median_of(growths) - 1.0, rows })
}

/// A rank's own time a step, microseconds.
#[derive(Debug, Clone, Copy)]
struct RankOwnTime<'a> {
    name: &'a str,
    node: &'a str,
    us: f64,
    /// Standard error of the time without NCCL, which stands for that of either time.
    error_us: f64,
}

fn stragglers(report: &Report) -> Option<&[RankOwn]> {
    let ranks = report.stragglers.known().map(|stragglers| stragglers.ranks.as_slice());
    ranks.filter(|ranks| !ranks.is_empty())
}

/// Returns the ranks' own times of a report, taken in this way.
fn own(report: &Report, time: OwnTime) -> Vec<RankOwnTime<'_>> {
    let between = stragglers(report).unwrap_or_default();
    let own = |(gpu, name): (usize, _)| {
        let outside = report.series.outside_us.get(gpu);
        let us = match time {
            OwnTime::BetweenOperations => between.get(gpu).map(|rank: &RankOwn| rank.own_us),
            OwnTime::OutsideNccl => outside.map(|[us, _]| f64::from(*us)),
        };
        let node = report.nodes.get(gpu).map_or("", String::as_str);
        Some(RankOwnTime { name, node, us: us?, error_us: outside.map_or(0.0, |[_, error]| f64::from(*error)) })
    };
    report.gpus.iter().map(String::as_str).enumerate().filter_map(own).collect()
}

/// Returns the median of the other ranks' growths, and their spread on the side of this one; 0 for fewer than four.
/// `growths` has all.
fn beside(growth: f64, growths: &[f64]) -> (f64, f64) {
    let mut others = growths.to_vec();
    if let Some(own) = others.iter().position(|other| *other == growth) {
        others.remove(own);
    }
    let median = median_of(others.iter().copied());
    let is_near = |other: &&f64| if growth > median { **other <= median } else { **other >= median };
    let near = others.iter().filter(is_near).map(|other| (other - median).abs());
    (median, if others.len() >= MIN_PEERS { NORMAL * median_of(near) } else { 0.0 })
}
