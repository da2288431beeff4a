//! What the calls at each place of a program follow from: found from how times vary over steps and ranks.
//!
//! Of the possible predecessors of a time, the true one is that from which the distance stays the same, while the
//! distances from the others vary with the waits. It is sought among the calls of all ranks of a program: they do the
//! same. A call that was ready before it could begin shows no more than that its computation was over. Together they
//! are a max-plus system (Baccelli, Cohen, Olsder and Quadrat, Synchronization and Linearity, 1992).

mod hidden;
mod hosts;
mod place;
mod predecessors;
mod slowness;
mod variation;

use super::paths::CallPath;
use super::programs::Program;
use super::run::CallRun;
use super::samples::{CallSample, hides, is_nearly_queued, samples};
use crate::analysis::robust::{median, median_of};
use crate::analysis::steps::CallToken;
pub(super) use hidden::{Hidden, unseen_of};
use hidden::{SHOWN_SHARES, ShownPlaces, unseen, usual};
pub(super) use hosts::HOST_EARLY_NS;
use hosts::host_follows;
pub(super) use place::{GpuFrom, HostFrom, PlacePath, Seen};
use place::{MIN_LAUNCHED_NS, MIN_OWN_NS, MIN_STEPS, all, locations, shown};
use predecessors::{Alike, alike, find};
use rustc_hash::FxHashMap;
use slowness::{Ratio, Slowness, agreed, is_like, scales, slow_at};

/// Rounds in which the computations of a step are followed, at least and at most: those of its first place need those
/// of its last one, and what places follow needs how slow ranks are.
const ROUND_LIMITS: [usize; 2] = [3, 7];

/// The calls of a program, which are followed.
#[derive(Debug)]
pub(super) struct Followed<'a> {
    /// Median length of a step, nanoseconds.
    pub(super) step: f64,
    pub(super) program: &'a Program,
    pub(super) runs: &'a [CallRun],
    /// What each call of each stretch follows.
    pub(super) paths: &'a mut [Vec<CallPath>],
    /// When the computation before it was over.
    pub(super) computed: &'a mut [Vec<i64>],
}

/// Returns what a place follows, by its samples and the round before.
type FoundPath<'a> = &'a dyn Fn(&[Vec<CallSample>], usize, &Round) -> PlacePath;

/// What a round shows; the next one needs it.
#[derive(Debug, Default)]
struct Round {
    places: Vec<PlacePath>,
    /// What calls of each token follow, where they show it.
    alike: FxHashMap<CallToken, GpuFrom>,
    /// Usual own time before the calls of each token.
    usual_of: FxHashMap<CallToken, f64>,
    /// Usual own time of each rank at each place, where it is seen.
    locations: Vec<Vec<Option<f64>>>,
    /// Usual own time of all ranks at each place.
    usual: Vec<f64>,
    /// Usual time from the enqueue before to that of each place.
    hosts: Vec<f64>,
    /// How slow the ranks are.
    slowness: Option<Vec<Option<Slowness>>>,
    /// By how many times each rank computes more than usual in each step.
    scales: Vec<f64>,
}

impl Round {
    /// Returns how slow the ranks are at several places: what one place alone shows says nothing of another one.
    fn elsewhere(&self) -> Option<Vec<Option<Slowness>>> {
        let sure = |of: &Vec<Option<Slowness>>| of.iter().map(|it| it.filter(|it| !it.is_lone)).collect();
        self.slowness.as_ref().map(sure).filter(|of: &Vec<Option<Slowness>>| of.iter().any(Option::is_some))
    }
}

impl Followed<'_> {
    /// Fills in what each call follows and when the computation before it was over. What the places follow is found,
    /// unless it is known.
    pub(super) fn follow(mut self, hidden: Hidden, known: Option<&[PlacePath]>) -> Vec<PlacePath> {
        let Self { step, program, runs, .. } = self;
        if program.steps.len() < MIN_STEPS {
            // too few steps to see how times vary: each call waits for the one before
            return vec![PlacePath::BETWEEN; program.places];
        }
        let mut last = Round { scales: vec![1.0; program.steps.len() * program.gpus.len()], ..Round::default() };
        let tokens = tokens(program, runs);
        let has_host = known.is_none() && !host_follows(program, runs, self.computed, &last.scales);
        let find = |samples: &[Vec<CallSample>], place: usize, last: &Round| match known {
            Some(known) => known[place],
            None => {
                let like = Alike {
                    gpu: last.alike.get(&tokens[place]).copied(),
                    before: before(last, &tokens, place),
                    usual: last.usual_of.get(&tokens[place]).copied(),
                };
                find(samples, has_host, step, last.elsewhere().as_deref(), like)
            }
        };
        let [least, most] = ROUND_LIMITS;
        for number in 1..=if known.is_some() { least - 1 } else { most } {
            let round = self.round(&last, &tokens, hidden, &find);
            let is_same = round.slowness.iter().zip(&last.slowness).any(|(now, before)| is_like(now, before));
            last = round;
            if is_same && number >= least {
                break;
            }
        }
        // one place alone shows how slow the ranks are
        let is_lone = last.slowness.iter().flatten().flatten().any(|it| it.is_lone);
        last.places.iter_mut().for_each(|place| place.is_lone = is_lone);
        last.places
    }

    fn round(&mut self, last: &Round, tokens: &[CallToken], hidden: Hidden, find: FoundPath<'_>) -> Round {
        let Self { program, runs, .. } = *self;
        let ranks = program.gpus.len();
        let mut of_steps = vec![[0.0; 2]; program.steps.len() * ranks];
        // after computations, and after launches: from the launch on, a part of a computation may be over
        let mut ratios: [Vec<Vec<Ratio>>; 2] = std::array::from_fn(|_| vec![vec![]; ranks]);
        let mut round = Round::default();
        for place in 0..program.places {
            let samples = samples(program, runs, self.computed, &last.scales, place);
            let path = find(&samples, place, last);
            let locations = locations(&samples, &path);
            let shown_places = ShownPlaces { tokens, locations: &last.locations, hosts: &last.hosts };
            let twin = shown_places.twin(place, &locations);
            let usual = usual(&samples, &path, &locations, twin, last.slowness.as_deref(), hidden);
            let hides: Vec<bool> =
                samples.iter().map(|of_rank| shown(of_rank, &path) < SHOWN_SHARES[0] || hides(of_rank)).collect();
            let beside = if hidden == Hidden::Longest { path.beside } else { 0 };
            let path = PlacePath { unseen: unseen(&samples, &path, &locations, &usual), ..path };
            if !path.mostly_hidden {
                let of_host = usize::from(matches!(path.gpu, GpuFrom::Host(_)));
                slow_at(&samples, &path, &locations, [MIN_OWN_NS, MIN_LAUNCHED_NS][of_host], &mut ratios[of_host]);
            }
            for step in 0..program.steps.len() {
                for gpu in 0..ranks {
                    let scale = last.scales[step * ranks + gpu];
                    let own =
                        self.fill(place, &PlacePath { beside, ..path }, (step, gpu), usual[gpu] * scale, hides[gpu]);
                    if let Some(own) = own.filter(|_| usual[gpu] >= MIN_OWN_NS) {
                        let [shown, usually] = &mut of_steps[step * ranks + gpu];
                        (*shown, *usually) = (*shown + own as f32, *usually + usual[gpu] as f32);
                    }
                }
            }
            round.places.push(path);
            round.hosts.push(median_of(all(&samples).map(|it| it.host_since_enqueued)));
            round.usual.push(median(&mut usual.clone()));
            round.locations.push(locations);
        }
        // the places that show it say how slow ranks are, and that says what the others follow
        let [of_gpu, of_host] = ratios;
        let best = of_gpu.iter().zip(&of_host).map(|(gpu, host)| if gpu.is_empty() { host } else { gpu });
        round.slowness = Some(best.map(|of_rank| agreed(of_rank)).collect());
        round.scales = scales(&of_steps, ranks);
        round.alike = alike(&round.places, tokens);
        round.usual_of = usual_of(&round.usual, tokens);
        round
    }

    /// Fills in the call at a place of a step and a rank, whose computation takes `usual`, and is hidden where the call
    /// nearly queues and the rank `hides` it. Returns its own time where that is seen.
    fn fill(
        &mut self,
        place: usize,
        path: &PlacePath,
        (step, gpu): (usize, usize),
        usual: f64,
        hides: bool,
    ) -> Option<i64> {
        let Self { program, runs, paths, computed, .. } = self;
        let stretch = program.steps[step].0;
        let call = *program.calls(step, gpu)?.get(place)? as usize;
        let run = &runs[stretch];
        let seen = match path.seen(run, call) {
            Seen::Free if hides && is_nearly_queued(run, call) => Seen::Queued,
            seen => seen,
        };
        let found = CallPath::at_place(run, call, &computed[stretch], path, usual, seen);
        (paths[stretch][call], computed[stretch][call]) = found;
        (seen == Seen::Free).then_some(found.0.gpu)
    }
}

/// Returns the usual own time at the place before, where the same is computed as at a place.
fn before(last: &Round, tokens: &[CallToken], place: usize) -> Option<f64> {
    let before = place.checked_sub(1).filter(|&before| tokens[before] == tokens[place])?;
    last.usual.get(before).copied()
}

/// Returns the usual own time before the calls of each token, of that of each place.
fn usual_of(usual: &[f64], tokens: &[CallToken]) -> FxHashMap<CallToken, f64> {
    let mut by_token: FxHashMap<CallToken, Vec<f64>> = FxHashMap::default();
    usual.iter().zip(tokens).for_each(|(usual, token)| by_token.entry(*token).or_default().push(*usual));
    by_token.into_iter().map(|(token, mut usual)| (token, median(&mut usual))).collect()
}

/// Returns the tokens of a program's places.
pub(super) fn tokens(program: &Program, runs: &[CallRun]) -> Vec<CallToken> {
    let steps = (0..program.steps.len()).flat_map(|step| (0..program.gpus.len()).map(move |gpu| (step, gpu)));
    let calls = |(step, gpu): (usize, usize)| Some((&runs[program.steps[step].0], program.calls(step, gpu)?));
    let token = |(run, calls): (&CallRun, &[u32])| calls.iter().map(|&call| run.calls[call as usize].token).collect();
    steps.filter_map(calls).next().map(token).unwrap_or_default()
}
