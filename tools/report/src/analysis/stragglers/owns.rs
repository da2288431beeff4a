//! Own times of all ranks before each call, and how far they are beyond those of the peers.

use super::fit::{Followed, Hidden, PlacePath, tokens};
use super::paths::CallPath;
use super::peers::{Division, Peers};
use super::programs::NOWHERE;
use super::run::{CallRun, NONE};
use super::timed::BETWEEN;
use crate::analysis::robust::{median, median_of, spread};
use crate::analysis::steps::CallToken;

/// Steps of a place from which on its usual excess is known.
pub(super) const MIN_STEPS: usize = 5;
/// Steps to either side with which a step is compared.
const STEPS_AROUND: usize = 10;
/// Share of a step, and usual deviations of its place, beyond which an excess is a pause.
pub(super) const PAUSE_LIMITS: (f64, f64) = (0.05, 10.0);
/// The same for the rest of a step in which a rank pauses: it may be slower there at all places, most of them short.
const REST_LIMITS: (f64, f64) = (0.01, 4.0);

/// Own times of a stretch's calls, in the order of its calls.
#[derive(Debug)]
pub(super) struct Owns {
    /// What each call follows.
    pub(super) paths: Vec<CallPath>,
    /// Own time before each call on the clock that keeps it, nanoseconds: from the time at which the call before was
    /// ready, or from the end of a call that was waited for, to the time at which it is ready.
    pub(super) own: Vec<i64>,
    /// Own time beyond the median of the peers at the same place of the same step, nanoseconds; NaN without peers.
    pub(super) excess: Vec<f32>,
    /// The same of the host and of the GPU.
    pub(super) of_clocks: Vec<[f32; 2]>,
    /// Whether the excess is a pause: far beyond the usual one of this rank and place.
    pub(super) is_pause: Vec<bool>,
}

impl Owns {
    /// Returns the excess before a call, nanoseconds; 0 without peers.
    pub(super) fn excess_of(&self, call: usize) -> f64 {
        let excess = self.excess[call];
        if excess.is_finite() { f64::from(excess) } else { 0.0 }
    }

    /// Returns the excess of the host and of the GPU before a call, nanoseconds; 0 without peers.
    pub(super) fn excess_of_clocks(&self, call: usize) -> [f64; 2] {
        self.of_clocks[call].map(|it| if it.is_finite() { f64::from(it) } else { 0.0 })
    }

    /// Returns the excess before a call as far as one of its clocks has it, nanoseconds; 0 without peers. Where
    /// something else keeps a call than usually, own times differ though neither clock pauses.
    fn excess_of_one(&self, call: usize) -> f64 {
        let [host, gpu] = self.excess_of_clocks(call);
        let excess = self.excess_of(call);
        excess.min(host.max(gpu).max(0.0))
    }

    /// Returns the own times of the host and of the GPU before a call, nanoseconds.
    pub(super) fn clocks(&self, call: usize) -> [i64; 2] {
        [self.paths[call].host, self.paths[call].gpu]
    }
}

/// What the places of programs follow, with the tokens of their calls.
pub(super) type KnownPlaces = Vec<(Vec<CallToken>, Vec<PlacePath>)>;

/// Finds the own times of all stretches. `step` is the median length of a step in nanoseconds. What places follow is
/// taken from `known`, and added to it.
pub(super) fn owns(
    runs: &[CallRun],
    division: &Division,
    step: f64,
    hidden: Hidden,
    known: &mut KnownPlaces,
) -> Vec<Owns> {
    let mut computed: Vec<Vec<i64>> =
        runs.iter().map(|run| run.calls.iter().map(|call| call.begin).collect()).collect();
    let between = |(run, computed): (&CallRun, &Vec<i64>)| {
        (0..run.calls.len()).map(|call| CallPath::between(run, call, computed)).collect()
    };
    let mut paths: Vec<Vec<CallPath>> = runs.iter().zip(&computed).map(between).collect();
    for program in &division.programs {
        let tokens = tokens(program, runs);
        let of_program = known.iter().position(|(of, _)| *of == tokens);
        let found = of_program.map(|at| &known[at].1[..]);
        let followed = Followed { step, program, runs, paths: &mut paths, computed: &mut computed };
        let places = followed.follow(hidden, found);
        // of few steps, nothing was found
        if of_program.is_none() && program.steps.len() >= MIN_STEPS {
            known.push((tokens, places));
        }
    }
    let of_run = |((run, paths), computed): ((&CallRun, Vec<CallPath>), &Vec<i64>)| {
        let calls = run.calls.len();
        Owns {
            own: own_times(run, &paths, computed),
            paths,
            excess: vec![f32::NAN; calls],
            of_clocks: vec![[f32::NAN; 2]; calls],
            is_pause: vec![false; calls],
        }
    };
    let mut owns: Vec<Owns> = runs.iter().zip(paths).zip(&computed).map(of_run).collect();
    for peers in &division.peers {
        excess(runs, division, peers, &[], &mut owns);
        pauses(division, peers, step, &mut owns);
    }
    owns
}

/// Returns the own time before each call.
fn own_times(run: &CallRun, paths: &[CallPath], computed: &[i64]) -> Vec<i64> {
    let mut ready: Vec<i64> = Vec::with_capacity(paths.len());
    let mut own = Vec::with_capacity(paths.len());
    for (call, path) in paths.iter().enumerate() {
        let begin = run.calls[call].begin;
        let Some(before) = run.before(call) else {
            ready.push(begin);
            own.push(0);
            continue;
        };
        let end = |it: u32| if it == NONE { i64::MIN } else { run.calls[it as usize].end };
        let launched = run.enqueued(call).map_or(i64::MIN, |it| it + i64::from(path.launch));
        let alone = computed[before] + path.gpu;
        let is_hosts = path.has_host && (path.from_host || path.is_hidden && launched >= alone);
        let awaited = if path.from_host { end(path.awaited) } else { i64::MIN };
        let (since, until) = if is_hosts {
            (
                ready[before].max(end(path.released).saturating_sub(i64::from(path.beside))).max(awaited),
                if path.from_host { computed[call] } else { launched },
            )
        } else if path.is_hidden {
            (ready[before], ready[before] + path.gpu)
        } else {
            (ready[before].max(end(path.awaited).saturating_sub(i64::from(path.ahead))), computed[call])
        };
        ready.push(until.min(begin));
        own.push((until - since).max(0));
    }
    own
}

/// A pause of a call between steps. It is the program's doing, as a checkpoint that one rank writes, or the slowness of
/// a slow rank.
#[derive(Debug, Clone, Copy)]
pub(super) struct Between {
    pub(super) gpu: usize,
    pub(super) step: u32,
    /// How much longer than the median of the other ranks of the same operation its own time was, and that median,
    /// nanoseconds.
    pub(super) excess: f64,
    pub(super) usual: f64,
}

/// Returns the pauses of calls between steps.
pub(super) fn between(runs: &[CallRun], owns: &[Owns], step_length: f64) -> Vec<Between> {
    let mut found = vec![];
    for (run, owns) in runs.iter().zip(owns) {
        let is_between = |party: &&Vec<u32>| party.len() > 2 && run.calls[party[0] as usize].place == BETWEEN;
        for party in run.parties.iter().filter(is_between) {
            let own = |&call: &u32| owns.own[call as usize] as f64;
            let usual = median_of(party.iter().map(own));
            for call in party.iter().filter(|call| own(call) - usual > PAUSE_LIMITS.0 * step_length) {
                let timed = &run.calls[*call as usize];
                let gpu = run.gpus[*call as usize] as usize;
                found.push(Between { gpu, step: timed.step, excess: own(call) - usual, usual });
            }
        }
    }
    found
}

/// Takes the excess of some peers against the median of those of them that are not among `without`.
pub(super) fn excess(runs: &[CallRun], division: &Division, peers: &Peers, without: &[usize], owns: &mut [Owns]) {
    let program = &division.programs[peers.program];
    if peers.members.len() < 2 {
        return;
    }
    let is_reference: Vec<bool> = peers.members.iter().map(|&it| !without.contains(&program.gpus[it])).collect();
    let mut values: Vec<f64> = vec![];
    for (step, (stretch, _)) in program.steps.iter().enumerate() {
        let calls: Vec<Option<&[u32]>> = peers.members.iter().map(|&member| program.calls(step, member)).collect();
        if calls.iter().flatten().count() < 2 {
            continue;
        }
        let (run, owns) = (&runs[*stretch], &mut owns[*stretch]);
        for place in 0..program.places {
            let call = |calls: Option<&[u32]>| {
                let call = calls?.get(place).copied().filter(|&call| call != NOWHERE)? as usize;
                run.is_known(call).then_some(call)
            };
            let calls: Vec<Option<usize>> = calls.iter().map(|&calls| call(calls)).collect();
            let beyond = |own: &dyn Fn(usize) -> f64, values: &mut Vec<f64>, put: &mut dyn FnMut(usize, f64)| {
                values.clear();
                values.extend((0..calls.len()).filter(|&it| is_reference[it]).filter_map(|it| calls[it]).map(own));
                if values.is_empty() {
                    return;
                }
                let sum: f64 = values.iter().sum();
                let (is_pair, is_one) = (values.len() == 2, values.len() == 1);
                let usual = median(values);
                for member in 0..calls.len() {
                    // where the others have no time, a rank would be compared with itself
                    let Some(call) = calls[member].filter(|_| !(is_one && is_reference[member])) else { continue };
                    // of two, each is compared with the other
                    let reference = if is_pair && is_reference[member] { sum - own(call) } else { usual };
                    put(call, own(call) - reference);
                }
            };
            let Owns { own, paths, excess, of_clocks, .. } = owns;
            beyond(&|call| own[call] as f64, &mut values, &mut |call, it| excess[call] = it as f32);
            beyond(&|call| paths[call].host as f64, &mut values, &mut |call, it| of_clocks[call][0] = it as f32);
            beyond(&|call| paths[call].gpu as f64, &mut values, &mut |call, it| of_clocks[call][1] = it as f32);
        }
    }
}

/// Marks the pauses of some peers: at single places, and steps that are longer in many places.
fn pauses(division: &Division, peers: &Peers, step_length: f64, owns: &mut [Owns]) {
    let program = &division.programs[peers.program];
    for &member in &peers.members {
        let mut usual = vec![0.0; program.places];
        for (place, usual) in usual.iter_mut().enumerate() {
            let calls: Vec<(usize, usize)> = (0..program.steps.len())
                .filter_map(|step| Some((program.steps[step].0, *program.calls(step, member)?.get(place)? as usize)))
                .filter(|&(stretch, call)| owns[stretch].excess[call].is_finite())
                .collect();
            let values: Vec<f64> = calls.iter().map(|&(stretch, call)| owns[stretch].excess_of_one(call)).collect();
            *usual = spread(&values)[0];
            for (&(stretch, call), is_pause) in calls.iter().zip(beyond(&values, PAUSE_LIMITS, step_length)) {
                owns[stretch].is_pause[call] = is_pause;
            }
        }
        pauses_of_steps(division, peers, member, &usual, step_length, owns);
    }
}

/// Marks the calls of steps whose sum of excesses without pauses is itself a pause, or the rest of a step with pauses:
/// those that are longest beyond their places' usual.
fn pauses_of_steps(
    division: &Division,
    peers: &Peers,
    member: usize,
    usual: &[f64],
    step_length: f64,
    owns: &mut [Owns],
) {
    let program = &division.programs[peers.program];
    let steps: Vec<(usize, &[u32])> = (0..program.steps.len())
        .filter_map(|step| Some((program.steps[step].0, program.calls(step, member)?)))
        .collect();
    let beyond_usual = |owns: &Owns, call: usize, place: usize| {
        let is_usable = owns.excess[call].is_finite() && !owns.is_pause[call];
        if is_usable { owns.excess_of_one(call) - usual[place] } else { 0.0 }
    };
    let sums: Vec<f64> = steps
        .iter()
        .map(|&(stretch, calls)| {
            calls.iter().enumerate().map(|(place, &call)| beyond_usual(&owns[stretch], call as usize, place)).sum()
        })
        .collect();
    let [alone, as_rest] = [PAUSE_LIMITS, REST_LIMITS].map(|limits| beyond(&sums, limits, step_length));
    for (at, &(stretch, calls)) in steps.iter().enumerate() {
        let has_pause = calls.iter().any(|&call| owns[stretch].is_pause[call as usize]);
        if !(alone[at] || has_pause && as_rest[at]) {
            continue;
        }
        // the longest first, and no more than the sum: what is left is chance
        let mut beyond: Vec<(f64, usize)> = calls
            .iter()
            .enumerate()
            .map(|(place, &call)| (beyond_usual(&owns[stretch], call as usize, place), call as usize))
            .filter(|(excess, _)| *excess > 0.0)
            .collect();
        beyond.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        let mut left = sums[at];
        for (excess, call) in beyond {
            if left <= 0.0 {
                break;
            }
            left -= excess;
            owns[stretch].is_pause[call] = true;
        }
    }
}

/// Returns which of some values are far beyond the others, and beyond those around them: after a lasting change all
/// are alike. The limits are a share of a step and a number of usual deviations.
pub(super) fn beyond(values: &[f64], (part, deviations): (f64, f64), step_length: f64) -> Vec<bool> {
    if values.len() < MIN_STEPS || values.iter().all(|&value| value <= part * step_length) {
        return vec![false; values.len()];
    }
    let [usual, deviation] = spread(values);
    let more = (part * step_length).max(deviations * deviation);
    let around = |at: usize| {
        median(&mut values[at.saturating_sub(STEPS_AROUND)..values.len().min(at + STEPS_AROUND + 1)].to_vec())
    };
    let is_beyond = |(at, &value): (usize, &f64)| value > usual + more && value > around(at) + more;
    values.iter().enumerate().map(is_beyond).collect()
}
