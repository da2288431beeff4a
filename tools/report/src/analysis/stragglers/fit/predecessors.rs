//! Of the calls and computations before a place's calls, the one that these follow: that from which the distance varies
//! least, and which no call contradicts.

use super::hidden::{has_room, shortest};
use super::hosts::{beside, find_host};
use super::place::{
    GpuFrom, HostFrom, LAUNCH_NS, MIN_LAUNCHED_NS, MIN_OWN_NS, MIN_STEPS, PlacePath, Seen, all, is_empty, locations,
};
use super::slowness::Slowness;
use super::variation::{best, is_clearly_less, possible, variation};
use crate::analysis::robust::{median, median_of, quantile};
use crate::analysis::steps::CallToken;
use crate::analysis::stragglers::samples::CallSample;
use rustc_hash::FxHashMap;

/// Nanoseconds between two enqueues within which a host launches nothing else.
const MAX_EMPTY_NS: f64 = 40_000.0;
/// Nanoseconds to which begins and ends on the GPU are known.
const GPU_ACCURACY_NS: f64 = 5_000.0;
/// Distance of a rank's ratio at a place from its ratio elsewhere from which on the place is not understood.
const MAX_RATIO_DISTANCE: f64 = 0.03;
/// Share of a step by which a host is ahead that never waits, where its GPU's queue of launches is full, at least.
const MIN_FULL_QUEUE_SHARE: f64 = 0.5;
/// How many times as long as before calls that are alike a computation may be that is not seen, and nanoseconds more.
const UNSEEN_LIMITS: (f64, f64) = (3.0, 1_000_000.0);
/// How many times as many places as show what they follow may do the same.
const MAX_PLACES_RATIO: usize = 6;
/// Parts of a wait that a fit tries.
const PARTS_TRIED: usize = 10;

/// What calls show that are like those of a place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Alike {
    /// What most of them follow.
    pub(super) gpu: Option<GpuFrom>,
    /// The usual own time at the place before, where the same is computed.
    pub(super) before: Option<f64>,
    /// The usual own time before them.
    pub(super) usual: Option<f64>,
}

/// Finds what the calls at a place follow.
pub(super) fn find(
    samples: &[Vec<CallSample>],
    has_host: bool,
    step: f64,
    slowness: Option<&[Option<Slowness>]>,
    alike: Alike,
) -> PlacePath {
    let mut path = PlacePath { host: HostFrom::Enqueue, gpu: GpuFrom::Computation, ..PlacePath::BETWEEN };
    let mut leads: Vec<f64> = all(samples).map(|it| it.since_enqueued).filter(|it| it.is_finite()).collect();
    if !has_host {
        path.host = HostFrom::Unknown;
    } else if !leads.is_empty() {
        let least = quantile(&mut leads, 0.05);
        if least <= LAUNCH_NS.0 {
            path.launch = least as i64;
            path.at_once = (least + (0.5 * least).max(LAUNCH_NS.1)) as i64;
        }
        (path.host, path.host_usual) = find_host(samples);
        if let HostFrom::Waits(back) = path.host {
            path.beside = beside(samples, usize::from(back) - 1) as i64;
        }
        let since = all(samples).map(|it| it.host_since_enqueued).filter(|it| it.is_finite());
        let mut since: Vec<f64> = since.collect();
        path.is_empty = median(&mut since) < MAX_EMPTY_NS;
        path.full_queue =
            ((MIN_FULL_QUEUE_SHARE * step) as i64, since.iter().copied().fold(f64::INFINITY, f64::min) as i64);
    }
    let free: Vec<Vec<CallSample>> = samples
        .iter()
        .map(|of_rank| of_rank.iter().copied().filter(|it| path.seen_of(it) == Seen::Free).collect())
        .collect();
    let shows = free.iter().zip(samples).filter(|(free, all)| 2 * free.len() > all.len()).count();
    path.mostly_hidden = 2 * shows < samples.len();
    let is_clear;
    (path.gpu, is_clear) = find_gpu(samples, &free, &path, slowness, alike);
    if 2 * shows == samples.len() && !(is_clear && has_room(samples, &path, slowness)) {
        // those that show it may be those that no rank waits for, which follow everything alike
        path.mostly_hidden = true;
        (path.gpu, _) = find_gpu(samples, &free, &path, slowness, alike);
    }
    path
}

/// Returns what most calls of each token follow that show their computations; of two, what the later place follows. Few
/// that show them say nothing of the others.
pub(super) fn alike(places: &[PlacePath], tokens: &[CallToken]) -> FxHashMap<CallToken, GpuFrom> {
    let mut counts: FxHashMap<CallToken, Vec<(GpuFrom, [usize; 2])>> = FxHashMap::default();
    let mut of_token: FxHashMap<CallToken, usize> = FxHashMap::default();
    tokens.iter().for_each(|token| *of_token.entry(*token).or_default() += 1);
    let shows = |(_, (path, _)): &(usize, (&PlacePath, &CallToken))| {
        !path.mostly_hidden && !matches!(path.gpu, GpuFrom::Host(_))
    };
    for (place, (path, token)) in places.iter().zip(tokens).enumerate().filter(shows) {
        let of = counts.entry(*token).or_default();
        match of.iter_mut().find(|(gpu, _)| *gpu == path.gpu) {
            Some((_, [count, last])) => (*count, *last) = (*count + 1, place),
            None => of.push((path.gpu, [1, place])),
        }
    }
    let most = |(token, of): (CallToken, Vec<(GpuFrom, [usize; 2])>)| {
        let shown: usize = of.iter().map(|(_, [count, _])| count).sum();
        if MAX_PLACES_RATIO * shown < of_token[&token] {
            return None;
        }
        of.into_iter().max_by_key(|(_, order)| *order).map(|(gpu, _)| (token, gpu))
    };
    counts.into_iter().filter_map(most).collect()
}

fn find_gpu(
    samples: &[Vec<CallSample>],
    free: &[Vec<CallSample>],
    path: &PlacePath,
    slowness: Option<&[Option<Slowness>]>,
    alike: Alike,
) -> (GpuFrom, bool) {
    let since_end = |it: &CallSample, back: usize| it.since_end[back];
    let of = |gpu: GpuFrom| {
        let path = PlacePath { gpu, ..*path };
        variation(free, GPU_ACCURACY_NS, |it| path.own(it))
    };
    let is_idle = matches!(path.host, HostFrom::Waits(_));
    let ends = possible(samples, since_end, 20_000.0);
    let goes_on = of(GpuFrom::Computation);
    if path.mostly_hidden || goes_on.count == 0 {
        // a computation that is not seen is none that has waited for a call between
        let most = alike.usual.map_or(f64::INFINITY, |usual| UNSEEN_LIMITS.0 * usual + UNSEEN_LIMITS.1);
        let rooms = |gpu: GpuFrom| {
            let path = PlacePath { gpu, ..*path };
            shortest(samples, &path) <= most && has_room(samples, &path, slowness)
        };
        let nearest = ends.iter().map(|&back| GpuFrom::Waits(back as u8 + 1, 0)).find(|&gpu| rooms(gpu));
        return match alike.gpu.filter(|&gpu| rooms(gpu)).or(nearest.filter(|_| alike.gpu.is_some())) {
            _ if is_idle => (GpuFrom::Host(0), false),
            // nothing is computed: the call before says when the computation is over
            _ if path.is_empty || is_empty(samples) => (GpuFrom::Computation, false),
            Some(GpuFrom::Waits(back, ahead)) if ends.contains(&(usize::from(back) - 1)) => {
                (GpuFrom::Waits(back, ahead), false)
            }
            _ => (GpuFrom::Computation, false),
        };
    }
    let waits = |back: usize| GpuFrom::Waits(back as u8 + 1, 0);
    let best = best(ends.iter().map(|&back| (back, of(waits(back)))));
    let (found, least, is_clear) = match best {
        None => (GpuFrom::Computation, goes_on, true),
        Some((_, it)) if is_clearly_less(goes_on.within, it.within, it.count) => (GpuFrom::Computation, goes_on, true),
        Some((back, it)) => (waits(back), it, is_clearly_less(it.within, goes_on.within, it.count)),
    };
    if path.host != HostFrom::Unknown {
        let alone = of(GpuFrom::Host(0));
        let both = ends.iter().map(|&back| (back + 1, of(GpuFrom::Host(back as u8 + 1))));
        let both = both.reduce(|best, it| if it.1.total() < 0.9 * best.1.total() { it } else { best });
        let (back, host) = both.filter(|(_, it)| it.total() < 0.8 * alone.total()).unwrap_or((0, alone));
        // a late host is apart from its peers after the end that it waited for, and not from its launch on
        if is_idle && (alone.within <= 1.1 * least.within || alone.total() < 0.5 * least.total()) {
            return (GpuFrom::Host(0), true);
        }
        // a call that begins at once was launched
        let is_far = median_of(all(free).map(|it| it.since_enqueued)) > MIN_LAUNCHED_NS;
        if is_far && is_clearly_less(host.within, least.within, host.count) {
            return (GpuFrom::Host(back as u8), true);
        }
    }
    let is_odd = || slowness.is_some_and(|slowness| is_unlike(free, slowness, &PlacePath { gpu: found, ..*path }));
    // after a wait of the host, a GPU waits for what a late host launches, and is as slow as that
    let (Some(slowness), Some((back, _)), true) = (slowness, best, !is_idle && (!is_clear || is_odd())) else {
        return (found, is_clear);
    };
    // times alone do not tell: ranks are as slow here as elsewhere
    let cost_with = |gpu: GpuFrom, with_mixed: bool| {
        let path = PlacePath { gpu, ..*path };
        of(gpu).within + unlike(free, slowness, with_mixed, |it| path.own(it))
    };
    let cost = |gpu: GpuFrom| cost_with(gpu, true);
    let mut least = (found, 0.98 * cost(found));
    let distances = all(free).map(|it| it.since_computed - it.since_end[back]);
    let mut distances: Vec<f64> = distances.filter(|it| it.is_finite()).collect();
    let most = quantile(&mut distances, 0.98).max(0.0);
    let partly =
        (1..PARTS_TRIED).map(|n| GpuFrom::Waits(back as u8 + 1, (most * n as f64 / PARTS_TRIED as f64) as i64));
    let alike_by = GpuFrom::Waits(back as u8 + 1, ahead_of(free, slowness, back) as i64);
    for gpu in partly.chain([GpuFrom::Computation, alike_by]) {
        let cost = cost(gpu);
        if cost < least.1 {
            least = (gpu, cost);
        }
    }
    // calls that are like this one follow the same
    let is_possible = |gpu: &GpuFrom| match gpu {
        GpuFrom::Waits(back, _) => ends.contains(&(usize::from(*back) - 1)),
        _ => true,
    };
    // where a rank is slow in some of what it does, it may be so here: what was computed before the last call goes on
    let before = alike.before.filter(|_| slowness.iter().flatten().any(|slow| slow.is_mixed));
    let before = before.filter(|before| *before > 0.0).map(|before| GpuFrom::Waits(back as u8 + 1, before as i64));
    if let Some(gpu) = before.filter(|&gpu| cost_with(gpu, false) < 1.05 * cost_with(least.0, false)) {
        return (gpu, false);
    }
    let alike = alike.gpu.filter(is_possible).filter(|&gpu| cost(gpu) < 1.05 * least.1);
    (alike.unwrap_or(least.0), false)
}

/// Returns the part of a computation that does not wait for the end of the call so many calls before, with which ranks
/// are as slow as elsewhere, nanoseconds: no computation is longer than it takes the rank that never waits.
fn ahead_of(samples: &[Vec<CallSample>], slowness: &[Option<Slowness>], back: usize) -> f64 {
    let middle = |of_rank: &Vec<CallSample>, of: &dyn Fn(&CallSample) -> f64| {
        (of_rank.len() >= MIN_STEPS).then(|| median_of(of_rank.iter().map(of)))
    };
    let ranks = || samples.iter().zip(slowness.iter().map(|slow| slow.map_or(1.0, |it| it.ratio)));
    let most = ranks().filter_map(|(of_rank, slow)| Some(middle(of_rank, &|it| it.since_computed)? / slow));
    let like = most.fold(f64::INFINITY, f64::min);
    let ahead = |(of_rank, slow)| Some(like * slow - middle(of_rank, &|it| it.since_end[back])?);
    median_of(ranks().filter_map(ahead).filter(|it| it.is_finite())).max(0.0)
}

/// Returns whether a rank's ratio to its peers is another one than elsewhere.
fn is_unlike(samples: &[Vec<CallSample>], slowness: &[Option<Slowness>], path: &PlacePath) -> bool {
    let of_ranks = locations(samples, path);
    let usual = median_of(of_ranks.iter().copied().flatten());
    let is_unlike = |(own, slow): (&Option<f64>, &Option<Slowness>)| {
        own.zip(*slow).is_some_and(|(own, slow)| (own / usual - slow.ratio).abs() > MAX_RATIO_DISTANCE)
    };
    usual >= MIN_OWN_NS && of_ranks.iter().zip(slowness).any(is_unlike)
}

/// Returns how far the ranks' usual times are from the common one times their slowness, in sum.
fn unlike(
    samples: &[Vec<CallSample>],
    slowness: &[Option<Slowness>],
    with_mixed: bool,
    own: impl Fn(&CallSample) -> f64,
) -> f64 {
    let of_rank = |(of_rank, slow): (&Vec<CallSample>, &Option<Slowness>)| {
        let mut values: Vec<f64> = of_rank.iter().map(&own).collect();
        slow.filter(|slow| values.len() >= MIN_STEPS && (with_mixed || !slow.is_mixed))
            .map(|slow| (median(&mut values), slow.ratio))
    };
    let ranks: Vec<(f64, f64)> = samples.iter().zip(slowness).filter_map(of_rank).collect();
    let usual = median_of(ranks.iter().map(|(own, slow)| own / slow));
    ranks.iter().map(|(own, slow)| (own - slow * usual).abs()).sum::<f64>()
}
