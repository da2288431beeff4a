//! What the calls at each place of a program follow from: found from how times vary over steps and ranks.
//!
//! Of the possible predecessors of a time, the true one is that from which the distance stays the same, while the
//! distances from the others vary with the waits. It is sought among the calls of all ranks of a program: they do the
//! same. A call that was ready before it could begin shows no more than that its computation was over.

use super::paths::CallPath;
use super::programs::Program;
use super::robust::{median, quantile};
use super::run::CallRun;
use super::samples::{BACK, CallSample, is_nearly_queued, is_queued, samples};
use crate::analysis::steps::CallToken;

/// Steps of a rank that show how much a place varies, at least.
const STEPS: usize = 4;
/// Share of the calls that may contradict a predecessor.
const CONTRADICT: f64 = 0.02;
/// Ratios of variations, and samples of a place: below the ratio, with so many samples at least, one is clearly less.
const CLEARLY: [(f64, usize); 2] = [(0.8, 40), (0.5, 12)];
/// Nanoseconds from an enqueue to the begin of a call that nothing else keeps, at most, and where it is not seen.
const LAUNCH: (f64, f64) = (100_000.0, 30_000.0);
/// Nanoseconds from an enqueue to the begin from which on a computation that the host launched is between them.
const FAR: f64 = 300_000.0;
/// Nanoseconds by which an enqueue may be before the end that the host waited for: the kernel that it waited for may be
/// another one, which ends a little earlier.
pub(super) const HOST_EARLY: i64 = 250_000;
/// Nanoseconds by which the enqueue of a host that runs ahead is before the end of the call before, at least, and how many
/// times more than begins the enqueues of a host vary that says nothing.
const AHEAD: f64 = 3_000_000.0;
const FOLLOWS: f64 = 1.3;
/// Nanoseconds between two enqueues within which a host launches nothing else.
const NOTHING: f64 = 40_000.0;
/// Nanoseconds to which enqueues, and begins and ends on the GPU, are known.
const OF_HOST: f64 = 50_000.0;
const OF_GPU: f64 = 5_000.0;
/// Own time of a place below which it says nothing of how slow a rank is, nanoseconds.
const LITTLE: f64 = 20_000.0;
/// How much slower a rank may be, for its slowness elsewhere to say how slow it is where it is hidden.
const SLOWEST: f64 = 2.0;
/// Distance of two ratios that agree, and share of the time that agrees at least.
const AGREE: (f64, f64) = (0.04, 0.3);
/// Distance of a rank's ratio at a place from its ratio elsewhere from which on the place is not understood.
const UNLIKE: f64 = 0.03;
/// Share of a computation for which a hidden one has room at least, and the same where slowness is not known.
const ROOM: [f64; 2] = [0.85, 0.6];
/// Share of its samples that a rank shows which shows nothing, at most, and which shows what it computes, at least.
const SHOWN: [f64; 2] = [0.1, 0.7];
/// Differences of steps up to which these compute the same.
const STEADY: f64 = 0.15;
/// What a rank shows of a step to say how much it computes in it, as a part of what any rank shows.
const SHOWS: f32 = 0.2;
/// Parts of a wait that a fit tries.
const TRIES: usize = 10;
/// Rounds in which the computations of a step are followed, at least and at most: those of its first place need those of
/// its last one, and what places follow needs how slow ranks are.
const ROUNDS: [usize; 2] = [3, 7];
/// Change of a slowness from one round to the next up to which it is the same.
const SAME: f64 = 0.005;

/// What the enqueue of a call follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostFrom {
    /// Nothing: it says nothing.
    Unknown,
    /// The enqueue before.
    Enqueue,
    /// The end of the call so many calls before.
    Waits(u8),
    /// That in some steps, and the enqueue before in others.
    Sometimes(u8),
}

/// What the computation before a call follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GpuFrom {
    /// The computation before.
    Computation,
    /// That, and the end of the call so many calls before; but so many nanoseconds of it go on beside that.
    Waits(u8, i64),
    /// The host, whose launch the GPU waits for, and the end of the call so many calls before, if not 0.
    Host(u8),
}

/// How far a computation's end is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// The call began when it was over.
    Free,
    /// The call began when the host had launched it.
    Launched,
    /// The call began when another one had ended.
    Queued,
}

/// How own times that were not seen are taken: what they can be decides how much there is to gain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hidden {
    /// As long as those of the other ranks, and as slow as the rank is elsewhere.
    Usual,
    /// As long as those of the slowest rank.
    Longest,
    /// As short as those of a rank that is faster by as much as any rank is slower.
    Shortest,
}

/// What the calls at a place of a program follow.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacePath {
    pub(super) host: HostFrom,
    pub(super) gpu: GpuFrom,
    /// From the enqueue to the begin of a call that nothing else keeps, nanoseconds.
    pub(super) launch: i64,
    /// Nanoseconds from the enqueue within which a call began at once.
    pub(super) at_once: i64,
    /// Where the host waits in some steps, from how long on.
    pub(super) host_usual: f64,
    /// Whether most ranks do not show their computations.
    pub(super) mostly_hidden: bool,
    /// Whether times vary so that there is no doubt.
    pub(super) is_clear: bool,
    /// Whether hosts launch nothing between the call before and this one.
    pub(super) is_empty: bool,
    /// Time in which ranks may compute so that nobody sees it, nanoseconds.
    pub(super) unseen: f64,
}

impl PlacePath {
    /// Of a call of which nothing is known.
    pub(super) const BETWEEN: Self = Self {
        host: HostFrom::Waits(1),
        gpu: GpuFrom::Waits(1, 0),
        launch: LAUNCH.1 as i64,
        at_once: 0,
        host_usual: 0.0,
        mostly_hidden: false,
        is_clear: false,
        is_empty: false,
        unseen: 0.0,
    };

    pub(super) fn seen(&self, run: &CallRun, call: usize) -> Seen {
        let lead = i64::from(run.calls[call].lead);
        if self.is_empty || is_queued(run, call) {
            Seen::Queued
        } else if lead > 0 && lead <= self.at_once {
            Seen::Launched
        } else {
            Seen::Free
        }
    }

    fn seen_of(&self, sample: &CallSample) -> Seen {
        if self.is_empty || sample.is_queued {
            Seen::Queued
        } else if sample.since_enqueued <= self.at_once as f64 {
            Seen::Launched
        } else {
            Seen::Free
        }
    }

    fn own(&self, sample: &CallSample) -> f64 {
        match self.gpu {
            GpuFrom::Host(0) if sample.since_enqueued.is_finite() => sample.since_enqueued,
            // NaN gives way to any number
            GpuFrom::Host(back) if sample.since_enqueued.is_finite() => {
                sample.since_enqueued.min(sample.since_end[usize::from(back) - 1])
            }
            GpuFrom::Waits(back, ahead) if sample.since_end[usize::from(back) - 1].is_finite() => {
                sample.since_computed.min(sample.since_end[usize::from(back) - 1] + ahead as f64)
            }
            _ => sample.since_computed,
        }
    }
}

/// Follows the calls of a program, and fills in what each follows and when the computation before it was over. What the
/// places follow is found, unless it is known.
pub(super) fn follow(
    program: &Program,
    runs: &[CallRun],
    hidden: Hidden,
    known: Option<&[PlacePath]>,
    paths: &mut [Vec<CallPath>],
    computed: &mut [Vec<i64>],
) -> Vec<PlacePath> {
    let mut places: Vec<PlacePath> = vec![];
    let mut slowness: Option<Vec<Option<f64>>> = None;
    let tokens = tokens(program, runs);
    if program.steps.len() < STEPS {
        // too few steps to see how times vary: each call waits for the one before
        return vec![PlacePath::BETWEEN; program.places];
    }
    let mut scales = vec![1.0; program.steps.len()];
    let has_host = known.is_none() && !host_follows(program, runs, computed, &scales);
    let [least, most] = ROUNDS;
    let rounds = if known.is_some() { least - 1 } else { most };
    let mut shown_before: Vec<Vec<Option<f64>>> = vec![];
    for round in 1..=rounds {
        let mut of_steps = vec![[0.0_f32; 2]; program.steps.len() * program.gpus.len()];
        let mut ratios: [Vec<Vec<Ratio>>; 2] = std::array::from_fn(|_| vec![vec![]; program.gpus.len()]);
        let mut shown_now = vec![];
        let last = std::mem::take(&mut places);
        for place in 0..program.places {
            let samples = samples(program, runs, computed, &scales, place);
            let slow = slowness.as_deref();
            let path = match known {
                Some(known) => known[place],
                None => find(&samples, has_host, slow, alike(&last, &tokens, place)),
            };
            let of_ranks = locations(&samples, &path);
            let twin = twin(&of_ranks, &shown_before, &tokens, place);
            let usual = usual(&samples, &path, &of_ranks, twin, slow, hidden);
            shown_now.push(of_ranks);
            let hides: Vec<bool> = samples.iter().map(|of_rank| shown(of_rank, &path) < SHOWN[0]).collect();
            let path = PlacePath { unseen: unseen(&samples, &path, &usual), ..path };
            if !path.mostly_hidden {
                let of_host = usize::from(matches!(path.gpu, GpuFrom::Host(_)));
                slow_at(&samples, &path, [LITTLE, FAR][of_host], &mut ratios[of_host]);
            }
            for step in 0..program.steps.len() {
                let stretch = program.steps[step].0;
                let run = &runs[stretch];
                for gpu in 0..program.gpus.len() {
                    let Some(&call) = program.calls(step, gpu).and_then(|calls| calls.get(place)) else { continue };
                    let call = call as usize;
                    let seen = match path.seen(run, call) {
                        Seen::Free if hides[gpu] && is_nearly_queued(run, call) => Seen::Queued,
                        seen => seen,
                    };
                    (paths[stretch][call], computed[stretch][call]) =
                        CallPath::of(run, call, &computed[stretch], &path, usual[gpu] * scales[step], seen);
                    if seen == Seen::Free && usual[gpu] >= LITTLE {
                        let [own, usually] = &mut of_steps[step * program.gpus.len() + gpu];
                        (*own, *usually) = (*own + paths[stretch][call].gpu as f32, *usually + usual[gpu] as f32);
                    }
                }
            }
            places.push(path);
        }
        // the places that show it say how slow ranks are, and that says what the others follow
        // from the host's launch on, a part of a computation may be over
        let [of_gpu, of_host] = ratios;
        let best =
            of_gpu.iter().zip(&of_host).map(|(of_gpu, of_host)| if of_gpu.is_empty() { of_host } else { of_gpu });
        let found: Vec<Option<f64>> = best.map(|of_rank| agreed(of_rank)).collect();
        let is_same = slowness.as_ref().is_some_and(|before| is_like(&found, before));
        slowness = Some(found);
        scales = steady(of_steps.chunks(program.gpus.len()).map(scale).collect());
        shown_before = shown_now;
        if is_same && round >= least {
            break;
        }
    }
    places
}

/// Returns how many times as much as usual the ranks compute in a step, from what each shows of it and usually takes for
/// that: batches and sequences may have other lengths in each step. One rank alone says nothing of the others.
fn scale(of_ranks: &[[f32; 2]]) -> f64 {
    let most = of_ranks.iter().map(|it| it[1]).fold(0.0, f32::max);
    let shows = of_ranks.iter().filter(|[_, usual]| *usual > 0.0 && *usual >= SHOWS * most);
    let mut scales: Vec<f32> = shows.map(|[own, usual]| own / usual).collect();
    scales.sort_unstable_by(f32::total_cmp);
    // of two, the faster one: the other may pause
    if scales.len() < 2 { 1.0 } else { f64::from(scales[(scales.len() - 1) / 2]) }
}

/// Returns the scales of steps where they differ by more than chance, otherwise 1.
fn steady(mut scales: Vec<f64>) -> Vec<f64> {
    let mut sorted = scales.clone();
    let [low, high] = [0.1, 0.9].map(|share| quantile(&mut sorted, share));
    if high - low < STEADY {
        scales.fill(1.0);
    }
    scales
}

/// Returns what ranks show at another place before a call of the same token, where the ranks that show this place take as
/// long as at that one: there the same is computed.
fn twin<'a>(
    of_ranks: &[Option<f64>],
    shown: &'a [Vec<Option<f64>>],
    tokens: &[CallToken],
    place: usize,
) -> Option<&'a [Option<f64>]> {
    let is_hidden = |rank: &usize| of_ranks[*rank].is_none();
    let hidden: Vec<usize> = (0..of_ranks.len()).filter(is_hidden).collect();
    let is_same = |(one, other): (&Option<f64>, &Option<f64>)| match (one, other) {
        (Some(one), Some(other)) => *one >= LITTLE && (one / other - 1.0).abs() <= AGREE.0 / 2.0,
        (here, _) => here.is_none(),
    };
    let is_twin = |other: &usize| {
        tokens[*other] == tokens[place]
            && *other != place
            && hidden.iter().all(|&rank| shown[*other][rank].is_some())
            && of_ranks.iter().zip(&shown[*other]).all(is_same)
    };
    if hidden.is_empty() || hidden.len() == of_ranks.len() {
        return None;
    }
    let nearest = (0..shown.len()).filter(is_twin).min_by_key(|other| other.abs_diff(place))?;
    Some(&shown[nearest])
}

/// Returns the tokens of a program's places.
pub(super) fn tokens(program: &Program, runs: &[CallRun]) -> Vec<CallToken> {
    let steps = (0..program.steps.len()).flat_map(|step| (0..program.gpus.len()).map(move |gpu| (step, gpu)));
    let calls = |(step, gpu): (usize, usize)| Some((&runs[program.steps[step].0], program.calls(step, gpu)?));
    let token = |(run, calls): (&CallRun, &[u32])| calls.iter().map(|&call| run.calls[call as usize].token).collect();
    steps.filter_map(calls).next().map(token).unwrap_or_default()
}

/// Returns whether enqueues say nothing: they are never much before the end of the call before, and follow from nothing as
/// closely as begins do. They are then some time before the begin, whatever kept that.
fn host_follows(program: &Program, runs: &[CallRun], computed: &[Vec<i64>], scales: &[f64]) -> bool {
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
    count > 0 && (ahead as f64) < CONTRADICT * count as f64 && of_enqueues > FOLLOWS * of_begins
}

/// Returns what most calls follow that are like those of a place and show their computations.
fn alike(places: &[PlacePath], tokens: &[CallToken], place: usize) -> Option<GpuFrom> {
    let is_alike = |&(path, token): &(&PlacePath, &CallToken)| {
        *token == tokens[place] && !path.mostly_hidden && !matches!(path.gpu, GpuFrom::Host(_))
    };
    let of: Vec<GpuFrom> = places.iter().zip(tokens).filter(is_alike).map(|(path, _)| path.gpu).collect();
    of.iter().copied().max_by_key(|it| of.iter().filter(|other| *other == it).count())
}

/// A rank's own time at a place, as a part of the usual one.
#[derive(Debug, Clone, Copy)]
struct Ratio {
    ratio: f64,
    /// The usual own time, nanoseconds.
    usual: f64,
}

/// Returns whether all ranks are as slow as before.
fn is_like(slowness: &[Option<f64>], before: &[Option<f64>]) -> bool {
    slowness.iter().zip(before).all(|(one, other)| match (one, other) {
        (Some(one), Some(other)) => (one - other).abs() <= SAME,
        (one, other) => one.is_none() && other.is_none(),
    })
}

/// Returns the ratio that most of the time agrees on; `None` where little of it agrees. A place that is not understood has a
/// ratio of its own.
fn agreed(ratios: &[Ratio]) -> Option<f64> {
    let all: f64 = ratios.iter().map(|it| it.usual).sum();
    let agreeing = |it: &Ratio| {
        let near = ratios.iter().filter(|other| (other.ratio / it.ratio - 1.0).abs() <= AGREE.0);
        near.fold((0.0, 0.0), |(sum, time), other| (sum + other.ratio * other.usual, time + other.usual))
    };
    let (sum, time) = ratios.iter().map(agreeing).max_by(|one, other| one.1.total_cmp(&other.1))?;
    (time >= AGREE.1 * all).then(|| (sum / time).clamp(1.0 / SLOWEST, SLOWEST))
}

/// Adds the ratio of each rank's own time to the usual one, where a place shows both. Behind a wait of the host, a GPU
/// waits for what a late host launches: that is not the GPU's.
fn slow_at(samples: &[Vec<CallSample>], path: &PlacePath, least: f64, ratios: &mut [Vec<Ratio>]) {
    let of_ranks = locations(samples, path);
    let usual = median(&mut of_ranks.iter().copied().flatten().collect::<Vec<f64>>());
    if usual < least {
        return;
    }
    let host = |samples: &Vec<CallSample>| match path.host {
        HostFrom::Waits(back) if !matches!(path.gpu, GpuFrom::Host(_)) => {
            median(&mut samples.iter().map(|it| it.host_since_end[usize::from(back) - 1]).collect::<Vec<f64>>())
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

/// Returns the median own time of each rank's GPU where it is seen.
fn locations(samples: &[Vec<CallSample>], path: &PlacePath) -> Vec<Option<f64>> {
    let of_rank = |samples: &Vec<CallSample>| {
        let free = samples.iter().filter(|sample| path.seen_of(sample) == Seen::Free);
        let mut values: Vec<f64> = free.map(|sample| path.own(sample)).collect();
        // of a rank whose computation shows now and then, the longest ones show
        (values.len() >= STEPS && 4 * values.len() >= samples.len()).then(|| median(&mut values))
    };
    samples.iter().map(of_rank).collect()
}

/// Returns the own time of each rank's GPU at a place, where it is hidden.
fn usual(
    samples: &[Vec<CallSample>],
    path: &PlacePath,
    of_ranks: &[Option<f64>],
    twin: Option<&[Option<f64>]>,
    slowness: Option<&[Option<f64>]>,
    hidden: Hidden,
) -> Vec<f64> {
    let known = |rank: usize| slowness.and_then(|of| of[rank]);
    let slow = |rank: usize| known(rank).unwrap_or(1.0);
    let shown = || of_ranks.iter().enumerate().filter_map(|(rank, own)| Some((rank, (*own)?)));
    let slowest = (0..samples.len()).map(slow).fold(1.0, f64::max);
    // how slow ranks are says how long what is hidden takes
    let is_known = shown().next().is_some() && shown().all(|(rank, _)| known(rank).is_some());
    let hidden = if is_known { Hidden::Usual } else { hidden };
    let like = match hidden {
        Hidden::Usual => median(&mut shown().map(|(rank, own)| own / slow(rank)).collect::<Vec<f64>>()),
        Hidden::Longest => shown().map(|(_, own)| own).fold(0.0, f64::max),
        Hidden::Shortest => {
            shown().map(|(rank, own)| own / slow(rank).max(1.0)).fold(f64::INFINITY, f64::min) / slowest
        }
    };
    let is_shown = shown().next().is_some();
    // no computation is longer than the shortest time in which any rank did it
    let shortest = |samples: &Vec<CallSample>| {
        let mut values: Vec<f64> = samples.iter().map(|sample| path.own(sample)).collect();
        (values.len() >= STEPS).then(|| quantile(&mut values, 0.1))
    };
    let bound = samples.iter().filter_map(shortest).fold(f64::INFINITY, f64::min);
    let is_nothing = path.is_empty || is_empty(samples);
    let bound = if hidden == Hidden::Shortest || is_nothing || bound.is_infinite() { 0.0 } else { bound };
    let like_others = |rank: usize| match hidden {
        _ if !is_shown => bound,
        Hidden::Usual => like * slow(rank),
        _ => like,
    };
    let of_rank = |(rank, own): (usize, &Option<f64>)| match own {
        Some(own) => *own,
        None => twin.and_then(|twin| twin[rank]).unwrap_or_else(|| like_others(rank)),
    };
    of_ranks.iter().enumerate().map(of_rank).collect()
}

/// Returns the time before calls in which ranks may compute beside what they wait for, nanoseconds, where no rank shows it.
fn unseen(samples: &[Vec<CallSample>], path: &PlacePath, usual: &[f64]) -> f64 {
    if path.is_empty || locations(samples, path).iter().any(Option::is_some) {
        return 0.0;
    }
    let room = |(samples, usual): (&Vec<CallSample>, &f64)| {
        median(&mut samples.iter().map(|it| path.own(it)).collect::<Vec<f64>>()) - usual
    };
    let room = median(&mut samples.iter().zip(usual).map(room).collect::<Vec<f64>>());
    if room > LITTLE { room } else { 0.0 }
}

/// Returns the time of a program's step in which its ranks may compute so that nobody sees it, nanoseconds.
pub(super) fn unseen_of(places: &[PlacePath]) -> f64 {
    // behind a call whose computation is not known, the next ones have the same time
    let same = places.chunk_by(|_, next| next.unseen > 0.0 && next.gpu == GpuFrom::Computation);
    same.map(|places| places.iter().map(|it| it.unseen).fold(0.0, f64::max)).sum()
}

/// Finds what the calls at a place follow.
fn find(
    samples: &[Vec<CallSample>],
    has_host: bool,
    slowness: Option<&[Option<f64>]>,
    alike: Option<GpuFrom>,
) -> PlacePath {
    let mut path = PlacePath {
        host: HostFrom::Enqueue,
        gpu: GpuFrom::Computation,
        launch: LAUNCH.1 as i64,
        at_once: 0,
        host_usual: 0.0,
        mostly_hidden: false,
        is_clear: false,
        is_empty: false,
        unseen: 0.0,
    };
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
        let since = all(samples).map(|it| it.host_since_enqueued).filter(|it| it.is_finite());
        path.is_empty = median(&mut since.collect::<Vec<f64>>()) < NOTHING;
    }
    let free: Vec<Vec<CallSample>> = samples
        .iter()
        .map(|of_rank| of_rank.iter().copied().filter(|it| path.seen_of(it) == Seen::Free).collect())
        .collect();
    let shows = free.iter().zip(samples).filter(|(free, all)| 2 * free.len() > all.len()).count();
    path.mostly_hidden = 2 * shows <= samples.len();
    (path.gpu, path.is_clear) = find_gpu(samples, &free, &path, slowness, alike);
    path
}

fn all(samples: &[Vec<CallSample>]) -> impl Iterator<Item = &CallSample> {
    samples.iter().flatten()
}

/// Returns whether every call of every rank follows another one at once, so that nothing is computed before it.
fn is_empty(samples: &[Vec<CallSample>]) -> bool {
    all(samples).filter(|it| it.is_queued).count() as f64 > 0.9 * all(samples).count() as f64
}

/// Returns the share of a rank's samples that show its computation.
fn shown(samples: &[CallSample], path: &PlacePath) -> f64 {
    samples.iter().filter(|it| path.seen_of(it) == Seen::Free).count() as f64 / samples.len().max(1) as f64
}

/// Returns whether computations that are hidden have room: as long as those that are seen, times the rank's slowness.
fn has_room(samples: &[Vec<CallSample>], path: &PlacePath, slowness: Option<&[Option<f64>]>) -> bool {
    let slow = |rank: usize| slowness.and_then(|of| of[rank]);
    // of ranks that show some of their computations, these are the longest
    let shown = |rank: usize| shown(&samples[rank], path);
    let own = |rank: usize| median(&mut samples[rank].iter().map(|it| path.own(it)).collect::<Vec<f64>>());
    let ranks: Vec<usize> = (0..samples.len()).filter(|&rank| shown(rank) > SHOWN[1]).collect();
    let like = median(&mut ranks.iter().map(|&rank| own(rank) / slow(rank).unwrap_or(1.0)).collect::<Vec<f64>>());
    let share = ROOM[usize::from(!ranks.iter().all(|&rank| slow(rank).is_some()))];
    let [mut lacks, mut count] = [0, 0];
    for rank in (0..samples.len()).filter(|&rank| !ranks.is_empty() && shown(rank) < SHOWN[0]) {
        let needs = share * like * slow(rank).unwrap_or(1.0);
        lacks += samples[rank].iter().filter(|it| path.own(it) < needs).count();
        count += samples[rank].len();
    }
    2 * lacks <= count
}

fn is_clearly_less(one: f64, other: f64, count: usize) -> bool {
    CLEARLY.iter().any(|&(ratio, least)| one < ratio * other && count >= least)
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

fn find_host(samples: &[Vec<CallSample>]) -> (HostFrom, f64) {
    let since_end = |it: &CallSample, back: usize| it.host_since_end[back];
    let goes_on = variation(samples, OF_HOST, |it| it.host_since_enqueued);
    let of = |back: usize| (back, variation(samples, OF_HOST, |it| it.host_since_end[back]));
    let best = best(possible(samples, since_end, HOST_EARLY as f64).into_iter().map(of));
    let is_less = |it: &Variation| {
        it.within < 0.9 * goes_on.within || it.within < 1.1 * goes_on.within && it.total() < 0.9 * goes_on.total()
    };
    if let Some((back, _)) = best.filter(|(_, it)| is_less(it)) {
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
        let goes_on = variation(&outside, OF_HOST, |it| it.host_since_enqueued);
        let of = |back: usize| (back, variation(&outside, OF_HOST, |it| it.host_since_end[back]));
        let found = self::best(possible(&outside, since_end, HOST_EARLY as f64).into_iter().map(of));
        if let Some((back, _)) = found.filter(|(_, best)| best.total() < 0.5 * goes_on.total()) {
            return (HostFrom::Sometimes(back as u8 + 1), far);
        }
    }
    (HostFrom::Enqueue, 0.0)
}

fn find_gpu(
    samples: &[Vec<CallSample>],
    free: &[Vec<CallSample>],
    path: &PlacePath,
    slowness: Option<&[Option<f64>]>,
    alike: Option<GpuFrom>,
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
        let rooms = |gpu: GpuFrom| has_room(samples, &PlacePath { gpu, ..*path }, slowness);
        let nearest = ends.iter().map(|&back| GpuFrom::Waits(back as u8 + 1, 0)).find(|&gpu| rooms(gpu));
        return match alike.filter(|&gpu| rooms(gpu)).or(nearest.filter(|_| alike.is_some())) {
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
        if is_idle && alone.within <= 1.1 * least.within {
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
    let cost = |gpu: GpuFrom| {
        let path = PlacePath { gpu, ..*path };
        of(gpu).within + unlike(free, slowness, |it| path.own(it))
    };
    let mut least = (found, 0.98 * cost(found));
    let mut distances: Vec<f64> = all(free).map(|it| it.since_computed - it.since_end[back]).collect();
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
    let alike = alike.filter(is_possible).filter(|&gpu| cost(gpu) < 1.05 * least.1);
    (alike.unwrap_or(least.0), false)
}

/// Returns the part of a computation that does not wait for the end of the call so many calls before, with which ranks are
/// as slow as elsewhere, nanoseconds: no computation is longer than it takes the rank that never waits.
fn ahead_of(samples: &[Vec<CallSample>], slowness: &[Option<f64>], back: usize) -> f64 {
    let middle = |of_rank: &Vec<CallSample>, of: &dyn Fn(&CallSample) -> f64| {
        (of_rank.len() >= STEPS).then(|| median(&mut of_rank.iter().map(of).collect::<Vec<f64>>()))
    };
    let ranks = || samples.iter().zip(slowness.iter().map(|slow| slow.unwrap_or(1.0)));
    let most = ranks().filter_map(|(of_rank, slow)| Some(middle(of_rank, &|it| it.since_computed)? / slow));
    let like = most.fold(f64::INFINITY, f64::min);
    let ahead = |(of_rank, slow)| Some(like * slow - middle(of_rank, &|it| it.since_end[back])?);
    median(&mut ranks().filter_map(ahead).filter(|it| it.is_finite()).collect::<Vec<f64>>()).max(0.0)
}

/// Returns whether a rank's ratio to its peers is another one than elsewhere.
fn is_unlike(samples: &[Vec<CallSample>], slowness: &[Option<f64>], path: &PlacePath) -> bool {
    let of_ranks = locations(samples, path);
    let usual = median(&mut of_ranks.iter().copied().flatten().collect::<Vec<f64>>());
    let is_unlike = |(own, slow): (&Option<f64>, &Option<f64>)| {
        own.zip(*slow).is_some_and(|(own, slow)| (own / usual - slow).abs() > UNLIKE)
    };
    usual >= LITTLE && of_ranks.iter().zip(slowness).any(is_unlike)
}

/// Returns how far the ranks' usual times are from the common one times their slowness, in the mean.
fn unlike(samples: &[Vec<CallSample>], slowness: &[Option<f64>], own: impl Fn(&CallSample) -> f64) -> f64 {
    let of_rank = |(of_rank, slow): (&Vec<CallSample>, &Option<f64>)| {
        let mut values: Vec<f64> = of_rank.iter().map(&own).collect();
        slow.filter(|_| values.len() >= STEPS).map(|slow| (median(&mut values), slow))
    };
    let ranks: Vec<(f64, f64)> = samples.iter().zip(slowness).filter_map(of_rank).collect();
    let usual = median(&mut ranks.iter().map(|(own, slow)| own / slow).collect::<Vec<f64>>());
    ranks.iter().map(|(own, slow)| (own - slow * usual).abs()).sum::<f64>()
}

/// How much a distance varies, nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Variation {
    /// From step to step.
    within: f64,
    /// From rank to rank.
    apart: f64,
    count: usize,
}

impl Variation {
    fn total(&self) -> f64 {
        self.within + self.apart
    }
}

/// Returns the least of some variations: the nearest call of those that are not clearly more.
fn best(of: impl Iterator<Item = (usize, Variation)>) -> Option<(usize, Variation)> {
    of.reduce(|best, it| if it.1.within < 0.8 * best.1.within { it } else { best })
}

fn variation(samples: &[Vec<CallSample>], accuracy: f64, distance: impl Fn(&CallSample) -> f64) -> Variation {
    let mut distances: Vec<f64> = vec![];
    let mut middles: Vec<f64> = vec![];
    for of_rank in samples {
        let values: Vec<f64> = of_rank.iter().map(&distance).filter(|it| it.is_finite()).collect();
        if values.len() < STEPS {
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
