//! Jobs of known delays.

use super::*;
use crate::analysis::tests::occurrences::{collective, job, judged, play};
use crate::answer::RankLaunches;
use crate::job::Time;
use crate::stream::Occurrence;

fn own(rank: &RankLate) -> f64 {
    rank.own_us.unwrap()
}

fn passed_on(rank: &RankLate) -> f64 {
    rank.propagated_us.unwrap()
}

fn late(job: &Job, occurrences: &[Occurrence]) -> Late {
    let mut waits = WaitListener::new(job, 3);
    play(&mut waits, job, occurrences);
    waits.finish(job, None, Some(&[])).known().unwrap().clone()
}

/// GPUs 0 and 1 share communicator 0, GPUs 1 and 2 communicator 1, GPUs 2 and 3 communicator 2. GPU 0 is late by 100 us
/// in the first one, and the delay runs through the others.
#[test]
fn a_delay_is_charged_once_and_not_again_downstream() {
    let job = job(&[0; 4], &[&[0, 1], &[1, 2], &[2, 3]]);
    let late = late(
        &job,
        &[
            collective(&job, 0, 0, "AllReduce", 64, &[100_000, 0], 110_000),
            collective(&job, 1, 1, "AllReduce", 64, &[112_000, 12_000], 122_000),
            collective(&job, 2, 2, "AllReduce", 64, &[124_000, 24_000], 134_000),
        ],
    );
    assert_eq!((late.compared, late.resolved), (3, 3));
    let costs: Vec<_> = late.ranks.iter().map(|rank| (rank.cost_us, own(rank), passed_on(rank))).collect();
    assert_eq!(costs, [(100.0, 100.0, 0.0), (100.0, 0.0, 100.0), (100.0, 0.0, 100.0), (0.0, 0.0, 0.0)]);
    let waits: Vec<_> = late.ranks.iter().map(|rank| (rank.calls, rank.wait_us, rank.last)).collect();
    assert_eq!(waits, [(1, 0.0, 1), (2, 100.0, 1), (2, 100.0, 1), (1, 100.0, 0)]);
    let [first, second, third] = late.worst.as_slice() else { panic!("three operations") };
    assert_eq!((first.gpu, first.propagated, first.before.clone(), first.time_us), (0, Some(false), None, 100.0));
    let before = Some(("AllReduce".to_owned(), "0000000000000001".to_owned(), 100.0));
    assert_eq!((second.gpu, second.propagated, second.late_us, second.before.clone()), (1, Some(true), 100.0, before));
    assert_eq!((third.comm.as_str(), third.cost_us), ("0000000000000003", 100.0));
}

/// GPU 0 is late by 1 ms in the warm-up, and GPU 1 by 20 us in a step.
#[test]
fn the_warm_up_is_in_no_sum_of_steps() {
    let job = job(&[0; 2], &[&[0, 1]]);
    let first = collective(&job, 0, 0, "AllReduce", 64, &[1_000_000, 0], 1_010_000);
    let second = collective(&job, 1, 0, "AllReduce", 64, &[2_000_000, 2_020_000], 2_030_000);
    let late = |steps| {
        let mut waits = WaitListener::new(&job, 3);
        for (occurrence, is_of_step) in [(&first, false), (&second, true)] {
            waits.occurrence(&job, occurrence);
            judged(occurrence).iter().for_each(|judged| waits.add(judged, is_of_step));
        }
        waits.finish(&job, steps, Some(&[])).known().unwrap().clone()
    };
    let rows = |late: &Late| late.ranks.iter().map(|it| (it.calls, it.wait_us, it.cost_us)).collect::<Vec<_>>();
    let (whole, of_step) = (late(None), late(Some(1)));
    assert_eq!((whole.steps, rows(&whole)), (0, vec![(2, 20.0, 1000.0), (2, 1000.0, 20.0)]));
    assert_eq!((of_step.steps, rows(&of_step)), (1, vec![(1, 20.0, 0.0), (1, 0.0, 20.0)]));
    assert_eq!((whole.worst.len(), of_step.worst.len(), of_step.worst[0].gpu), (2, 1, 1));
}

/// A GPU that waited for 40 us and is late by 100 us is late by itself.
#[test]
fn a_short_wait_is_no_excuse() {
    let job = job(&[0; 3], &[&[0, 1], &[1, 2]]);
    let late = late(
        &job,
        &[
            collective(&job, 0, 0, "AllReduce", 64, &[40_000, 0], 50_000),
            collective(&job, 1, 1, "AllReduce", 64, &[150_000, 50_000], 160_000),
        ],
    );
    assert_eq!((own(&late.ranks[1]), passed_on(&late.ranks[1])), (100.0, 0.0));
}

/// Three others wait for 100, 70 and 40 us.
#[test]
fn the_cost_is_the_sum_of_the_others_waits() {
    let job = job(&[0; 4], &[&[0, 1, 2, 3]]);
    let late = late(&job, &[collective(&job, 0, 0, "AllGather", 64, &[0, 30_000, 60_000, 100_000], 120_000)]);
    assert_eq!((late.ranks[3].cost_us, late.ranks[3].last, late.worst[0].late_us), (210.0, 1, 40.0));
    assert_eq!(late.ranks.iter().map(|rank| rank.wait_us).sum::<f64>(), 210.0);
}

/// On another stream, a call that was enqueued later has ended before the late one began.
#[test]
fn the_call_before_may_have_been_enqueued_later() {
    let job = job(&[0; 3], &[&[0, 1], &[1, 2]]);
    let late = late(
        &job,
        &[
            collective(&job, 0, 1, "AllReduce", 64, &[112_000, 12_000], 122_000),
            collective(&job, 1, 0, "AllReduce", 64, &[100_000, 0], 110_000),
        ],
    );
    assert_eq!((own(&late.ranks[1]), passed_on(&late.ranks[1])), (0.0, 100.0));
}

/// The call that waited ended long before: another one, without a wait, came between.
#[test]
fn a_wait_before_the_call_before_does_not_count() {
    let job = job(&[0; 3], &[&[0, 1], &[1, 2]]);
    let mut occurrences = vec![collective(&job, 0, 0, "AllReduce", 64, &[100_000, 0], 110_000)];
    for number in 1..=200 {
        let start = number as i64 * 200_000;
        occurrences.push(collective(&job, number, 0, "AllReduce", 64, &[start, start], start + 10_000));
    }
    occurrences.push(collective(&job, 201, 1, "AllReduce", 64, &[50_000_000, 49_900_000], 51_000_000));
    let late = late(&job, &occurrences);
    assert_eq!((own(&late.ranks[1]), passed_on(&late.ranks[1])), (100.0, 0.0));
    assert_eq!((late.compared, late.resolved), (202, 2));
}

#[test]
fn the_worst_operations_are_few_and_in_order() {
    let job = job(&[0; 2], &[&[0, 1]]);
    let of = |number: u64| {
        let begin = number as i64 * 1_000_000;
        let delay = [50_000, 10_000, 70_000, 70_000, 20_000][number as usize % 5];
        collective(&job, number, 0, "AllReduce", 64, &[begin, begin + delay], begin + 80_000)
    };
    let late = late(&job, &(0..50).map(of).collect::<Vec<_>>());
    let worst: Vec<_> = late.worst.iter().map(|it| (it.sequence, it.cost_us)).collect();
    assert_eq!(worst, [(Some((2, 0)), 70.0), (Some((3, 0)), 70.0), (Some((7, 0)), 70.0)]);
}

/// Two all-reduces of one group share a kernel: it waits once.
#[test]
fn a_shared_kernel_waits_once() {
    let job = job(&[0; 2], &[&[0, 1]]);
    let mut both = [0, 1].map(|number| collective(&job, number, 0, "AllReduce", 64, &[100_000, 0], 110_000));
    let apart = late(&job, &both);
    assert_eq!((apart.ranks[0].cost_us, apart.ranks[1].wait_us, apart.ranks[1].calls), (200.0, 200.0, 2));
    both.iter_mut().flat_map(|it| &mut it.parts).for_each(|part| part.call.is_fused = true);
    let fused = late(&job, &both);
    assert_eq!((fused.ranks[0].cost_us, fused.ranks[1].wait_us, fused.ranks[1].calls), (100.0, 100.0, 1));
    assert_eq!((fused.ranks[0].last, fused.worst.len(), fused.compared), (1, 1, 2));
}

#[test]
fn nothing_compared_is_said() {
    let job = job(&[0; 2], &[&[0, 1]]);
    let mut occurrence = collective(&job, 0, 0, "AllReduce", 64, &[0, 5], 10);
    occurrence.compared = None;
    occurrence.parts.iter_mut().for_each(|part| part.wait = None);
    let mut waits = WaitListener::new(&job, 3);
    play(&mut waits, &job, &[occurrence]);
    assert!(waits.finish(&job, None, Some(&[])).absent().is_some_and(|reason| reason.starts_with("Waits are unknown")));
}

/// 300 collectives of random groups among six GPUs, each of which computes for a random time between them.
fn random(job: &Job, random: &mut fastrand::Rng) -> Vec<Occurrence> {
    let mut free = [0; 6];
    let of = |number: u64| {
        let place = random.usize(..job.communicators.len());
        let gpus: Vec<usize> = job.communicators[place].members.iter().map(|member| member.gpu).collect();
        let starts: Vec<i64> = gpus.iter().map(|&gpu| free[gpu] + random.i64(1..60_000)).collect();
        let stop = starts.iter().max().unwrap() + random.i64(1..20_000);
        gpus.iter().for_each(|&gpu| free[gpu] = stop);
        collective(job, number, place, "AllReduce", 64, &starts, stop)
    };
    (0..300).map(of).collect()
}

/// The same figures by looking at all calls of a GPU for each of its delays.
#[test]
fn random_jobs_have_the_figures_of_a_plain_reference() {
    let job = job(&[0; 6], &[&[0, 1, 2, 3, 4, 5], &[0, 1], &[2, 3], &[4, 5], &[1, 2, 4], &[0, 3, 5]]);
    for seed in 0..20 {
        let occurrences = random(&job, &mut fastrand::Rng::with_seed(seed));
        let mut calls: Vec<Vec<([i64; 2], i64)>> = vec![vec![]; 6];
        for part in occurrences.iter().flat_map(|it| &it.parts) {
            calls[part.call.gpu].push((part.span.unwrap(), part.wait.unwrap()));
        }
        let mut expected = [[0; 3]; 6];
        for (sums, calls) in expected.iter_mut().zip(&calls) {
            sums[0] = calls.iter().map(|call| call.1).sum();
        }
        for occurrence in &occurrences {
            let Some(last) = occurrence.compared.unwrap().last else { continue };
            let [mut late, mut next] = [i64::MIN; 2];
            for start in occurrence.parts.iter().map(|part| part.span.unwrap()[0]) {
                (late, next) = if start > late { (start, late) } else { (late, next.max(start)) };
            }
            let gpu = occurrence.parts[last].call.gpu;
            let before = calls[gpu].iter().filter(|call| call.0[1] <= late && call.0[0] < late);
            let is_propagated = before.max_by_key(|call| call.0[1]).is_some_and(|call| call.1 >= late - next);
            let cost: i64 = occurrence.parts.iter().map(|part| part.wait.unwrap()).sum();
            expected[gpu][if is_propagated { 2 } else { 1 }] += cost;
        }
        let late = late(&job, &occurrences);
        let microseconds = |sums: [i64; 3]| sums.map(|sum| sum as f64 / 1e3);
        let found: Vec<_> = late.ranks.iter().map(|rank| [rank.wait_us, own(rank), passed_on(rank)]).collect();
        assert_eq!(found, expected.map(microseconds), "seed {seed}");
        assert!(late.ranks.iter().any(|rank| own(rank) > 0.0) && late.ranks.iter().any(|rank| passed_on(rank) > 0.0));
        // a GPU waits in one collective at a time, so the map has all waits
        for (row, sums) in late.map.rows.iter().zip(expected) {
            let waited: f64 = row.iter().map(|&share| f64::from(share) * late.map.bin_us).sum();
            assert!((waited - sums[0] as f64 / 1e3).abs() < 0.01 * waited.max(1.0), "seed {seed}: {waited}");
        }
    }
}

/// GPU 0 is late by 100 us: in the first operation the host launched its kernel 2 us before the begin, in the second
/// 300 us before. Nobody knows the other GPU's launches.
#[test]
fn delays_are_those_of_the_launch_or_of_the_gpu() {
    let job = job(&[0; 2], &[&[0, 1]]);
    let mut first = collective(&job, 0, 0, "AllReduce", 64, &[1_000_000, 900_000], 1_010_000);
    let mut second = collective(&job, 1, 0, "AllReduce", 64, &[2_000_000, 1_900_000], 2_010_000);
    for (occurrence, before) in [(&mut first, 2_000), (&mut second, 300_000)] {
        let call = &mut occurrence.parts[0].call;
        call.time = Some(Time { start: 9_000_000, stop: 9_010_000, clock: [1_000; 2], ahead: 0 });
        call.launched = Some(9_000_000 - before);
    }
    let late = late(&job, &[first, second]);
    let launches = late.ranks[0].launches.unwrap();
    let close = |found: Option<f64>, wanted: f64| found.is_some_and(|found| (found / wanted - 1.0).abs() < 0.01);
    assert!(close(launches.queued_median_us, 300.0), "{launches:?}");
    let known = RankLaunches { queued_median_us: None, ..launches };
    let wanted = RankLaunches {
        host_later: 1,
        gpu_later: 1,
        queued_us: 300.0,
        queued_median_us: None,
        host_cost_us: 100.0,
        gpu_cost_us: 100.0,
    };
    assert_eq!((known, late.ranks[0].cost_us, late.ranks[1].launches), (wanted, 200.0, None));
}
