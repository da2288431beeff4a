//! Whole jobs with figures that are known in advance.

use super::*;
use crate::analysis::maker::{Rows, collective, exchange, job};
use crate::analysis::steps::Survey;
use crate::answer::StepSource;
use crate::job::{Links, StepRegions};

/// A clock that all processes read.
fn common(_: usize, time: u64) -> i64 {
    time as i64
}

fn plan(job: &Job, calls: &[Judged], regions: Option<&StepRegions>) -> Plan {
    let mut survey = Survey::new(job);
    let rows = Rows::of(job, calls);
    for process in 0..job.processes.len() {
        survey.read(job, &rows, process).unwrap();
    }
    Plan::of(job, survey, regions, &common)
}

fn answer(job: &Job, calls: &[Judged], regions: Option<&StepRegions>, kernels: Option<Kernels>) -> ByStep {
    let rules = crate::analysis::dimension::rules("dimensions", "TP name tp\nDP name dp\n").unwrap();
    let dimensions = Dimensions::of(job, &rules, Survey::new(job).tallies());
    let links = Links { others: Some(80.0), ..Links::default() };
    let options = Options { top: 3, links, ..Options::default() };
    let mut stepwise = Stepwise::new(job, plan(job, calls, regions), &dimensions, &options, kernels, &common);
    calls.iter().for_each(|judged| stepwise.call(job, judged));
    stepwise.finish(job)
}

/// A call of `function` and `count` on both GPUs: begin, end.
fn both(job: &Job, comm: u64, function: &str, count: u64, at: [i64; 2]) -> [Judged; 2] {
    [0, 1].map(|gpu| collective(job, comm, gpu, function, count).at(at[0] - 1, at[0], at[1]).wait(0).judged())
}

fn two() -> Job {
    let mut job = job(&[(7, &[0, 1]), (8, &[0, 1])]);
    job.communicators[0].name = "tp".into();
    job.communicators[1].name = "dp".into();
    job
}

/// Steps of these lengths: 4 equal layers on `tp`, and a sum of 1,000 on `dp`; before them, other operations.
fn training(job: &Job, lengths: &[i64]) -> Vec<Judged> {
    let mut calls = vec![];
    let mut at = 1_000;
    for count in [3, 5, 5, 64, 9] {
        calls.extend(both(job, 8, "Broadcast", count, [at, at + 10]));
        at += 10_000;
    }
    for length in lengths {
        for layer in 0..4 {
            calls.extend(both(job, 7, "AllReduce", 64, [at + 100 * layer, at + 100 * layer + 50]));
        }
        calls.extend(both(job, 8, "AllReduce", 1000, [at + 400, at + 900]));
        at += length;
    }
    calls
}

#[test]
fn steps_behind_a_warm_up_with_an_outlier_and_a_shift() {
    let job = two();
    let mut lengths = vec![20_000, 9_000];
    lengths.extend([4_000; 60]);
    lengths.extend([5_000; 40]);
    lengths[2 + 30] = 30_000;
    let found = answer(&job, &training(&job, &lengths), None, None);
    let steps = found.steps.known().unwrap();
    assert_eq!(steps.source, StepSource::Repetition);
    assert_eq!((steps.warm_up, steps.count, steps.period), (2, 100, Some(5)));
    assert_eq!(steps.covered, 1.0);
    assert_eq!((steps.median_us, steps.p99_us), (4.0, 5.0));
    // 59 of 4 us, one of 30 us, 39 of 5 us; the last step ends with its last call, 0.9 us behind its begin
    assert!((steps.mean_us - (59.0 * 4.0 + 30.0 + 39.0 * 5.0 + 0.9) / 100.0).abs() < 1e-9, "{}", steps.mean_us);
    assert_eq!((steps.slowest[0].step, steps.slowest[0].length_us), (30, 30.0));
    assert!(steps.outliers.contains(&30) && !steps.outliers.contains(&0));
    let [shift] = &steps.shifts[..] else { panic!("one shift: {:?}", steps.shifts) };
    assert_eq!((shift.step, shift.from_us, shift.to_us), (60, 4.0, 5.0));
    assert_eq!(steps.lengths_us.len(), 100);
}

#[test]
fn checkpoints_between_steps_are_in_their_lengths_and_not_covered() {
    let job = two();
    let mut calls = training(&job, &[4_000; 50]);
    // behind steps 12 and 40: each step has 10 calls of both GPUs, and 10 calls are before them
    for step in [40, 12] {
        let extra = both(&job, 8, "AllGather", 1, [51_000 + 4_000 * step + 3_000, 51_000 + 4_000 * step + 3_100]);
        let place = 10 + 10 * (step as usize + 1);
        calls.splice(place..place, extra);
    }
    let found = answer(&job, &calls, None, None);
    let steps = found.steps.known().unwrap();
    assert_eq!((steps.count, steps.warm_up, steps.median_us), (50, 0, 4.0));
    assert_eq!(steps.covered, 250.0 / 252.0);
    assert!(steps.outliers.is_empty());
}

#[test]
fn random_calls_have_no_steps_and_a_budget_of_the_recording() {
    let job = two();
    let mut random = fastrand::Rng::with_seed(11);
    let calls: Vec<Judged> =
        (0..300).flat_map(|at| both(&job, 7, "AllReduce", random.u64(1..6), [at * 100 + 50, at * 100 + 90])).collect();
    let found = answer(&job, &calls, None, None);
    assert!(found.steps.absent().unwrap().contains("the operations of rank 0 repeat nothing"), "{:?}", found.steps);
    let budget = found.budget.known().unwrap();
    assert_eq!((budget.of_steps, budget.steps), (false, 1));
    // from the first begin to the last end
    assert_eq!(
        (budget.gpus[0].total_ns, budget.gpus[0].transferring_ns, budget.gpus[0].idle_ns),
        (29_940, 12_000, 17_940)
    );
    assert_eq!(found.swim.known().unwrap().step, None);
}

/// Equal functions of different sizes, as nccl-tests run them, repeat without counts; each call would be a step.
#[test]
fn one_function_of_different_sizes_has_no_steps() {
    let job = two();
    let calls: Vec<Judged> = (0..300)
        .flat_map(|at| both(&job, 7, "AllReduce", 1 + at as u64 / 20, [at * 100 + 50, at * 100 + 90]))
        .collect();
    assert!(answer(&job, &calls, None, None).steps.absent().is_some());
    // of one size, each call is one
    let steps = answer(&job, &calls[..40], None, None).steps.known().unwrap().clone();
    assert_eq!((steps.source, steps.count, steps.period), (StepSource::Repetition, 20, Some(1)));
}

#[test]
fn changing_counts_are_steps_without_counts() {
    let job = two();
    let mut random = fastrand::Rng::with_seed(12);
    let mut calls = vec![];
    for step in 0..30 {
        let at = 1_000 + step * 1_000;
        let bytes = random.u64(1..1_000_000);
        for gpu in [0, 1] {
            let peer = 1 - gpu as i32;
            let messages = [(peer, true, bytes), (peer, false, bytes)];
            calls.push(exchange(&job, 7, gpu, &messages).at(at, at, at + 100).judged());
        }
        calls.extend(both(&job, 8, "AllReduce", 5, [at + 200, at + 300]));
    }
    let steps = answer(&job, &calls, None, None).steps.known().unwrap().clone();
    assert_eq!((steps.source, steps.count, steps.period), (StepSource::RepetitionWithoutCounts, 30, Some(2)));
}

#[test]
fn ranks_that_disagree_have_no_steps() {
    let job = two();
    let mut calls = training(&job, &[4_000; 20]);
    // the second GPU leaves after 15 steps
    let mut seen = 0;
    calls.retain(|judged| {
        seen += usize::from(judged.call().gpu == 1);
        judged.call().gpu == 0 || seen <= 5 + 15 * 5
    });
    let reason = answer(&job, &calls, None, None).steps.absent().unwrap().to_string();
    assert!(reason.contains("rank 1 repeats 15 times, rank 0 20 times"), "{reason}");
}

#[test]
fn regions_are_steps() {
    let job = two();
    let calls = training(&job, &[4_000; 10]);
    let regions = |count: usize| (0..count as u64).map(|step| [50_900 + 4_000 * step, 52_000 + 4_000 * step]).collect();
    let regions = StepRegions { name: "train".into(), is_file: false, by_process: vec![regions(10), regions(9)] };
    let found = answer(&job, &calls, Some(&regions), None);
    let steps = found.steps.known().unwrap();
    assert_eq!(steps.source, StepSource::Region("train".into()));
    // the second rank has one region less, and its last step ends where a call outside of it begins
    assert_eq!((steps.count, steps.period, steps.median_us), (9, None, 4.0));
    let none = StepRegions { by_process: vec![vec![], vec![]], ..regions };
    assert_eq!(answer(&job, &calls, Some(&none), None).steps.absent(), Some("rank 0 has no step `train`"));
}

/// Steps of 1,000 ns on one GPU of two, each: `tp` from 0 to 300, waiting until 100; `dp` from 200 to 500, waiting
/// until 350.
fn overlapping(job: &Job) -> Vec<Judged> {
    let mut calls = vec![];
    for step in 0..10 {
        let at = 10_000 + 1_000 * step;
        for gpu in [0, 1] {
            calls.push(collective(job, 7, gpu, "AllReduce", 50).at(at - 9, at, at + 300).wait(100).judged());
            calls.push(
                collective(job, 8, gpu, "AllReduce", 100).at(at - 8, at + 200, at + 500).wait(150).cost(40).judged(),
            );
        }
    }
    calls
}

#[test]
fn a_budget_is_exact() {
    let job = two();
    let found = answer(&job, &overlapping(&job), None, None);
    let budget = found.budget.known().unwrap();
    let expected = crate::answer::GpuBudget {
        // nine steps of 1,000 ns, and the last until its last end
        total_ns: 9_500,
        // 0 to 100 and 200 to 350 of each step
        waiting_ns: 2_500,
        transferring_ns: 2_500,
        overlapped_ns: 0,
        computing_ns: 0,
        idle_ns: 4_500,
        not_compared_ns: 0,
    };
    assert_eq!(budget.gpus, [expected; 2]);
    assert_eq!((budget.whole.total_ns, budget.steps, budget.timed, budget.overlap), (19_000, 10, 1.0, None));
    let [tp, dp] = &budget.dimensions[..] else { panic!("two dimensions: {:?}", budget.dimensions) };
    assert_eq!(
        (tp.dimension.as_str(), tp.time_us, tp.wait_us, tp.bytes, tp.operations),
        ("TP", 0.3, Some(0.1), 200.0, 1.0)
    );
    assert_eq!((dp.time_us, dp.wait_us, dp.bytes), (0.3, Some(0.15), 400.0));
    // 200 bytes on the bus take 20 ns at 10 GB/s; there are 200 ns of transfer
    let while_active = tp.while_active.unwrap();
    assert!((while_active.mean - 0.1).abs() < 1e-9 && while_active.p95 == 0.1, "{while_active:?}");
    let of_step = tp.of_step.unwrap();
    assert!((of_step.mean - (9.0 * 0.02 + 0.04) / 10.0).abs() < 1e-9 && of_step.p95 == 0.04, "{of_step:?}");
    let slow = &found.steps.known().unwrap().slowest[0];
    assert_eq!(
        (slow.wait_us, slow.waited_for.clone(), slow.cost_us),
        (Some(0.25), Some((0, "AllReduce".into())), Some(0.04))
    );
}

#[test]
fn kernels_part_a_budget_in_six() {
    let job = two();
    // 50 to 250, and 450 to 700 of each step
    let kernels =
        |_| (0..10).flat_map(|step| [[50, 250], [450, 700]].map(|it| it.map(|time| 10_000 + 1_000 * step + time)));
    let kernels = Kernels { by_process: (0..2).map(|gpu| kernels(gpu).collect()).collect() };
    let budget = answer(&job, &overlapping(&job), None, Some(kernels)).budget.known().unwrap().clone();
    let expected = crate::answer::GpuBudget {
        total_ns: 9_500,
        // 0 to 50 and 250 to 350
        waiting_ns: 1_500,
        // 350 to 450
        transferring_ns: 1_000,
        // 50 to 250 and 450 to 500
        overlapped_ns: 2_500,
        // 500 to 700, but not in the last step
        computing_ns: 1_800,
        // 700 to 1,000
        idle_ns: 2_700,
        not_compared_ns: 0,
    };
    assert_eq!(budget.gpus, [expected; 2]);
    assert_eq!((budget.with_kernels, budget.overlap), (true, Some(0.5)));
}

#[test]
fn an_unknown_wait_is_a_transfer_that_is_said() {
    let job = two();
    let mut calls = overlapping(&job);
    for judged in calls.iter_mut().filter(|judged| judged.call().communicator == 1) {
        (judged.part.wait, judged.latest) = (None, None);
    }
    let budget = answer(&job, &calls, None, None).budget.known().unwrap().clone();
    let gpu = budget.gpus[0];
    assert_eq!((gpu.waiting_ns, gpu.transferring_ns, gpu.not_compared_ns), (1_000, 4_000, 3_000));
    assert_eq!(budget.dimensions[1].wait_us, None);
}

#[test]
fn sums_are_exact_whatever_the_calls() {
    let job = two();
    let mut random = fastrand::Rng::with_seed(13);
    let mut calls = vec![];
    for step in 0..40i64 {
        for comm in [7, 8, 7] {
            let start = 1_000 * step + random.i64(0..900) + i64::from(comm == 8) * 300;
            let stop = start + random.i64(0..700);
            let wait = random.i64(0..=stop - start);
            for gpu in [0, 1] {
                calls.push(
                    collective(&job, comm, gpu, "AllReduce", 1).at(1_000 * step, start, stop).wait(wait).judged(),
                );
            }
        }
    }
    let found = answer(&job, &calls, None, None);
    let (steps, budget) = (found.steps.known().unwrap(), found.budget.known().unwrap());
    for gpu in &budget.gpus {
        let parts = gpu.waiting_ns + gpu.transferring_ns + gpu.overlapped_ns + gpu.computing_ns + gpu.idle_ns;
        assert_eq!(parts, gpu.total_ns);
    }
    let lengths = (steps.mean_us * 1e3 * steps.count as f64).round() as u64;
    assert_eq!((steps.count, budget.gpus[0].total_ns), (40, lengths));
}

#[test]
fn windows_between_phases_are_negative_where_they_overlap() {
    let job = two();
    let found = answer(&job, &overlapping(&job), None, None);
    let [there, back] = &found.phases.known().unwrap().windows[..] else { panic!("two kinds of windows") };
    assert_eq!((there.from.as_str(), there.to.as_str(), there.count), ("TP", "DP", 20));
    assert_eq!((there.mean_us, there.median_us, there.p95_us, there.negative), (-0.1, -0.1, -0.1, 1.0));
    assert_eq!((back.from.as_str(), back.count, back.median_us, back.negative), ("DP", 18, 0.5, 0.0));
    assert_eq!((there.bins.clone(), back.bins.clone()), (vec![(-1.024, 20)], vec![(0.0, 18)]));
}

#[test]
fn a_step_in_detail_is_the_slowest() {
    let job = two();
    let mut lengths = [4_000; 20];
    lengths[12] = 6_000;
    let found = answer(&job, &training(&job, &lengths), None, None);
    let swim = found.swim.known().unwrap();
    assert_eq!((swim.step, swim.length_us, swim.left_out, swim.lanes.len()), (Some(12), 6.0, 0, 4));
    let [tp, dp] = &swim.lanes[..2] else { panic!("two lanes of a GPU") };
    assert_eq!((tp.gpu, tp.comm.as_str(), tp.dimension.as_str(), tp.bars.len()), (0, "0000000000000007", "TP", 4));
    let bar = &dp.bars[0];
    assert_eq!((bar.enqueued_us, bar.start_us, bar.wait_until_us, bar.stop_us), (0.399, 0.4, Some(0.4), 0.9));
}
