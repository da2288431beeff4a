//! Jobs with known faults, held against the same jobs without them.

use super::pauses::Pauses;
use crate::analysis::whole::{JobFacts, report};
use crate::answer::{CostsWhen, LateCause, RankGroup, Stragglers};
use crate::made::{MS, MadeJob, Maker, Start, US};
use fastrand::Rng;

/// Own time of a rank at a place of a step, nanoseconds.
type Own<'a> = &'a dyn Fn(usize, u64, usize) -> u64;

const STEPS: u64 = 60;
const RANKS: usize = 8;

/// Returns 1 +- 5 %, the same for the same rank, step and place.
fn noise(rank: usize, step: u64, place: usize) -> f64 {
    let mut random = Rng::with_seed((rank as u64) << 40 | step << 8 | place as u64);
    0.95 + 0.1 * random.f64()
}

/// Own times of 5 ms, with noise, times a factor.
fn work(factor: impl Fn(usize, u64) -> f64) -> impl Fn(usize, u64, usize) -> u64 {
    move |rank, step, place| (5e6 * noise(rank, step, place) * factor(rank, step)) as u64
}

/// Steps of three all-reduces of different sizes, which the computation waits for.
fn waiting(per_node: usize, own: Own<'_>) -> MadeJob {
    let mut maker = Maker::new(RANKS, per_node);
    let world = maker.communicator("world", &(0..RANKS).collect::<Vec<_>>());
    let mut end = MS;
    for step in 0..STEPS {
        for place in 0..3 {
            let begins: Vec<u64> = (0..RANKS).map(|rank| end + own(rank, step, place)).collect();
            let elements = 1 << (20 + place);
            end = maker.collective(world, "AllReduce", elements, Start::Each(&begins), 400 * US);
        }
    }
    maker.finish()
}

/// Steps of six all-gathers, each of which begins when the computation before it begins, and is awaited at its end;
/// then an all-reduce that the computation waits for.
fn prefetching(own: Own<'_>) -> MadeJob {
    let mut maker = Maker::new(RANKS, RANKS);
    let world = maker.communicator("world", &(0..RANKS).collect::<Vec<_>>());
    let mut at = vec![MS; RANKS];
    for step in 0..STEPS {
        for place in 0..6 {
            let end = maker.collective(world, "AllGather", 1 << 20, Start::Each(&at), 900 * US);
            at = (0..RANKS).map(|rank| (at[rank] + own(rank, step, place)).max(end + 2 * US)).collect();
        }
        let end = maker.collective(world, "AllReduce", 64, Start::Each(&at), 20 * US);
        at = (0..RANKS).map(|rank| end + own(rank, step, 6)).collect();
    }
    maker.finish()
}

/// Steps as of PyTorch's DDP: hosts run ahead of their GPUs, and wait for them once a step; all-reduces of five buckets
/// run beside a backward pass that waits for none of them. `late` is how long a host sleeps at the begin of a step.
fn running_ahead(own: Own<'_>, late: &dyn Fn(usize, u64) -> u64) -> MadeJob {
    const BUCKETS: usize = 5;
    let mut maker = Maker::new(RANKS, RANKS);
    let world = maker.communicator("world", &(0..RANKS).collect::<Vec<_>>());
    let mut end = 2 * MS;
    let mut enqueued: Vec<Vec<u64>> = vec![vec![]; RANKS];
    for step in 0..STEPS {
        let awake: Vec<u64> = (0..RANKS).map(|rank| end + own(rank, step, BUCKETS) / 5 + late(rank, step)).collect();
        let mut computed = awake.clone();
        for bucket in 0..BUCKETS {
            for rank in 0..RANKS {
                computed[rank] += own(rank, step, bucket);
                enqueued[rank].push(awake[rank] + 200 * US * (bucket as u64 + 1));
            }
            let begins: Vec<u64> =
                computed.iter().map(|&it| if bucket > 0 { it.max(end + 2 * US) } else { it }).collect();
            end = maker.collective(world, "AllReduce", 1 << (20 + bucket), Start::Each(&begins), 300 * US);
        }
    }
    enqueue(maker.finish(), &enqueued)
}

/// Gives the calls of each rank the true times at which its host enqueues them.
fn enqueue(mut made: MadeJob, times: &[Vec<u64>]) -> MadeJob {
    for ((rows, times), clock) in made.table.0.iter_mut().zip(times).zip(&made.clocks) {
        rows.iter_mut().zip(times).for_each(|(row, &at)| row.enqueued = clock.shows(at));
    }
    made
}

/// What peers compute is hidden behind their waits for the late rank.
#[test]
fn gains_are_true_where_hosts_run_ahead() {
    let usual = work(|_, _| 1.0);
    let without = step_us(&running_ahead(&usual, &|_, _| 0));
    assert_eq!(names(&stragglers(&running_ahead(&usual, &|_, _| 0))), [""; 0]);
    let slow = work(|rank, _| if rank == 3 { 1.2 } else { 1.0 });
    let sleeps = |rank: usize, _: u64| if rank == 3 { 12 * MS } else { 0 };
    let jobs = [(running_ahead(&usual, &sleeps), LateCause::Host), (running_ahead(&slow, &|_, _| 0), LateCause::Gpu)];
    for (made, why) in &jobs {
        let stragglers = stragglers(made);
        let found = &stragglers.found[0];
        assert_eq!((names(&stragglers), found.why), (vec!["rank 3"], Some(*why)), "{found:?}");
        let (gain, truth) = (found.gain_us.unwrap(), stragglers.step_us - without);
        assert!((gain / truth - 1.0).abs() < 0.1, "{why:?}: {gain}, {truth}");
        let [least, most] = [found.gain_least_us.unwrap(), found.gain_most_us.unwrap()];
        assert!(least < 1.02 * truth && most > 0.98 * truth, "{least}..{most}, {truth}");
    }
}

#[test]
fn a_rank_that_is_slow_for_some_steps_has_a_first_and_a_last_one() {
    let stragglers =
        stragglers(&waiting(RANKS, &work(|rank, step| if rank == 2 && (20..35).contains(&step) { 1.3 } else { 1.0 })));
    assert_eq!(names(&stragglers), ["rank 2"]);
    let when = stragglers.found[0].when;
    assert!(matches!(when, CostsWhen::Steps { from: 18..=22, to: 32..=36 }), "{when:?}");
}

fn stragglers(made: &MadeJob) -> Stragglers {
    let report = report(&made.job, &made.table, JobFacts::default(), &mut [], &mut |_| {}).unwrap();
    report.stragglers.known().unwrap_or_else(|| panic!("{:?}", report.stragglers)).clone()
}

/// Returns the mean length of the steps, microseconds.
fn step_us(made: &MadeJob) -> f64 {
    let report = report(&made.job, &made.table, JobFacts::default(), &mut [], &mut |_| {}).unwrap();
    report.stragglers.known().unwrap().step_us
}

fn names(stragglers: &Stragglers) -> Vec<&str> {
    stragglers.found.iter().map(|it| it.name.as_str()).collect()
}

#[test]
fn nobody_stands_out_where_ranks_differ_by_chance() {
    for made in [waiting(RANKS, &work(|_, _| 1.0)), prefetching(&work(|_, _| 1.0))] {
        let stragglers = stragglers(&made);
        assert_eq!(names(&stragglers), [""; 0]);
        assert!((stragglers.reenacted_us / stragglers.step_us - 1.0).abs() < 1e-3, "{stragglers:?}");
        assert!(stragglers.jitter_us.unwrap() > 0.0);
        assert_eq!(stragglers.event_count, 0);
    }
}

/// The gain is within 5 % of the difference to the same job without the fault.
#[test]
fn a_slow_rank_is_named_with_the_gain() {
    for factor in [1.05, 1.2, 2.0] {
        let slow = |rank: usize, _: u64| if rank == 3 { factor } else { 1.0 };
        let without = [step_us(&waiting(RANKS, &work(|_, _| 1.0))), step_us(&prefetching(&work(|_, _| 1.0)))];
        for (made, without) in [waiting(RANKS, &work(slow)), prefetching(&work(slow))].iter().zip(without) {
            let stragglers = stragglers(made);
            assert_eq!(names(&stragglers), ["rank 3"], "{factor}");
            let (gain, truth) = (stragglers.found[0].gain_us.unwrap(), stragglers.step_us - without);
            assert!((gain / truth - 1.0).abs() < 0.05, "{factor}: {gain}, {truth}");
        }
    }
}

#[test]
fn a_slow_node_is_named_as_one_also_if_it_is_half_of_all() {
    for (node, per_node) in [(1, 2), (1, 4)] {
        let slow = move |rank: usize, _: u64| if rank / per_node == node { 1.2 } else { 1.0 };
        let stragglers = stragglers(&waiting(per_node, &work(slow)));
        assert_eq!(names(&stragglers), ["node1"]);
        assert_eq!((stragglers.found[0].group, stragglers.found[0].gpus.len()), (RankGroup::Node, per_node));
        let truth = stragglers.step_us - step_us(&waiting(per_node, &work(|_, _| 1.0)));
        let gain = stragglers.found[0].gain_us.unwrap();
        assert!((gain / truth - 1.0).abs() < 0.05, "{gain}, {truth}");
    }
}

#[test]
fn pauses_are_events_unless_they_recur_on_one_rank() {
    let usual = work(|_, _| 1.0);
    let once = stragglers(&waiting(RANKS, &|rank, step, place| {
        usual(rank, step, place) + if (rank, step, place) == (5, 30, 1) { 500 * MS } else { 0 }
    }));
    assert_eq!((names(&once).len(), once.event_count, once.events[0].gpu), (0, 1, 5));
    assert!((once.events[0].excess_us - 5e5).abs() < 1e3 && once.step_us < 20_000.0, "{once:?}");
    let often = stragglers(&waiting(RANKS, &|rank, step, place| {
        usual(rank, step, place) + if rank == 5 && step % 10 == 7 && place == 1 { 20 * MS } else { 0 }
    }));
    assert_eq!((names(&often), often.event_count), (vec!["rank 5"], 0));
    assert!(matches!(often.found[0].when, CostsWhen::Sometimes { every: Some(10), .. }), "{:?}", often.found[0].when);
    // 20 ms in every tenth step
    assert!((often.found[0].gain_us.unwrap() - 2000.0).abs() < 100.0, "{often:?}");
}

/// Numbers of pauses of ranks without a fault, whose machine had other processes (tests/injected).
#[test]
fn one_of_two_ranks_pauses_more_often_by_chance() {
    let chronic = |numbers: &[u32], gpus| {
        let mut pauses = Pauses::default();
        for (gpu, &number) in numbers.iter().enumerate() {
            (0..number).for_each(|step| pauses.add(gpu, step, 1.0));
        }
        pauses.chronic(gpus)
    };
    for by_chance in [[37, 65], [56, 33], [16, 0], [2, 0]] {
        assert!(chronic(&by_chance, 2).is_empty(), "{by_chance:?}");
    }
    assert_eq!((chronic(&[17, 0], 2), chronic(&[32, 109], 2)), (vec![0], vec![1]));
    // many ranks settle the mean
    assert_eq!((chronic(&[5], 64), chronic(&[4], 64)), (vec![0], vec![]));
}

/// A neighbour takes the processor of a rank for some time, now here and now there: too often for pauses, and too
/// seldom for the usual step of a place. Elsewhere its calls come before its GPU is free for them, which is a little
/// slower than the others, or faster.
#[test]
fn a_host_that_is_late_at_another_place_in_each_step_is_the_host() {
    let usual = work(|_, _| 1.0);
    let is_late = |step, place| noise(RANKS, step, place) < 0.994;
    for more in [200_i64, -600] {
        let own = |rank, step, place| {
            let own = usual(rank, step, place);
            let of_rank = own.saturating_add_signed(more * US as i64);
            if rank == 5 { of_rank + if is_late(step, place) { 4 * MS } else { 0 } } else { own }
        };
        let mut made = waiting(RANKS, &own);
        made.table.0.iter_mut().flatten().for_each(|row| row.enqueued -= 20 * US);
        let calls = made.table.0[5].iter_mut().enumerate();
        let in_time = calls.filter(|(call, _)| !is_late(*call as u64 / 3, call % 3));
        in_time.for_each(|(_, row)| row.enqueued -= 4 * MS);
        let stragglers = stragglers(&made);
        let found = &stragglers.found[0];
        assert_eq!((names(&stragglers), found.why), (vec!["rank 5"], Some(LateCause::Host)), "{found:?}");
        let gain_us = step_us(&made) - step_us(&waiting(RANKS, &usual));
        assert!((found.gain_us.unwrap() - gain_us).abs() < 0.05 * gain_us, "{found:?}, not {gain_us}");
    }
}

/// Of two ranks, the other one is compared with nobody where the GPU has not timed one's operation.
#[test]
fn an_untimed_operation_is_no_pause() {
    let mut maker = Maker::new(2, 2);
    let world = maker.communicator("world", &[0, 1]);
    let mut end = MS;
    for step in 0..STEPS {
        for place in 0..3 {
            let slow = work(|rank, _| if rank == 1 { 1.5 } else { 1.0 });
            let begins = [0, 1].map(|rank| end + slow(rank, step, place));
            end = maker.collective(world, "AllReduce", 1 << (20 + place), Start::Each(&begins), 400 * US);
        }
    }
    let mut made = maker.finish();
    assert_eq!(stragglers(&made).event_count, 0);
    made.table.0[1][100].time = None;
    let stragglers = stragglers(&made);
    assert_eq!((names(&stragglers), stragglers.events.len()), (vec!["rank 1"], 0), "{stragglers:?}");
}

#[test]
fn a_rank_that_becomes_slow_has_a_first_step() {
    let stragglers = stragglers(&waiting(RANKS, &work(|rank, step| if rank == 2 && step >= 40 { 1.3 } else { 1.0 })));
    assert_eq!(names(&stragglers), ["rank 2"]);
    assert!(matches!(stragglers.found[0].when, CostsWhen::Since(38..=42)), "{:?}", stragglers.found[0].when);
}

/// Rank r sends to rank r + 1; all meet at the end of a step, which hosts launch ahead. Stages are compared in whole.
#[test]
fn a_stage_of_a_pipeline_is_compared_with_the_other_stages() {
    let made = |slow: Option<usize>| {
        let mut maker = Maker::new(4, 4);
        let world = maker.communicator("world", &[0, 1, 2, 3]);
        let pipeline = maker.communicator("pp", &[0, 1, 2, 3]);
        let mut at = [MS; 4];
        let mut enqueued = vec![vec![]; 4];
        for step in 0..STEPS {
            let mut host = [at[0] - 30 * US; 4];
            let mut launch = |stage: usize, computes: bool| {
                host[stage] += if computes { 100 * US } else { 10 * US };
                enqueued[stage].push(host[stage]);
            };
            for micro in 0..8 {
                for stage in 0..4 {
                    let factor = if slow == Some(stage) { 1.5 } else { 1.0 };
                    at[stage] += (2e6 * factor * noise(stage, step, micro)) as u64;
                    if stage < 3 {
                        let messages = [(stage, stage + 1, 1 << 20)];
                        let end = maker.exchange(pipeline, &messages, Start::Each(&at), 100 * US);
                        (at[stage], at[stage + 1]) = (end, end);
                        launch(stage, true);
                        launch(stage + 1, stage == 2 && micro > 0);
                    }
                }
            }
            at = [maker.collective(world, "AllReduce", 4, Start::Each(&at), 20 * US) + 40 * US; 4];
            (0..4).for_each(|stage| launch(stage, stage == 3));
        }
        enqueue(maker.finish(), &enqueued)
    };
    let without = made(None);
    assert_eq!(names(&stragglers(&without)), [""; 0]);
    for stage in 0..4 {
        let stragglers = stragglers(&made(Some(stage)));
        assert_eq!(names(&stragglers), [format!("stage {stage}")]);
        assert_eq!(stragglers.found[0].gpus, [stage]);
        let truth = stragglers.step_us - step_us(&without);
        let gain = stragglers.found[0].gain_us.unwrap();
        assert!((gain / truth - 1.0).abs() < 0.05, "stage {stage}: {gain}, {truth}");
    }
}

/// Each two neighbours of a pipeline have a communicator of their own, as PyTorch makes them.
#[test]
fn stages_are_known_by_communicators_of_neighbours() {
    let mut maker = Maker::new(4, 4);
    let world = maker.communicator("world", &[0, 1, 2, 3]);
    let pairs = [0, 1, 2].map(|stage| maker.communicator("", &[stage, stage + 1]));
    let mut at = [MS; 4];
    for step in 0..STEPS {
        for micro in 0..8 {
            let is_forward = micro < 4;
            let way: Vec<usize> = if is_forward { (0..4).collect() } else { (0..4).rev().collect() };
            for (place, &stage) in way.iter().enumerate() {
                let factor = if stage == 2 { 1.5 } else { 1.0 };
                at[stage] += (2e6 * factor * noise(stage, step, micro)) as u64;
                if let Some(&next) = way.get(place + 1) {
                    let (low, message) = (stage.min(next), if is_forward { (0, 1, 1 << 20) } else { (1, 0, 1 << 20) });
                    let end = maker.exchange(pairs[low], &[message], Start::Each(&[at[low], at[low + 1]]), 100 * US);
                    (at[stage], at[next]) = (end, end);
                }
            }
        }
        at = [maker.collective(world, "AllReduce", 4, Start::Each(&at), 20 * US); 4];
    }
    let stragglers = stragglers(&maker.finish());
    assert_eq!(names(&stragglers), ["stage 2"]);
    assert_eq!((&stragglers.found[0].gpus[..], stragglers.compared), (&[2][..], 4));
}

/// Two ranks that gather and scatter, beside all-gathers, are no stages: they have no peers.
#[test]
fn ranks_that_gather_and_scatter_are_no_stages() {
    let mut maker = Maker::new(2, 2);
    let world = maker.communicator("world", &[0, 1]);
    let mut end = MS;
    for step in 0..STEPS {
        for place in 0..2 {
            let begins = [0, 1].map(|rank| end + (1e6 * (1.0 + rank as f64) * noise(rank, step, place)) as u64);
            let message = if place == 0 { (1, 0, 1 << 18) } else { (0, 1, 1 << 18) };
            end = maker.exchange(world, &[message], Start::Each(&begins), 50 * US);
            end = maker.collective(world, "AllGather", 1 << 16, Start::Together(end + 100 * US), 50 * US);
        }
    }
    let stragglers = stragglers(&maker.finish());
    assert_eq!((names(&stragglers).len(), stragglers.compared), (0, 0));
}
