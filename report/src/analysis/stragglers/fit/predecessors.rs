//! Of the calls and computations before a place's calls, the one that these follow: that from which the distance varies
//! least, and which no call contradicts.

use super::hidden::{has_room, shortest};
use super::place::{FAR, GpuFrom, HostFrom, LAUNCH, LITTLE, PlacePath, STEPS, Seen, all, is_empty, locations};
use super::slowness::Slowness;
use super::variation::{Variation, best, is_clearly_less, variation};
use crate::analysis::steps::CallToken;
use crate::analysis::stragglers::programs::Program;
use crate::analysis::stragglers::robust::{median, quantile};
use crate::analysis::stragglers::run::CallRun;
use crate::analysis::stragglers::samples::{BACK, CallSample, samples};
use rustc_hash::FxHashMap;

/// Share of the calls that may contradict a predecessor.
const CONTRADICT: f64 = 0.02;
/// Nanoseconds by which an enqueue may be before the end that the host waited for: the kernel that it waited for may be
/// another one, which ends a little earlier.
pub(in super::super) const HOST_EARLY: i64 = 250_000;
/// Nanoseconds by which the enqueue of a host that runs ahead is before the end of the call before, at least, and how
/// many times more than begins the enqueues of a host vary that says nothing.
const AHEAD: f64 = 3_000_000.0;
const FOLLOWS: f64 = 1.3;
/// Share of a long time between two enqueues up to which a host goes on behind an end that it waited for.
const BEHIND: f64 = 0.1;
/// Nanoseconds between two enqueues within which a host launches nothing else.
const NOTHING: f64 = 40_000.0;
/// Share of the time between two enqueues from which on a host waits in it, and nanoseconds at least.
const WAITS: (f64, f64) = (0.03, 100_000.0);
/// Nanoseconds to which enqueues, and begins and ends on the GPU, are known.
const OF_HOST: f64 = 50_000.0;
const OF_GPU: f64 = 5_000.0;
/// Distance of a rank's ratio at a place from its ratio elsewhere from which on the place is not understood.
const UNLIKE: f64 = 0.03;
/// Share of a step by which a host is ahead that never waits, where its GPU's queue of launches is full, at least.
const FULL: f64 = 0.5;
/// How many times as long as before calls that are alike a computation may be that nobody sees, and nanoseconds more.
const UNSEEN: (f64, f64) = (3.0, 1_000_000.0);
/// How many times as many places as show what they follow may do the same.
const FEW: usize = 6;
/// Parts of a wait that a fit tries.
const TRIES: usize = 10;

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
        if least <= LAUNCH.0 {
            path.launch = least as i64;
            path.at_once = (least + (0.5 * least).max(LAUNCH.1)) as i64;
        }
        (path.host, path.host_usual) = find_host(samples);
        if let HostFrom::Waits(back) = path.host {
            path.beside = beside(samples, usize::from(back) - 1) as i64;
        }
        let since = all(samples).map(|it| it.host_since_enqueued).filter(|it| it.is_finite());
        let mut since: Vec<f64> = since.collect();
        path.is_empty = median(&mut since) < NOTHING;
        path.full_queue = ((FULL * step) as i64, since.iter().copied().fold(f64::INFINITY, f64::min) as i64);
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
        // those that show it may be those that nobody waits for, which follow everything alike
        path.mostly_hidden = true;
        (path.gpu, _) = find_gpu(samples, &free, &path, slowness, alike);
    }
    path
}

/// Returns whether enqueues say nothing: none is known, or they are never much before the end of the call before, and
/// follow from nothing as closely as begins do. They are then some time before the begin, whatever kept that.
pub(super) fn host_follows(program: &Program, runs: &[CallRun], computed: &[Vec<i64>], scales: &[f64]) -> bool {
    let [mut of_begins, mut of_enqueues] = [0.0; 2];
    let [mut ahead, mut count] = [0, 0];
    for place in 0..program.places {
        let samples = samples(program, runs, computed, scales, place);
        let known = all(&samples).filter(|it| it.host_since_end[0].is_finite());
        let [is_ahead, is_known] =
            known.fold([0, 0], |sums, it| [sums[0] + usize::from(it.host_since_end[0] < -AHEAD), sums[1] + 1]);
        (ahead, count) = (ahead + is_ahead, count + is_known);
        let least = |of: &dyn Fn(&CallSample, usize) -> f64| {
            let within = |back: usize| variation(&samples, 0.0, |it| of(it, back)).within;
            (0..BACK).map(within).fold(f64::INFINITY, f64::min)
        };
        of_begins += least(&|it, back| it.since_end[back]).min(variation(&samples, 0.0, |it| it.since_computed).within);
        of_enqueues += least(&|it, back| it.host_since_end[back])
            .min(variation(&samples, 0.0, |it| it.host_since_enqueued).within);
    }
    count == 0 || (ahead as f64) < CONTRADICT * count as f64 && of_enqueues > FOLLOWS * of_begins
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
        if FEW * shown < of_token[&token] {
            return None;
        }
        of.into_iter().max_by_key(|(_, order)| *order).map(|(gpu, _)| (token, gpu))
    };
    counts.into_iter().filter_map(most).collect()
}

fn find_host(samples: &[Vec<CallSample>]) -> (HostFrom, f64) {
    let since_end = |it: &CallSample, back: usize| it.host_since_end[back];
    let goes_on_of = |samples: &[Vec<CallSample>]| variation(samples, OF_HOST, |it| it.host_since_enqueued);
    let best_of = |samples: &[Vec<CallSample>]| {
        let of = |back: usize| (back, variation(samples, OF_HOST, |it| it.host_since_end[back]));
        best(possible(samples, since_end, HOST_EARLY as f64).into_iter().map(of))
    };
    let goes_on = goes_on_of(samples);
    let is_less = |it: &Variation| {
        it.within < 0.9 * goes_on.within || it.within < 1.1 * goes_on.within && it.total() < 0.9 * goes_on.total()
    };
    if let Some((back, _)) = best_of(samples).filter(|(_, it)| is_less(it)) {
        return (HostFrom::Waits(back as u8 + 1), 0.0);
    }
    // in some steps
    let mut distances: Vec<f64> = all(samples).map(|it| it.host_since_enqueued).filter(|it| it.is_finite()).collect();
    let far = 3.0 * quantile(&mut distances, 0.4) + 500_000.0;
    let outside: Vec<Vec<CallSample>> = samples
        .iter()
        .map(|of_rank| of_rank.iter().copied().filter(|it| it.host_since_enqueued > far).collect())
        .collect();
    let count = all(&outside).count();
    if count as f64 > 0.03 * distances.len() as f64 && count >= STEPS {
        let goes_on = goes_on_of(&outside);
        if let Some((back, _)) = best_of(&outside).filter(|(_, best)| best.total() < 0.5 * goes_on.total()) {
            return (HostFrom::Sometimes(back as u8 + 1), far);
        }
    }
    // in few steps: each long time ends just behind an end
    let behind = |back: usize| {
        let of = all(&outside).map(|it| it.host_since_end[back]);
        let of = of.map(|it| if it > -HOST_EARLY as f64 { it.max(0.0) } else { f64::INFINITY });
        of.fold(0.0, f64::max)
    };
    let shortest = all(&outside).map(|it| it.host_since_enqueued).fold(f64::INFINITY, f64::min);
    let nearest = (0..BACK).map(|back| (back, behind(back))).min_by(|one, other| one.1.total_cmp(&other.1));
    match nearest.filter(|(_, behind)| count > 0 && *behind < BEHIND * shortest) {
        Some((back, _)) => (HostFrom::Sometimes(back as u8 + 1), far),
        None => (HostFrom::Enqueue, 0.0),
    }
}

/// Returns how much of its own time a host that waits for an end may do beside that call, nanoseconds: with it, hosts
/// are as fast as the one that never waits. 0 where the time from the end on clearly stays the same.
fn beside(samples: &[Vec<CallSample>], back: usize) -> f64 {
    let middle = |of_rank: &[CallSample], of: &dyn Fn(&CallSample) -> f64| {
        let mut values: Vec<f64> = of_rank.iter().map(of).filter(|it| it.is_finite()).collect();
        (values.len() >= STEPS).then(|| median(&mut values))
    };
    let enqueued = |of_rank: &[CallSample]| middle(of_rank, &|it| it.host_since_enqueued);
    let waits = |of_rank: &&Vec<CallSample>| {
        let wait = middle(of_rank, &|it| it.host_since_enqueued - it.host_since_end[back]);
        wait.zip(enqueued(of_rank)).is_some_and(|(wait, since)| wait > (WAITS.0 * since).max(WAITS.1))
    };
    let waiting: Vec<Vec<CallSample>> = samples.iter().filter(waits).cloned().collect();
    // where all wait, none shows how long its host takes without
    if waiting.is_empty() || waiting.len() == samples.len() {
        return 0.0;
    }
    let of_end = variation(&waiting, OF_HOST, |it| it.host_since_end[back]);
    let of_enqueue = variation(&waiting, OF_HOST, |it| it.host_since_enqueued);
    if is_clearly_less(of_end.within, of_enqueue.within, of_end.count) {
        return 0.0;
    }
    let like = samples.iter().filter_map(|of_rank| enqueued(of_rank)).fold(f64::INFINITY, f64::min);
    let ends = waiting.iter().filter_map(|of_rank| middle(of_rank, &|it| it.host_since_end[back]));
    ends.map(|end| like - end).fold(0.0, f64::max)
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
        variation(free, OF_GPU, |it| path.own(it))
    };
    let is_idle = matches!(path.host, HostFrom::Waits(_));
    let ends = possible(samples, since_end, 20_000.0);
    let goes_on = of(GpuFrom::Computation);
    if path.mostly_hidden || goes_on.count == 0 {
        // a computation that nobody sees is none that has waited for a call between
        let most = alike.usual.map_or(f64::INFINITY, |usual| UNSEEN.0 * usual + UNSEEN.1);
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
        // a late host is apart from its peers behind the end that it waited for, and not from its launch on
        if is_idle && (alone.within <= 1.1 * least.within || alone.total() < 0.5 * least.total()) {
            return (GpuFrom::Host(0), true);
        }
        // a call that begins at once was launched
        let is_far = median(&mut all(free).map(|it| it.since_enqueued).collect::<Vec<f64>>()) > FAR;
        if is_far && is_clearly_less(host.within, least.within, host.count) {
            return (GpuFrom::Host(back as u8), true);
        }
    }
    let is_odd = || slowness.is_some_and(|slowness| is_unlike(free, slowness, &PlacePath { gpu: found, ..*path }));
    // behind a wait of the host, a GPU waits for what a late host launches, and is as slow as that
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
    let partly = (1..TRIES).map(|n| GpuFrom::Waits(back as u8 + 1, (most * n as f64 / TRIES as f64) as i64));
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

/// Returns the ends that no call contradicts, by how many calls before.
fn possible(samples: &[Vec<CallSample>], since: fn(&CallSample, usize) -> f64, early: f64) -> Vec<usize> {
    let count = all(samples).count();
    let is_possible = |back: &usize| {
        let known = all(samples).map(|it| since(it, *back)).filter(|it| it.is_finite());
        let (before, known) = known.fold((0, 0), |(before, known), it| (before + usize::from(it < -early), known + 1));
        2 * known > count && before as f64 <= CONTRADICT * known as f64
    };
    (0..BACK).filter(is_possible).collect()
}

/// Returns the part of a computation that does not wait for the end of the call so many calls before, with which ranks
/// are as slow as elsewhere, nanoseconds: no computation is longer than it takes the rank that never waits.
fn ahead_of(samples: &[Vec<CallSample>], slowness: &[Option<Slowness>], back: usize) -> f64 {
    let middle = |of_rank: &Vec<CallSample>, of: &dyn Fn(&CallSample) -> f64| {
        (of_rank.len() >= STEPS).then(|| median(&mut of_rank.iter().map(of).collect::<Vec<f64>>()))
    };
    let ranks = || samples.iter().zip(slowness.iter().map(|slow| slow.map_or(1.0, |it| it.ratio)));
    let most = ranks().filter_map(|(of_rank, slow)| Some(middle(of_rank, &|it| it.since_computed)? / slow));
    let like = most.fold(f64::INFINITY, f64::min);
    let ahead = |(of_rank, slow)| Some(like * slow - middle(of_rank, &|it| it.since_end[back])?);
    median(&mut ranks().filter_map(ahead).filter(|it| it.is_finite()).collect::<Vec<f64>>()).max(0.0)
}

/// Returns whether a rank's ratio to its peers is another one than elsewhere.
fn is_unlike(samples: &[Vec<CallSample>], slowness: &[Option<Slowness>], path: &PlacePath) -> bool {
    let of_ranks = locations(samples, path);
    let usual = median(&mut of_ranks.iter().copied().flatten().collect::<Vec<f64>>());
    let is_unlike = |(own, slow): (&Option<f64>, &Option<Slowness>)| {
        own.zip(*slow).is_some_and(|(own, slow)| (own / usual - slow.ratio).abs() > UNLIKE)
    };
    usual >= LITTLE && of_ranks.iter().zip(slowness).any(is_unlike)
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
        slow.filter(|slow| values.len() >= STEPS && (with_mixed || !slow.is_mixed))
            .map(|slow| (median(&mut values), slow.ratio))
    };
    let ranks: Vec<(f64, f64)> = samples.iter().zip(slowness).filter_map(of_rank).collect();
    let usual = median(&mut ranks.iter().map(|(own, slow)| own / slow).collect::<Vec<f64>>());
    ranks.iter().map(|(own, slow)| (own - slow * usual).abs()).sum::<f64>()
}
