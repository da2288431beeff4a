//! How much of a rank's own time runs beside the operation before it: found from how begins vary.
//!
//! Where the computation waits for an operation, the time from its end to the next begin does not depend on how long
//! others were waited for; where the computation runs beside it, the time from begin to begin does not. The first is
//! `own` with `beside` = 0, the second with `beside` without bound, and a prefetched operation that is awaited in the
//! middle has a `beside` between (see [`super::run`]). Where the host itself has waited for the operation before, which
//! shows in when it enqueues the next one, `beside` is 0. Of each other place of a program, the two ways are compared by
//! how much they vary from step to step on each rank. Only where some places behind a stream's operations vary clearly
//! less from begin to begin, that stream's operations run beside computation, and `beside` is fitted at each place behind
//! them: with the least variation, and such that each rank is as slow in comparison with its peers as it is elsewhere.
//! For ranks that wait at a place in every step show no own time there, and any `beside` up to the length of their waits
//! would do. So it is where most ranks wait for a rank that is slow elsewhere, too: it is taken to be as slow here, or as
//! its GPU is where its host is ahead. A rank that is late at such a place alone does something there that the others do not.

use super::programs::Program;
use super::robust::{median, quantile};
use super::run::{ALL, CallRun, TimeBeside};
use super::samples::{CallSample, Samples, medians, samples};
use rustc_hash::FxHashMap;

/// Steps of a rank that show how much a place varies, at least.
const STEPS: usize = 4;
/// Ratios of variations, begin to begin over end to begin, and samples of a place: below the ratio, with so many samples
/// at least, operations run beside computation.
const CLEARLY: [(f64, usize); 2] = [(0.8, 40), (0.5, 12)];
/// One place of so many is enough to say so of a stream.
const SOME: usize = 4;
/// Ratio of variations up to which nobody waits, and from whose inverse on somebody does.
const LESS: f64 = 0.9;
/// Values of `beside` that a fit tries, evenly spaced.
const TRIES: usize = 40;
/// Cost of a fit that counts as equal to the least: a share of it, and nanoseconds.
const EQUAL: (f64, f64) = (1.01, 50.0);
/// Own time of a place below which it says nothing of how slow a rank is, nanoseconds.
const LITTLE: f64 = 20_000.0;
/// Slowness from which on a rank is slow elsewhere.
const SLOW: f64 = 1.05;
/// Rounds in which fits and the ranks' slowness are brought into agreement.
const ROUNDS: usize = 2;

/// The verdict of the variations at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Varies {
    /// Nobody knows: every rank's call was ready before it could begin.
    Unknown,
    /// Both alike.
    Alike,
    /// From end to begin it varies less.
    FromEnd,
    /// From begin to begin it varies less; whether clearly.
    FromBegin(bool),
}

/// Returns `beside` for each place of a program, nanoseconds.
pub(super) fn fit(program: &Program, runs: &[CallRun]) -> Vec<TimeBeside> {
    let mut samples: Vec<Samples> = (0..program.places).map(|place| samples(program, runs, place)).collect();
    let streams: Vec<Option<u16>> = (0..program.places).map(|place| stream(program, runs, place)).collect();
    let varies: Vec<Varies> = samples.iter().map(varies).collect();
    for (samples, varies) in samples.iter_mut().zip(&varies) {
        // a host that comes late by itself enqueues behind the end, too
        samples.host_waits &= *varies != Varies::FromBegin(true);
    }
    let mut places_of: FxHashMap<u16, [usize; 2]> = FxHashMap::default();
    for (stream, varies) in streams.iter().zip(&varies) {
        if let Some(stream) = stream {
            let [clear, known] = places_of.entry(*stream).or_default();
            *clear += usize::from(*varies == Varies::FromBegin(true));
            *known += usize::from(*varies != Varies::Unknown);
        }
    }
    // one of many places may vary so by chance
    let is_clear = |[clear, known]: [usize; 2]| clear > 1 || clear * SOME > known;
    let is_beside = |place: usize| streams[place].is_some_and(|stream| is_clear(places_of[&stream]));
    let is_open = |place: usize| !samples[place].overlap && !samples[place].host_waits;
    let hides: Vec<bool> = samples.iter().map(Samples::hide).collect();
    let mut beside: Vec<f64> = (0..program.places)
        .map(|place| match varies[place] {
            _ if samples[place].overlap => f64::INFINITY,
            _ if samples[place].host_waits => 0.0,
            Varies::FromBegin(_) | Varies::Alike if is_beside(place) => f64::INFINITY,
            _ => 0.0,
        })
        .collect();
    if (0..program.places).any(|place| is_open(place) && (is_beside(place) || hides[place])) {
        for round in 0..ROUNDS {
            let is_known = |&place: &usize| varies[place] != Varies::Unknown && samples[place].shows();
            let is_sure = |&place: &usize| !(round == 0 && is_beside(place) && varies[place] == Varies::FromEnd);
            let known: Vec<usize> = (0..program.places).filter(is_known).collect();
            let mut counts: Vec<usize> = known.iter().copied().filter(is_sure).collect();
            if counts.is_empty() {
                // somewhere in a step the computation waits
                counts = known;
            }
            // where the host is ahead, its own delays elsewhere say nothing
            let slownesses = [false, true].map(|of_gpu| slowness(&samples, &beside, &counts, of_gpu));
            for place in (0..program.places).filter(|&place| is_open(place)) {
                let of = &samples[place];
                let slowness = &slownesses[usize::from(of.host_is_ahead)];
                if is_beside(place) || hides[place] && is_slow_elsewhere(of, slowness) {
                    beside[place] = fitted(of, slowness, matches!(varies[place], Varies::FromBegin(_)));
                }
            }
        }
    }
    beside.into_iter().map(|beside| if beside.is_finite() { beside as TimeBeside } else { ALL }).collect()
}

/// Returns the stream of the call before a place, on the first rank that has one.
fn stream(program: &Program, runs: &[CallRun], place: usize) -> Option<u16> {
    (0..program.steps.len()).find_map(|step| {
        let (run, call) = (&runs[program.steps[step].0], *program.calls(step, 0)?.get(place)? as usize);
        run.before(call).map(|before| run.calls[before].stream)
    })
}

/// Returns whether a rank that the others wait for at a place is slow elsewhere.
fn is_slow_elsewhere(samples: &Samples, slowness: &[f64]) -> bool {
    let is_awaited =
        |samples: &Vec<CallSample>| 2 * samples.iter().filter(|it| it.is_at_once()).count() < samples.len();
    samples.ranks.iter().zip(slowness).any(|(samples, &slow)| slow > SLOW && is_awaited(samples))
}

fn varies(samples: &Samples) -> Varies {
    let mut distances: [Vec<f64>; 2] = [vec![], vec![]];
    for of_rank in &samples.ranks {
        let free: Vec<&CallSample> = of_rank.iter().filter(|sample| !sample.is_at_once()).collect();
        if free.len() < STEPS {
            continue;
        }
        for (beside, distances) in [0.0, f64::INFINITY].into_iter().zip(&mut distances) {
            let owns: Vec<f64> = free.iter().map(|sample| sample.own(beside)).collect();
            let middle = median(&mut owns.clone());
            distances.extend(owns.iter().map(|own| (own - middle).abs()));
        }
    }
    let [from_end, from_begin] = distances.map(|mut distances| {
        // a pause is worth five usual distances
        let most = 5.0 * median(&mut distances) + 1.0;
        let sum: f64 = distances.iter().map(|distance| distance.min(most)).sum();
        (sum / distances.len().max(1) as f64, distances.len())
    });
    match (from_begin.0, from_end.0, from_end.1) {
        (_, _, 0) => Varies::Unknown,
        (begin, end, count) if CLEARLY.iter().any(|&(ratio, least)| begin < ratio * end && count >= least) => {
            Varies::FromBegin(true)
        }
        (begin, end, _) if begin < LESS * end => Varies::FromBegin(false),
        (begin, end, _) if end < LESS * begin => Varies::FromEnd,
        _ => Varies::Alike,
    }
}

/// Returns how slow each rank is, or its GPU: the median over places of its own time over that of its peers, by own time.
fn slowness(samples: &[Samples], beside: &[f64], counts: &[usize], of_gpu: bool) -> Vec<f64> {
    let ranks = samples.first().map_or(0, |samples| samples.ranks.len());
    let mut ratios: Vec<Vec<(f64, f64)>> = vec![vec![]; ranks];
    for &place in counts {
        let of_ranks = samples[place].own_times(beside[place], of_gpu);
        let usual = median(&mut of_ranks.iter().copied().flatten().collect::<Vec<_>>());
        if usual >= LITTLE {
            for (ratios, own) in ratios.iter_mut().zip(of_ranks) {
                ratios.extend(own.map(|own| (own / usual, usual)));
            }
        }
    }
    ratios.into_iter().map(weighted_median).collect()
}

fn weighted_median(mut values: Vec<(f64, f64)>) -> f64 {
    values.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let half = values.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    let middle = values.iter().find(|(_, weight)| {
        sum += weight;
        sum >= half
    });
    middle.map_or(1.0, |(value, _)| *value)
}

fn fitted(samples: &Samples, slowness: &[f64], prefers_most: bool) -> f64 {
    let mut lengths: Vec<f64> = samples.ranks.iter().flatten().map(|sample| sample.length).collect();
    let longest = quantile(&mut lengths, 0.98);
    let step = longest / TRIES as f64;
    let rough = best(samples, slowness, prefers_most, (0..=TRIES).map(|n| step * n as f64).chain([f64::INFINITY]));
    if !rough.is_finite() || rough == 0.0 {
        return rough;
    }
    let close = (0..=TRIES).map(|n| rough + step * (2.0 * n as f64 / TRIES as f64 - 1.0));
    best(samples, slowness, prefers_most, close)
}

/// Returns the value of `beside` with the least cost; of equal ones the most or the least.
fn best(samples: &Samples, slowness: &[f64], prefers_most: bool, tries: impl Iterator<Item = f64>) -> f64 {
    let costs: Vec<(f64, f64)> = tries.map(|beside| (cost(samples, slowness, beside), beside)).collect();
    let least = costs.iter().map(|(cost, _)| *cost).fold(f64::INFINITY, f64::min);
    let mut equal = costs.iter().filter(|(cost, _)| *cost <= least * EQUAL.0 + EQUAL.1).map(|(_, beside)| *beside);
    let found = if prefers_most { equal.next_back() } else { equal.next() };
    found.unwrap_or(0.0)
}

/// Returns the mean distance of a rank's own times from its median, and of that from its slowness times the peers', summed
/// over ranks.
fn cost(samples: &Samples, slowness: &[f64], beside: f64) -> f64 {
    let of_ranks = medians(&samples.ranks, |sample| sample.own(beside));
    let pairs = || of_ranks.iter().zip(slowness).filter_map(|(own, slow)| Some((own.as_ref()?, slow)));
    let usual = median(&mut pairs().map(|(own, slow)| own / slow.max(0.01)).collect::<Vec<_>>());
    let apart: f64 = pairs().map(|(own, slow)| (own - slow * usual).abs()).sum();
    let within = samples.ranks.iter().zip(&of_ranks).filter_map(|(samples, middle)| {
        let middle = (*middle)?;
        let sum: f64 = samples.iter().map(|sample| (sample.own(beside) - middle).abs()).sum();
        Some(sum / samples.len().max(1) as f64)
    });
    apart + within.sum::<f64>()
}
