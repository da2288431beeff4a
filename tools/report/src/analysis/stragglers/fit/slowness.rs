//! How much slower than its peers a rank computes, and how much longer than usual a step: what places show of both says
//! how long computations take that are not seen.

use super::place::{GpuFrom, HostFrom, PlacePath};
use crate::analysis::robust::{median, median_of, quantile};
use crate::analysis::stragglers::samples::CallSample;

/// How much slower a rank may be, for its slowness elsewhere to say how slow it is where it is hidden.
const MAX_SLOWNESS: f64 = 2.0;
/// Distance of two ratios that agree, and share of the time that agrees at least.
pub(super) const AGREEMENT: (f64, f64) = (0.04, 0.3);
/// Distance of a ratio from that of most of the time, and share of the time that has it, within that distance, from
/// which on a rank is slow in some of what it does.
const MIXED_LIMITS: (f64, f64) = (0.1, 0.08);
/// Change of a slowness from one round to the next up to which it is the same.
const MAX_CHANGE: f64 = 0.005;
/// Differences of steps up to which these compute the same.
const MAX_STEADY_SPREAD: f64 = 0.15;
/// What a rank shows of a step to say how much it computes in it, as a part of what any rank shows.
const MIN_SHOWN_PART: f32 = 0.2;

/// A rank's own time at a place, as a part of the usual one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ratio {
    ratio: f64,
    /// The usual own time, nanoseconds.
    usual: f64,
}

/// Least and most length of a step's batch, over the usual one.
const SCALE_LIMITS: [f64; 2] = [0.1, 10.0];

/// How slow a rank is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Slowness {
    /// The ratio that most of its time agrees on.
    pub(super) ratio: f64,
    /// Whether a part of its time agrees on another ratio: it is slow in some of what it does.
    pub(super) is_mixed: bool,
    /// Whether one place alone shows it: the rank may be slow there, or everywhere.
    pub(super) is_lone: bool,
}

/// Returns whether all ranks are as slow as before.
pub(super) fn is_like(slowness: &[Option<Slowness>], before: &[Option<Slowness>]) -> bool {
    slowness.iter().zip(before).all(|(one, other)| match (one, other) {
        (Some(one), Some(other)) => (one.ratio - other.ratio).abs() <= MAX_CHANGE && one.is_mixed == other.is_mixed,
        (one, other) => one.is_none() && other.is_none(),
    })
}

/// Returns the ratio that most of the time agrees on; `None` where little of it agrees. A place that is not understood
/// has a ratio of its own.
pub(super) fn agreed(ratios: &[Ratio]) -> Option<Slowness> {
    let all: f64 = ratios.iter().map(|it| it.usual).sum();
    let mut sorted: Vec<Ratio> = ratios.iter().filter(|it| it.ratio > 0.0).copied().collect();
    sorted.sort_unstable_by(|one, other| one.ratio.total_cmp(&other.ratio));
    let ratios = &sorted[..];
    // of sorted ratios, those near each one are neighbours
    let most = |of: &[Ratio], distance: f64| {
        let sums = of.iter().scan((0.0, 0.0), |sums, it| {
            *sums = (sums.0 + it.ratio * it.usual, sums.1 + it.usual);
            Some(*sums)
        });
        let sums: Vec<(f64, f64)> = std::iter::once((0.0, 0.0)).chain(sums).collect();
        let agreeing = |it: &Ratio| {
            let at = |ratio: f64, is_in: fn(f64, f64) -> bool| of.partition_point(|other| is_in(other.ratio, ratio));
            let from = at(it.ratio * (1.0 - distance), |other, least| other < least);
            let to = at(it.ratio * (1.0 + distance), |other, most| other <= most);
            (sums[to].0 - sums[from].0, sums[to].1 - sums[from].1, to - from)
        };
        of.iter().map(agreeing).max_by(|one, other| one.1.total_cmp(&other.1))
    };
    let (sum, time, places) = most(ratios, AGREEMENT.0).filter(|&(_, time, _)| time >= AGREEMENT.1 * all)?;
    let ratio = sum / time;
    let others: Vec<Ratio> =
        ratios.iter().filter(|it| (it.ratio / ratio - 1.0).abs() > MIXED_LIMITS.0).copied().collect();
    let is_mixed = most(&others, MIXED_LIMITS.0).is_some_and(|(_, time, _)| time >= MIXED_LIMITS.1 * all);
    Some(Slowness { ratio: ratio.clamp(1.0 / MAX_SLOWNESS, MAX_SLOWNESS), is_mixed, is_lone: places == 1 })
}

/// Adds the ratio of each rank's own time to the usual one, where a place shows both. Behind a wait of the host, a GPU
/// waits for what a late host launches: that is not the GPU's.
pub(super) fn slow_at(
    samples: &[Vec<CallSample>],
    path: &PlacePath,
    of_ranks: &[Option<f64>],
    least: f64,
    ratios: &mut [Vec<Ratio>],
) {
    let usual = median_of(of_ranks.iter().copied().flatten());
    if usual < least {
        return;
    }
    let host = |samples: &Vec<CallSample>| match path.host {
        HostFrom::Waits(back) if !matches!(path.gpu, GpuFrom::Host(_)) => {
            median_of(samples.iter().map(|it| it.host_since_end[usize::from(back) - 1]))
        }
        _ => 0.0,
    };
    let hosts: Vec<f64> = samples.iter().map(host).collect();
    let usual_host = median(&mut hosts.clone());
    for ((ratios, own), host) in ratios.iter_mut().zip(of_ranks).zip(hosts) {
        let late = (host - usual_host).max(0.0);
        ratios.extend(own.map(|own| Ratio { ratio: (own - late) / usual, usual }));
    }
}

/// Returns how many times as much as usual each rank computes in each step, from what it shows of the step and usually
/// takes for that: batches and sequences may have other lengths in each step. A rank that shows little computes as the
/// others do.
pub(super) fn scales(shown: &[[f32; 2]], ranks: usize) -> Vec<f64> {
    let common = steady(shown.chunks(ranks).map(common).collect());
    let mut scales: Vec<f64> = common.iter().flat_map(|scale| std::iter::repeat_n(*scale, ranks)).collect();
    for rank in 0..ranks {
        let own = |(of_ranks, common): (&[[f32; 2]], &f64)| {
            let [own, usual] = of_ranks[rank];
            if shows(of_ranks, usual) {
                f64::from(own / usual).clamp(SCALE_LIMITS[0], SCALE_LIMITS[1])
            } else {
                *common
            }
        };
        let own: Vec<f64> = shown.chunks(ranks).zip(&common).map(own).collect();
        if varies(&own) {
            own.iter().enumerate().for_each(|(step, scale)| scales[step * ranks + rank] = *scale);
        }
    }
    scales
}

/// Returns whether a rank shows enough of a step, of which it usually takes so long for what it shows.
fn shows(of_ranks: &[[f32; 2]], usual: f32) -> bool {
    usual > 0.0 && usual >= MIN_SHOWN_PART * of_ranks.iter().map(|it| it[1]).fold(0.0, f32::max)
}

/// Returns how many times as much as usual all ranks compute in a step. One rank alone says nothing of the others.
fn common(of_ranks: &[[f32; 2]]) -> f64 {
    let known = of_ranks.iter().filter(|[_, usual]| shows(of_ranks, *usual));
    let mut scales: Vec<f32> = known.map(|[own, usual]| own / usual).collect();
    scales.sort_unstable_by(f32::total_cmp);
    // of two, the faster one: the other may pause
    if scales.len() < 2 {
        1.0
    } else {
        f64::from(scales[(scales.len() - 1) / 2]).clamp(SCALE_LIMITS[0], SCALE_LIMITS[1])
    }
}

/// Returns whether the scales of steps differ by more than chance.
fn varies(scales: &[f64]) -> bool {
    let mut sorted = scales.to_vec();
    let [low, high] = [0.1, 0.9].map(|share| quantile(&mut sorted, share));
    high - low >= MAX_STEADY_SPREAD
}

/// Returns the scales of steps where they differ by more than chance, otherwise 1.
fn steady(mut scales: Vec<f64>) -> Vec<f64> {
    if !varies(&scales) {
        scales.fill(1.0);
    }
    scales
}
