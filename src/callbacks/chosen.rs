//! The operations, and their ranks, whose callbacks are shown.

use report::answer::{OperationCallbacks, RankCallbacks, Swim, SwimBar, SwimLane};
use std::collections::BTreeMap;

/// Most operations.
const OPERATIONS: usize = 3;
/// Most ranks of an operation.
const RANKS: usize = 4;

/// Returns the slowest operations of a step, one of each function and dimension, without callbacks yet.
pub(super) fn operations(swim: &Swim) -> Vec<OperationCallbacks> {
    let mut by_occurrence: BTreeMap<u64, Vec<(&SwimLane, &SwimBar)>> = BTreeMap::new();
    for lane in &swim.lanes {
        for bar in &lane.bars {
            by_occurrence.entry(bar.occurrence).or_default().push((lane, bar));
        }
    }
    let mut slowest: BTreeMap<(&str, &str), (f64, u64)> = BTreeMap::new();
    for (&occurrence, calls) in &by_occurrence {
        let Some((lane, bar)) = calls.first() else { continue };
        let length = length(calls);
        let most = slowest.entry((&lane.dimension, &bar.function)).or_insert((length, occurrence));
        if length > most.0 {
            *most = (length, occurrence);
        }
    }
    let mut slowest: Vec<(f64, u64)> = slowest.into_values().collect();
    slowest.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let chosen = slowest.into_iter().take(OPERATIONS);
    chosen.filter_map(|(_, occurrence)| operation(occurrence, by_occurrence.remove(&occurrence)?)).collect()
}

/// Returns the time from the first begin to the last end.
fn length(calls: &[(&SwimLane, &SwimBar)]) -> f64 {
    let first = calls.iter().map(|(_, bar)| bar.start_us).fold(f64::INFINITY, f64::min);
    calls.iter().map(|(_, bar)| bar.stop_us).fold(0.0, f64::max) - first
}

/// Chooses the ranks that began last, which the others waited for, and those that ended last.
fn operation(occurrence: u64, calls: Vec<(&SwimLane, &SwimBar)>) -> Option<OperationCallbacks> {
    let (comm, dimension) = calls.first().map(|(lane, _)| (lane.comm.clone(), lane.dimension.clone()))?;
    let all = calls.len();
    let latest = |mut calls: Vec<(&SwimLane, &SwimBar)>, time: fn(&SwimBar) -> f64| {
        calls.sort_by(|(_, one), (_, other)| time(other).total_cmp(&time(one)));
        calls.into_iter().map(|(lane, _)| lane.gpu).take(RANKS).collect::<Vec<_>>()
    };
    let (begun, ended) = (latest(calls.clone(), |bar| bar.start_us), latest(calls.clone(), |bar| bar.stop_us));
    let mut gpus: Vec<usize> = Vec::new();
    for gpu in begun.into_iter().zip(ended).flat_map(|(begun, ended)| [begun, ended]) {
        if gpus.len() < RANKS && !gpus.contains(&gpu) {
            gpus.push(gpu);
        }
    }
    let mut ranks: Vec<RankCallbacks> = calls
        .into_iter()
        .filter(|(lane, _)| gpus.contains(&lane.gpu))
        .map(|(lane, bar)| RankCallbacks { gpu: lane.gpu, call: bar.clone(), ..RankCallbacks::default() })
        .collect();
    ranks.sort_by_key(|rank| rank.gpu);
    let left_out = all.saturating_sub(ranks.len()) as u64;
    Some(OperationCallbacks { comm, dimension, occurrence, ranks, left_out })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lanes of one communicator with an all-reduce a number: rank, begin and end.
    fn swim(operations: &[(&str, u64, &[[f64; 2]])]) -> Swim {
        let mut lanes: Vec<SwimLane> = Vec::new();
        for (dimension, occurrence, calls) in operations {
            for (gpu, &[start_us, stop_us]) in calls.iter().enumerate() {
                let bar = SwimBar {
                    function: "AllReduce".into(),
                    occurrence: *occurrence,
                    start_us,
                    stop_us,
                    ..SwimBar::default()
                };
                let dimension = (*dimension).to_owned();
                lanes.push(SwimLane { gpu, dimension, bars: vec![bar], ..SwimLane::default() });
            }
        }
        Swim { lanes, ..Swim::default() }
    }

    #[test]
    fn the_slowest_of_each_dimension_come_slowest_first() {
        let times = |length: f64| [[0.0, length], [0.0, 1.0]];
        let chosen = operations(&swim(&[
            ("TP", 1, &times(5.0)),
            ("TP", 2, &times(9.0)),
            ("DP", 3, &times(7.0)),
            ("PP", 4, &times(2.0)),
            ("EP", 5, &times(8.0)),
        ]));
        assert_eq!(chosen.iter().map(|it| it.occurrence).collect::<Vec<_>>(), [2, 5, 3]);
        assert_eq!(chosen[0].ranks.iter().map(|rank| rank.gpu).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn of_many_ranks_those_that_began_or_ended_last_are_shown() {
        let mut calls = vec![[0.0, 50.0]; 20];
        (calls[3], calls[9], calls[12], calls[13]) = ([9.0, 40.0], [8.0, 41.0], [1.0, 99.0], [2.0, 98.0]);
        let chosen = operations(&swim(&[("DP", 1, &calls)]));
        assert_eq!(chosen[0].ranks.iter().map(|rank| rank.gpu).collect::<Vec<_>>(), [3, 9, 12, 13]);
        assert_eq!(chosen[0].left_out, 16);
    }
}
