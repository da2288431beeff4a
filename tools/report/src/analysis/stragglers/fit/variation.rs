//! How much a distance between two times varies from step to step, and from rank to rank, and which are possible.

use super::place::{MIN_STEPS, all};
use crate::analysis::robust::median;
use crate::analysis::stragglers::samples::{CALLS_BEFORE, CallSample};

/// Ratios of variations, and samples of a place: below the ratio, with so many samples at least, one is clearly less.
const CLEAR_RATIOS: [(f64, usize); 2] = [(0.8, 40), (0.5, 12)];

/// Share of the calls that may contradict a predecessor.
pub(super) const MAX_CONTRADICTING_SHARE: f64 = 0.02;

/// How much a distance varies, nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Variation {
    /// From step to step.
    pub(super) within: f64,
    /// From rank to rank.
    apart: f64,
    pub(super) count: usize,
}

impl Variation {
    pub(super) fn total(&self) -> f64 {
        self.within + self.apart
    }
}

pub(super) fn variation(
    samples: &[Vec<CallSample>],
    accuracy: f64,
    distance: impl Fn(&CallSample) -> f64,
) -> Variation {
    let mut distances: Vec<f64> = vec![];
    let mut middles: Vec<f64> = vec![];
    for of_rank in samples {
        let values: Vec<f64> = of_rank.iter().map(&distance).filter(|it| it.is_finite()).collect();
        if values.len() < MIN_STEPS {
            continue;
        }
        let middle = median(&mut values.clone());
        middles.push(middle);
        distances.extend(values.iter().map(|value| (value - middle).abs()));
    }
    // a pause is worth five usual distances
    let most = 5.0 * median(&mut distances) + 1.0;
    let sum: f64 = distances.iter().map(|distance| distance.min(most)).sum();
    let count = distances.len();
    let middle = median(&mut middles.clone());
    let apart = middles.iter().map(|it| (it - middle).abs()).sum::<f64>() / middles.len().max(1) as f64;
    // what is below the accuracy of times is alike
    Variation { within: sum / count.max(1) as f64 + accuracy, apart, count }
}

/// Returns the least of some variations: the nearest call of those that are not clearly more.
pub(super) fn best(of: impl Iterator<Item = (usize, Variation)>) -> Option<(usize, Variation)> {
    of.reduce(|best, it| if it.1.within < 0.8 * best.1.within { it } else { best })
}

pub(super) fn is_clearly_less(one: f64, other: f64, count: usize) -> bool {
    CLEAR_RATIOS.iter().any(|&(ratio, least)| one < ratio * other && count >= least)
}

/// Returns the ends that no call contradicts, by how many calls before.
pub(super) fn possible(samples: &[Vec<CallSample>], since: fn(&CallSample, usize) -> f64, early: f64) -> Vec<usize> {
    let count = all(samples).count();
    let is_possible = |back: &usize| {
        let known = all(samples).map(|it| since(it, *back)).filter(|it| it.is_finite());
        let (before, known) = known.fold((0, 0), |(before, known), it| (before + usize::from(it < -early), known + 1));
        2 * known > count && before as f64 <= MAX_CONTRADICTING_SHARE * known as f64
    };
    (0..CALLS_BEFORE).filter(is_possible).collect()
}
