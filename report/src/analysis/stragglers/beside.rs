//! How much of a rank's own time runs beside the operation before it: found from how begins vary.
//!
//! Where the computation waits for an operation, the time from its end to the next begin does not depend on how long
//! others were waited for; where the computation runs beside it, the time from begin to begin does not. The first is
//! `own` with `beside` = 0, the second with `beside` without bound, and a prefetched operation that is awaited in the
//! middle has a `beside` between (see [`super::run`]). Of each place of a program, the two ways are compared by how much
//! they vary from step to step on each rank. Only where some place behind a stream's operations varies clearly less from
//! begin to begin, that stream's operations run beside computation, and `beside` is fitted at each place behind them:
//! with the least variation, and such that each rank is as slow in comparison with its peers as it is elsewhere. For
//! ranks that wait at a place in every step show no own time there, and any `beside` up to the length of their waits
//! would do. So it is where most ranks wait for a rank that is slow elsewhere, too: it is taken to be as slow here. A
//! rank that is late at such a place alone does something there that the others do not.

use super::programs::Program;
use super::robust::{median, quantile};
use super::run::{ALL, Beside, Run};
use rustc_hash::FxHashMap;

/// Nanoseconds behind the call before on its stream, within which a call was ready before it could begin.
const AT_ONCE: f64 = 12_000.0;
/// Nanoseconds by which begins of operations that CUDA events time may be early.
const EARLY: f64 = 100_000.0;
/// Steps of a rank that show how much a place varies, at least.
const STEPS: usize = 4;
/// Samples of a place that say something, at least.
const SAMPLES: usize = 40;
/// Most samples of a rank that a fit looks at.
const MOST: usize = 64;
/// Most ranks that a fit looks at.
const RANKS: usize = 64;
/// Ratios of variations, begin to begin over end to begin: below the first one, operations run beside computation; up
/// to the second, nobody waits here, and from its inverse on, somebody does.
const CLEARLY: f64 = 0.8;
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

/// The samples of a place by rank: time since the begin of the call before, and how long that one took.
type Samples = Vec<Vec<[f64; 2]>>;

fn own(&[since, length]: &[f64; 2], beside: f64) -> f64 {
    since - (length - beside).max(0.0)
}

/// Returns `beside` for each place of a program, nanoseconds.
pub(super) fn fit(program: &Program, runs: &[Run]) -> Vec<Beside> {
    let samples: Vec<Samples> = (0..program.places).map(|place| samples(program, runs, place)).collect();
    let streams: Vec<Option<u16>> = (0..program.places).map(|place| stream(program, runs, place)).collect();
    let varies: Vec<Varies> = samples.iter().map(varies).collect();
    let mut beside_of: FxHashMap<u16, bool> = FxHashMap::default();
    for (stream, varies) in streams.iter().zip(&varies) {
        if let Some(stream) = stream {
            *beside_of.entry(*stream).or_default() |= *varies == Varies::FromBegin(true);
        }
    }
    let is_beside = |place: usize| streams[place].is_some_and(|stream| beside_of[&stream]);
    let hides: Vec<bool> = samples.iter().map(hides).collect();
    let mut beside: Vec<f64> = (0..program.places)
        .map(|place| match varies[place] {
            _ if overlaps(&samples[place]) => f64::INFINITY,
            Varies::FromBegin(_) | Varies::Alike if is_beside(place) => f64::INFINITY,
            _ => 0.0,
        })
        .collect();
    if (0..program.places).any(|place| is_beside(place) || hides[place]) {
        for round in 0..ROUNDS {
            let counts = |place: usize| {
                varies[place] != Varies::Unknown
                    && !(round == 0 && is_beside(place) && varies[place] == Varies::FromEnd)
            };
            let slowness = slowness(&samples, &beside, &counts);
            let is_fitted = |&place: &usize| {
                let of = &samples[place];
                (is_beside(place) || hides[place] && is_slow_elsewhere(of, &slowness)) && !overlaps(of)
            };
            for place in (0..program.places).filter(is_fitted) {
                beside[place] = fitted(&samples[place], &slowness, matches!(varies[place], Varies::FromBegin(_)));
            }
        }
    }
    beside.into_iter().map(|beside| if beside.is_finite() { beside as Beside } else { ALL }).collect()
}

fn samples(program: &Program, runs: &[Run], place: usize) -> Samples {
    let every = program.steps.len().div_ceil(MOST).max(1);
    let ranks = program.gpus.len();
    let of_rank = |gpu: usize| {
        let steps = (0..program.steps.len()).step_by(every);
        let sample = |step: usize| {
            let call = *program.calls(step, gpu)?.get(place)?;
            let run = &runs[program.steps[step].0];
            let since = run.since(call as usize).filter(|_| run.is_known(call as usize))?;
            Some(since.map(|time| time as f64))
        };
        steps.filter_map(sample).collect()
    };
    (0..ranks).step_by(ranks.div_ceil(RANKS).max(1)).map(of_rank).collect()
}

/// Returns the stream of the call before a place, on the first rank that has one.
fn stream(program: &Program, runs: &[Run], place: usize) -> Option<u16> {
    (0..program.steps.len()).find_map(|step| {
        let (run, call) = (&runs[program.steps[step].0], *program.calls(step, 0)?.get(place)? as usize);
        run.before(call).map(|before| run.calls[before].stream)
    })
}

/// Returns whether calls begin before the call before has ended: the computation cannot have waited for it.
fn overlaps(samples: &Samples) -> bool {
    let all: usize = samples.iter().map(Vec::len).sum();
    let early = samples.iter().flatten().filter(|[since, length]| since + EARLY < *length).count();
    early * 50 > all
}

/// Returns whether a sample's call was ready before it could begin.
fn is_at_once([since, length]: &[f64; 2]) -> bool {
    since - length <= AT_ONCE
}

/// Returns whether most calls at a place were ready before they could begin, but not those of every rank.
fn hides(samples: &Samples) -> bool {
    let all: usize = samples.iter().map(Vec::len).sum();
    let at_once = samples.iter().flatten().filter(|sample| is_at_once(sample)).count();
    2 * at_once > all && at_once < all
}

/// Returns whether a rank that the others wait for at a place is slow elsewhere.
fn is_slow_elsewhere(samples: &Samples, slowness: &[f64]) -> bool {
    let is_awaited = |samples: &Vec<[f64; 2]>| 2 * samples.iter().filter(|it| is_at_once(it)).count() < samples.len();
    samples.iter().zip(slowness).any(|(samples, &slow)| slow > SLOW && is_awaited(samples))
}

fn varies(samples: &Samples) -> Varies {
    let mut distances: [Vec<f64>; 2] = [vec![], vec![]];
    for of_rank in samples {
        let free: Vec<&[f64; 2]> = of_rank.iter().filter(|sample| !is_at_once(sample)).collect();
        if free.len() < STEPS {
            continue;
        }
        for (beside, distances) in [0.0, f64::INFINITY].into_iter().zip(&mut distances) {
            let owns: Vec<f64> = free.iter().map(|sample| own(sample, beside)).collect();
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
        (begin, end, count) if begin < CLEARLY * end && count >= SAMPLES => Varies::FromBegin(true),
        (begin, end, _) if begin < LESS * end => Varies::FromBegin(false),
        (begin, end, _) if end < LESS * begin => Varies::FromEnd,
        _ => Varies::Alike,
    }
}

/// Returns each rank's median own time at a place.
fn medians(samples: &Samples, beside: f64) -> Vec<Option<f64>> {
    let of_rank = |of_rank: &Vec<[f64; 2]>| {
        let mut owns: Vec<f64> = of_rank.iter().map(|sample| own(sample, beside)).collect();
        (!owns.is_empty()).then(|| median(&mut owns))
    };
    samples.iter().map(of_rank).collect()
}

/// Returns how slow each rank is: the median over places of its own time over that of its peers, by own time.
fn slowness(samples: &[Samples], beside: &[f64], counts: &dyn Fn(usize) -> bool) -> Vec<f64> {
    let ranks = samples.first().map_or(0, Vec::len);
    let mut ratios: Vec<Vec<(f64, f64)>> = vec![vec![]; ranks];
    for (place, samples) in samples.iter().enumerate().filter(|(place, _)| counts(*place)) {
        let of_ranks = medians(samples, beside[place]);
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
    let mut lengths: Vec<f64> = samples.iter().flatten().map(|[_, length]| *length).collect();
    let longest = quantile(&mut lengths, 0.98);
    let tries = (0..=TRIES).map(|step| longest * step as f64 / TRIES as f64).chain([f64::INFINITY]);
    let costs: Vec<(f64, f64)> = tries.map(|beside| (cost(samples, slowness, beside), beside)).collect();
    let least = costs.iter().map(|(cost, _)| *cost).fold(f64::INFINITY, f64::min);
    let mut equal = costs.iter().filter(|(cost, _)| *cost <= least * EQUAL.0 + EQUAL.1).map(|(_, beside)| *beside);
    let found = if prefers_most { equal.next_back() } else { equal.next() };
    found.unwrap_or(0.0)
}

/// Returns the mean distance of a rank's own times from its median, and of that from its slowness times the peers', summed
/// over ranks.
fn cost(samples: &Samples, slowness: &[f64], beside: f64) -> f64 {
    let of_ranks = medians(samples, beside);
    let pairs = || of_ranks.iter().zip(slowness).filter_map(|(own, slow)| Some((own.as_ref()?, slow)));
    let usual = median(&mut pairs().map(|(own, slow)| own / slow.max(0.01)).collect::<Vec<_>>());
    let apart: f64 = pairs().map(|(own, slow)| (own - slow * usual).abs()).sum();
    let within = samples.iter().zip(&of_ranks).filter_map(|(samples, middle)| {
        let middle = (*middle)?;
        let sum: f64 = samples.iter().map(|sample| (own(sample, beside) - middle).abs()).sum();
        Some(sum / samples.len().max(1) as f64)
    });
    apart + within.sum::<f64>()
}
