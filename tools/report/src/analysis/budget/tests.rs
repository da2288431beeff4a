//! The breakdown of a GPU's time against a count of every instant.

use super::computation::Computation;
use super::gpu_queue::{EndedGpuStep, GpuQueue};
use super::sums::{self, GpuSums};
use super::sweep::Spent;
use crate::analysis::steps::StepEvent;
use crate::answer::{Dimension, Origin};

/// Even shares of an instant among up to four dimensions are whole.
const INSTANT: i64 = 12;
const LENGTH: i64 = 400;

/// Begin, end of the wait, end, dimension: in instants.
type Made = (i64, Option<i64>, i64, usize);

fn operations(random: &mut fastrand::Rng) -> Vec<Made> {
    let one = |random: &mut fastrand::Rng| {
        let start = random.i64(0..LENGTH - 60);
        let stop = start + random.i64(0..60);
        (start, random.bool().then(|| random.i64(start..=stop)), stop, random.usize(..4))
    };
    let mut made: Vec<Made> = (0..random.usize(..40)).map(|_| one(random)).collect();
    made.sort_unstable();
    made
}

fn kernels(random: &mut fastrand::Rng) -> Vec<[i64; 2]> {
    let (mut all, mut at) = (vec![], 0);
    while at < LENGTH {
        let begin = at + random.i64(1..40);
        at = begin + random.i64(1..30);
        all.push([begin, at]);
    }
    all
}

/// Plays two steps, of which the second one begins in the middle.
fn played(made: &[Made], kernels: &[[i64; 2]], scale: i64) -> Vec<EndedGpuStep> {
    let intervals = kernels.iter().map(|span| span.map(|time| time * scale)).collect();
    let mut queue = GpuQueue::new(4, Computation::of_intervals(intervals));
    let mut ended = vec![];
    queue.event(StepEvent::Begin(0, 0), &mut ended);
    queue.event(StepEvent::Begin(1, LENGTH / 2 * scale), &mut ended);
    for &(start, until, stop, dimension) in made {
        let wait = until.map(|until| (until - start) * scale);
        queue.call([start * scale, stop * scale], wait, dimension, &mut ended);
    }
    queue.event(StepEvent::Leave(LENGTH * scale), &mut ended);
    queue.finish(&mut ended);
    ended
}

#[test]
fn each_instant_counts_once() {
    let mut random = fastrand::Rng::with_seed(11);
    for _ in 0..300 {
        let (made, kernels) = (operations(&mut random), kernels(&mut random));
        let ended = played(&made, &kernels, INSTANT);
        assert_eq!(ended.len(), 2);
        for (step, of) in ended.iter().enumerate() {
            let mut spent = [Spent::default(); 4];
            let (mut computing, mut idle) = (0, 0);
            for at in (step as i64 * LENGTH / 2)..((step as i64 + 1) * LENGTH / 2) {
                let computes = kernels.iter().any(|&[begin, end]| (begin..end).contains(&at));
                let here =
                    |dimension: usize| made.iter().filter(move |it| it.3 == dimension && (it.0..it.2).contains(&at));
                let active: Vec<usize> = (0..4).filter(|&dimension| here(dimension).count() > 0).collect();
                for &dimension in &active {
                    let waits = here(dimension).any(|it| it.1.is_some_and(|until| at < until));
                    spent[dimension].time += INSTANT;
                    spent[dimension].wait += if waits { INSTANT } else { 0 };
                    spent[dimension].beside += if computes { INSTANT } else { 0 };
                    spent[dimension].exposed += if computes { 0 } else { INSTANT / active.len() as i64 };
                }
                computing += if computes { INSTANT as u64 } else { 0 };
                idle += if computes || !active.is_empty() { 0 } else { INSTANT as u64 };
            }
            assert_eq!(of.dimensions, spent, "{made:?} {kernels:?}");
            assert_eq!((of.budget.computed_ns(), of.budget.idle_ns), (computing, idle), "{made:?} {kernels:?}");
        }
    }
}

/// Times that do not divide evenly lose no nanosecond.
#[test]
fn parts_add_up_whatever_their_times() {
    let mut random = fastrand::Rng::with_seed(12);
    for scale in [1, 7, 1001] {
        for _ in 0..200 {
            let (made, kernels) = (operations(&mut random), kernels(&mut random));
            for of in played(&made, &kernels, scale) {
                let exposed: i64 = of.dimensions.iter().map(|spent| spent.exposed).sum();
                let all = exposed.unsigned_abs() + of.budget.computed_ns() + of.budget.idle_ns;
                assert_eq!((all, of.length), (of.budget.total_ns, of.length));
                assert_eq!(exposed.unsigned_abs(), of.budget.waiting_ns + of.budget.transferring_ns);
            }
        }
    }
}

#[test]
fn dimensions_of_one_name_are_one_and_have_an_order() {
    let dimension = |name: &str, origin| Dimension { name: name.into(), origin };
    let distinct = [
        dimension("unknown", Origin::Unknown),
        dimension("mine", Origin::File),
        dimension("TP", Origin::Name),
        dimension("DP", Origin::Guessed),
        dimension("TP", Origin::Guessed),
        dimension("CP", Origin::Name),
    ];
    let sums = |exposed: [u64; 6]| GpuSums { exposed: exposed.to_vec(), ..GpuSums::default() };
    let found = sums::breakdown(&[sums([1, 2, 4, 8, 16, 0]), GpuSums::default()], &distinct, &|gpu| gpu == 0);
    assert_eq!(found.dimensions, ["DP", "TP", "mine", "unknown"]);
    assert_eq!((found.gpus[0].has_kernels, &found.gpus[0].exposed_ns[..]), (true, &[8, 20, 2, 1][..]));
    assert_eq!((found.gpus[1].has_kernels, &found.gpus[1].exposed_ns[..]), (false, &[0; 4][..]));
}
