//! What the enqueues at a place follow: the enqueue before, or the end of a call that the host waited for.

use super::place::{HostFrom, MIN_STEPS, all};
use super::variation::{MAX_CONTRADICTING_SHARE, Variation, best, is_clearly_less, possible, variation};
use crate::analysis::robust::{median, quantile};
use crate::analysis::stragglers::programs::Program;
use crate::analysis::stragglers::run::CallRun;
use crate::analysis::stragglers::samples::{CALLS_BEFORE, CallSample, samples};

/// Nanoseconds by which an enqueue may be before the end that the host waited for: the kernel that it waited for may be
/// another one, which ends a little earlier.
pub(in super::super) const HOST_EARLY_NS: i64 = 250_000;
/// Nanoseconds by which the enqueue of a host that runs ahead is before the end of the call before, at least, and how
/// many times more than begins the enqueues of a host vary that says nothing.
const MIN_AHEAD_NS: f64 = 3_000_000.0;
const MIN_VARIATION_RATIO: f64 = 1.3;
/// Share of the time between two enqueues from which on a host waits in it, and nanoseconds at least.
const WAIT_LIMITS: (f64, f64) = (0.03, 100_000.0);
/// Share of a long time between two enqueues up to which a host goes on after an end that it waited for.
const MAX_SHARE_AFTER_END: f64 = 0.1;
/// Nanoseconds to which enqueues are known.
const HOST_ACCURACY_NS: f64 = 50_000.0;

/// Returns whether enqueues say nothing: none is known, or they are never much before the end of the call before, and
/// follow from nothing as closely as begins do. They are then some time before the begin, whatever kept that.
pub(super) fn host_follows(program: &Program, runs: &[CallRun], computed: &[Vec<i64>], scales: &[f64]) -> bool {
    let [mut of_begins, mut of_enqueues] = [0.0; 2];
    let [mut ahead, mut count] = [0, 0];
    for place in 0..program.places {
        let samples = samples(program, runs, computed, scales, place);
        let known = all(&samples).filter(|it| it.host_since_end[0].is_finite());
        let [is_ahead, is_known] =
            known.fold([0, 0], |sums, it| [sums[0] + usize::from(it.host_since_end[0] < -MIN_AHEAD_NS), sums[1] + 1]);
        (ahead, count) = (ahead + is_ahead, count + is_known);
        let least = |of: &dyn Fn(&CallSample, usize) -> f64| {
            let within = |back: usize| variation(&samples, 0.0, |it| of(it, back)).within;
            (0..CALLS_BEFORE).map(within).fold(f64::INFINITY, f64::min)
        };
        of_begins += least(&|it, back| it.since_end[back]).min(variation(&samples, 0.0, |it| it.since_computed).within);
        of_enqueues += least(&|it, back| it.host_since_end[back])
            .min(variation(&samples, 0.0, |it| it.host_since_enqueued).within);
    }
    count == 0
        || (ahead as f64) < MAX_CONTRADICTING_SHARE * count as f64 && of_enqueues > MIN_VARIATION_RATIO * of_begins
}

/// Returns what the enqueues at a place follow; where the host waits in some steps, from how long on.
pub(super) fn find_host(samples: &[Vec<CallSample>]) -> (HostFrom, f64) {
    let since_end = |it: &CallSample, back: usize| it.host_since_end[back];
    let goes_on_of = |samples: &[Vec<CallSample>]| variation(samples, HOST_ACCURACY_NS, |it| it.host_since_enqueued);
    let best_of = |samples: &[Vec<CallSample>]| {
        let of = |back: usize| (back, variation(samples, HOST_ACCURACY_NS, |it| it.host_since_end[back]));
        best(possible(samples, since_end, HOST_EARLY_NS as f64).into_iter().map(of))
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
    if count as f64 > 0.03 * distances.len() as f64 && count >= MIN_STEPS {
        let goes_on = goes_on_of(&outside);
        if let Some((back, _)) = best_of(&outside).filter(|(_, best)| best.total() < 0.5 * goes_on.total()) {
            return (HostFrom::Sometimes(back as u8 + 1), far);
        }
    }
    // in few steps: each long time ends just after an end
    let behind = |back: usize| {
        let of = all(&outside).map(|it| it.host_since_end[back]);
        let of = of.map(|it| if it > -HOST_EARLY_NS as f64 { it.max(0.0) } else { f64::INFINITY });
        of.fold(0.0, f64::max)
    };
    let shortest = all(&outside).map(|it| it.host_since_enqueued).fold(f64::INFINITY, f64::min);
    let nearest = (0..CALLS_BEFORE).map(|back| (back, behind(back))).min_by(|one, other| one.1.total_cmp(&other.1));
    match nearest.filter(|(_, behind)| count > 0 && *behind < MAX_SHARE_AFTER_END * shortest) {
        Some((back, _)) => (HostFrom::Sometimes(back as u8 + 1), far),
        None => (HostFrom::Enqueue, 0.0),
    }
}

/// Returns how much of its own time a host that waits for an end may do beside that call, nanoseconds: with it, hosts
/// are as fast as the one that never waits. 0 where the time from the end on clearly stays the same.
pub(super) fn beside(samples: &[Vec<CallSample>], back: usize) -> f64 {
    let middle = |of_rank: &[CallSample], of: &dyn Fn(&CallSample) -> f64| {
        let mut values: Vec<f64> = of_rank.iter().map(of).filter(|it| it.is_finite()).collect();
        (values.len() >= MIN_STEPS).then(|| median(&mut values))
    };
    let enqueued = |of_rank: &[CallSample]| middle(of_rank, &|it| it.host_since_enqueued);
    let waits = |of_rank: &&Vec<CallSample>| {
        let wait = middle(of_rank, &|it| it.host_since_enqueued - it.host_since_end[back]);
        wait.zip(enqueued(of_rank)).is_some_and(|(wait, since)| wait > (WAIT_LIMITS.0 * since).max(WAIT_LIMITS.1))
    };
    let waiting: Vec<Vec<CallSample>> = samples.iter().filter(waits).cloned().collect();
    // where all wait, none shows how long its host takes without
    if waiting.is_empty() || waiting.len() == samples.len() {
        return 0.0;
    }
    let of_end = variation(&waiting, HOST_ACCURACY_NS, |it| it.host_since_end[back]);
    let of_enqueue = variation(&waiting, HOST_ACCURACY_NS, |it| it.host_since_enqueued);
    if is_clearly_less(of_end.within, of_enqueue.within, of_end.count) {
        return 0.0;
    }
    let like = samples.iter().filter_map(|of_rank| enqueued(of_rank)).fold(f64::INFINITY, f64::min);
    let ends = waiting.iter().filter_map(|of_rank| middle(of_rank, &|it| it.host_since_end[back]));
    ends.map(|end| like - end).fold(0.0, f64::max)
}
