//! The calls at a place of a program, as they show what each follows from.

use super::programs::Program;
use super::run::CallRun;
use crate::analysis::series::hash;

/// Calls before a call, among which are those that host and computation may have waited for.
pub(super) const CALLS_BEFORE: usize = 6;
/// Nanoseconds after the end of a call it queued behind, within which a call was ready before it could begin.
const AT_ONCE_NS: i64 = 12_000;
/// The same where the rank was ready nearly always.
const NEARLY_AT_ONCE_NS: i64 = 100_000;
/// The same after a call that has waited for others as long: a kernel begins when a computation that goes on has left
/// multiprocessors to it.
const MAX_CROWDED_NS: i64 = 400_000;
/// Share of a rank's calls that begin so late and no later, and share of them that begin at once, from which on that
/// keeps them.
const MIN_CROWDED_SHARES: (f64, f64) = (0.7, 0.1);
/// Samples of a rank, at most and at least, and of all ranks about.
const MAX_SAMPLES: usize = 128;
const MIN_SAMPLES: usize = 8;
const SAMPLES_OF_ALL: usize = 1 << 12;

/// A call. Distances are nanoseconds; NaN where they are not known.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallSample {
    /// From the end of the computation before the call before, to the begin.
    pub(super) since_computed: f64,
    /// From the enqueue to the begin.
    pub(super) since_enqueued: f64,
    /// From the end of each call before to the begin, the nearest call first.
    pub(super) since_end: [f64; CALLS_BEFORE],
    /// From the enqueue of the call before to this one's.
    pub(super) host_since_enqueued: f64,
    /// From the end of each call before to the enqueue.
    pub(super) host_since_end: [f64; CALLS_BEFORE],
    /// Whether it began when a call that it queues behind had ended.
    pub(super) is_queued: bool,
    /// The same, or some time after the end of one that had waited longer.
    is_crowded: bool,
}

/// Takes samples of a place of a program, by rank. `computed` has the ends of the computations before the calls,
/// `scales` by how many times each rank computes more than usual in each step: the GPU's distances are those of a usual
/// step.
pub(super) fn samples(
    program: &Program,
    runs: &[CallRun],
    computed: &[Vec<i64>],
    scales: &[f64],
    place: usize,
) -> Vec<Vec<CallSample>> {
    let ranks = program.gpus.len();
    let most = (SAMPLES_OF_ALL / ranks.max(1)).clamp(MIN_SAMPLES, MAX_SAMPLES);
    let of_rank = |gpu: usize| {
        let sample = |step: usize| {
            let call = *program.calls(step, gpu)?.get(place)? as usize;
            let stretch = program.steps[step].0;
            sample(&runs[stretch], &computed[stretch], scales[step * ranks + gpu], call)
        };
        let mut samples: Vec<CallSample> = spread_out(program.steps.len(), most).filter_map(sample).collect();
        if hides(&samples) {
            samples.iter_mut().for_each(|it| it.is_queued |= it.is_crowded);
        }
        samples
    };
    (0..ranks).map(of_rank).collect()
}

fn sample(run: &CallRun, computed: &[i64], scale: f64, call: usize) -> Option<CallSample> {
    let before = run.before(call).filter(|_| run.is_known(call))?;
    let begin = run.calls[call].begin;
    let enqueued = run.enqueued(call);
    let first = run.first[run.gpus[call] as usize];
    let since_ends = |time: Option<i64>| {
        std::array::from_fn(|back| {
            let other = call.checked_sub(back + 1).filter(|&it| it >= first);
            time.zip(other).map_or(f64::NAN, |(time, other)| (time - run.calls[other].end) as f64)
        })
    };
    let distance = |from: Option<i64>, to: Option<i64>| from.zip(to).map_or(f64::NAN, |(from, to)| (to - from) as f64);
    Some(CallSample {
        since_computed: (begin - computed[before]) as f64 / scale,
        since_enqueued: distance(enqueued, Some(begin)),
        since_end: since_ends(Some(begin)).map(|it| it / scale),
        host_since_enqueued: distance(run.enqueued(before), enqueued),
        host_since_end: since_ends(enqueued),
        is_queued: is_queued(run, call),
        is_crowded: is_crowded(run, call),
    })
}

/// Returns whether a call began when a call that it queues behind had ended.
pub(super) fn is_queued(run: &CallRun, call: usize) -> bool {
    run.queued_behind(call).is_some_and(|before| run.calls[call].begin - run.calls[before].end <= AT_ONCE_NS)
}

/// Returns whether a call began after one that had waited, as soon as a computation left multiprocessors to it.
fn is_crowded(run: &CallRun, call: usize) -> bool {
    run.queued_behind(call).is_some_and(|before| {
        let since = run.calls[call].begin - run.calls[before].end;
        since <= AT_ONCE_NS || since <= MAX_CROWDED_NS.min(run.wait(before))
    })
}

/// Returns whether a rank's calls at a place were ready before they could begin, though they seldom began at once.
pub(super) fn hides(samples: &[CallSample]) -> bool {
    let share =
        |of: fn(&CallSample) -> bool| samples.iter().filter(|it| of(it)).count() as f64 / samples.len().max(1) as f64;
    share(|it| it.is_crowded) >= MIN_CROWDED_SHARES.0 && share(|it| it.is_queued) >= MIN_CROWDED_SHARES.1
}

/// Returns whether a call began shortly after the end of one of the calls before it.
pub(super) fn is_nearly_queued(run: &CallRun, call: usize) -> bool {
    let first = run.first[run.gpus[call] as usize];
    let begin = run.calls[call].begin;
    is_crowded(run, call)
        || (first.max(call.saturating_sub(CALLS_BEFORE))..call)
            .any(|before| (-AT_ONCE_NS..=NEARLY_AT_ONCE_NS).contains(&(begin - run.calls[before].end)))
}

/// Returns steps all over a run: one by chance out of each of so many parts, so that no step that comes regularly is
/// left out, or is always taken.
fn spread_out(count: usize, parts: usize) -> impl Iterator<Item = usize> {
    let parts = count.min(parts);
    (0..parts).map(move |part| {
        let (from, to) = (part * count / parts, (part + 1) * count / parts);
        from + (hash(part as u64) as usize) % (to - from)
    })
}
