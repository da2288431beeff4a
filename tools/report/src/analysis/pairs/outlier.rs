//! Pairs that are slow among their like.
//!
//! The robust z of a rate is its distance from the median over 1.4826 times the median distance (MAD), which is the
//! standard deviation of normally distributed rates. Where more than half of the rates are alike the MAD is 0: the
//! deviation counts as 1 % of the median at least. A rate of few or scattered transfers has an error of its own, which
//! is added to the deviation as independent errors are: the root of the sum of the squares.
//!
//! With few nodes, half of a class may go over one slow node or adapter, and the median says nothing. So where a third
//! of the pairs or more have one GPU or one node in common, and nearly all of these are slow beside the others, the
//! others are what all are compared with.
//!
//! Pairs with late senders are not among the others, if there are enough others.
//!
//! Of a rank that is an outlier by its lateness, sends do not show whether their path is slow.
//!
//! Over sockets, transfers of a rank that came late by a fifth took 60 % longer, up to 80 %, and those that it received
//! no longer (docs/gpu-test.md). Nothing is known of how that grows with the lateness, so that no rate is too low for a
//! late sender.

use super::classes::Class;
use crate::analysis::robust::spread;
use crate::answer::{Measure, RankPair, Stragglers};
use crate::job::Job;
use std::collections::{BTreeMap, BTreeSet};

/// Fewest pairs that others are compared with.
const MIN_PAIRS: usize = 4;
/// Pairs with a z below this may be slow.
const MAX_SLOW_Z: f64 = -5.0;
/// Least part of the median that a slow pair's rate lies below it.
pub const MIN_EFFECT: f64 = 0.15;
/// Least deviation, over the median.
const MIN_DEVIATION: f64 = 0.01;
/// Share of a class from which on what its pairs have in common may spoil the median.
const MIN_COMMON_SHARE: f64 = 1.0 / 3.0;
/// Share of these that must be slow.
const MIN_SLOW_SHARE: f64 = 0.9;

/// Own time beyond that of the peers, as a share of a step, from which on a rank may send more slowly because of it. A
/// fifth made transfers longer by 60 %, so this makes them longer by 6 %, which is no slow pair.
pub const MIN_LATE_SHARE: f64 = 0.02;

/// GPUs that are outliers by so much.
#[derive(Debug, Clone, Default)]
pub struct LateRanks {
    gpus: BTreeSet<usize>,
}

impl LateRanks {
    /// Returns those of the ranks that are outliers. Of ranks that are late in some steps alone, the gain tells how
    /// late they are in the mean.
    pub fn find(stragglers: &Stragglers) -> Self {
        let least = MIN_LATE_SHARE * stragglers.step_us;
        let found = stragglers.found.iter().filter(|it| it.excess_us.max(it.gain_us.unwrap_or(0.0)) >= least);
        Self { gpus: found.flat_map(|it| it.gpus.iter().copied()).collect() }
    }

    /// Returns whether a pair's sender is one.
    pub(super) fn send(&self, row: &RankPair) -> bool {
        row.from.is_some_and(|gpu| self.gpus.contains(&gpu))
    }
}

/// A pair's rate and its standard error.
#[derive(Debug, Clone, Copy)]
struct Rate {
    value: f64,
    error: f64,
}

/// What many pairs of a class may have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum OneEnd {
    Gpu(usize),
    Node(usize),
}

/// What rates are compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ReferenceRates {
    median: f64,
    deviation: f64,
}

impl ReferenceRates {
    /// Returns the reference of some rates; `None` of fewer than four, and where all are 0.
    fn from_rates(values: &[f64]) -> Option<Self> {
        let [middle, deviation] = spread(values);
        let deviation = deviation.max(MIN_DEVIATION * middle.abs());
        (values.len() >= MIN_PAIRS && deviation > 0.0).then_some(Self { median: middle, deviation })
    }

    fn z(self, rate: Rate) -> f64 {
        (rate.value - self.median) / self.deviation.hypot(rate.error)
    }

    fn finds_slow(self, rate: Rate) -> bool {
        self.z(rate) < MAX_SLOW_Z && rate.value <= (1.0 - MIN_EFFECT) * self.median
    }
}

/// Marks the slow pairs of each class, and those that are as slow and have a late sender.
pub(super) fn mark(job: &Job, classes: &[Class], late: &LateRanks, rows: &mut [RankPair]) {
    for Class { pairs, measure } in classes {
        let known = pairs.iter().filter_map(|&place| Some((place, rate(rows.get(place)?, *measure)?)));
        let rates: Vec<(usize, Rate)> = known.collect();
        let is_late = |(place, _): &&(usize, Rate)| rows.get(*place).is_some_and(|row| late.send(row));
        let others: Vec<(usize, Rate)> = rates.iter().filter(|it| !is_late(it)).copied().collect();
        let compared = if others.len() < MIN_PAIRS { &rates } else { &others };
        let values: Vec<f64> = compared.iter().map(|(_, rate)| rate.value).collect();
        let Some(of_all) = ReferenceRates::from_rates(&values) else { continue };
        let reference = without_a_slow_part(job, rows, compared).unwrap_or(of_all);
        for (place, rate) in rates {
            if let Some(row) = rows.get_mut(place) {
                let (is_slow, is_late) = (reference.finds_slow(rate), late.send(row));
                (row.measure, row.median, row.z) = (Some(*measure), Some(reference.median), Some(reference.z(rate)));
                (row.slow, row.of_late_rank) = (is_slow && !is_late, is_slow && is_late);
            }
        }
    }
}

fn rate(row: &RankPair, measure: Measure) -> Option<Rate> {
    let error = match measure {
        Measure::Typical => row.typical_error,
        Measure::Sustained => None,
        Measure::Lone => row.lone_error,
    };
    Some(Rate { value: row.by(measure)?, error: error.unwrap_or(0.0) })
}

/// Returns the reference of the pairs that do not go over a GPU or node that many pairs go over, nearly all of which
/// are slow beside that reference. `None` if there is no such part.
fn without_a_slow_part(job: &Job, rows: &[RankPair], rates: &[(usize, Rate)]) -> Option<ReferenceRates> {
    let node = |gpu: usize| job.gpus.get(gpu).map(|gpu| gpu.node);
    let parts = |place: usize| {
        let ends = rows.get(place).map_or([None; 2], |row| [row.from, row.to]);
        let [from, to] = ends.map(|gpu| gpu.and_then(node));
        let nodes = [from, to.filter(|_| to != from)];
        ends.map(|gpu| gpu.map(OneEnd::Gpu)).into_iter().chain(nodes.map(|node| node.map(OneEnd::Node))).flatten()
    };
    let mut sizes: BTreeMap<OneEnd, usize> = BTreeMap::new();
    rates.iter().flat_map(|(place, _)| parts(*place)).for_each(|part| *sizes.entry(part).or_default() += 1);
    let many = sizes.into_iter().filter(|(_, size)| *size as f64 >= MIN_COMMON_SHARE * rates.len() as f64);
    let beside = many.filter_map(|(part, size)| {
        let (over, others): (Vec<_>, Vec<_>) = rates.iter().partition(|(place, _)| parts(*place).any(|of| of == part));
        let others: Vec<f64> = others.into_iter().map(|(_, rate)| rate.value).collect();
        let reference = ReferenceRates::from_rates(&others)?;
        let slow = over.into_iter().filter(|(_, rate)| reference.finds_slow(*rate)).count();
        (slow as f64 >= MIN_SLOW_SHARE * size as f64).then_some((slow, reference))
    });
    beside.max_by_key(|(slow, _)| *slow).map(|(_, reference)| reference)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: f64, error: f64) -> Rate {
        Rate { value, error }
    }

    #[test]
    fn a_z_is_the_distance_in_deviations() {
        // median 10, MAD 1
        let reference = ReferenceRates::from_rates(&[8.0, 9.0, 10.0, 11.0, 12.0]).unwrap();
        assert_eq!(reference.z(of(8.0, 0.0)), -2.0 / 1.4826);
        assert_eq!(reference.z(of(10.0, 0.0)), 0.0);
    }

    #[test]
    fn equal_rates_have_a_deviation_of_one_percent() {
        let reference = ReferenceRates::from_rates(&[10.0, 10.0, 10.0, 9.8, 9.6]).unwrap();
        assert!((reference.z(of(9.6, 0.0)) + 4.0).abs() < 1e-9);
        assert_eq!((ReferenceRates::from_rates(&[0.0; 4]), ReferenceRates::from_rates(&[10.0; 3])), (None, None));
    }

    #[test]
    fn a_rate_must_be_far_below_the_median_by_either_scale_and_by_its_own_error() {
        let reference = ReferenceRates::from_rates(&[10.0; 6]).unwrap();
        assert_eq!([8.6, 8.4].map(|value| reference.finds_slow(of(value, 0.0))), [false, true]);
        assert_eq!([0.2, 0.4].map(|error| reference.finds_slow(of(8.4, error))), [true, false]);
        let scattered = ReferenceRates::from_rates(&[6.0, 8.0, 10.0, 12.0, 14.0]).unwrap();
        assert!(!scattered.finds_slow(of(1.0, 0.0)));
    }
}
