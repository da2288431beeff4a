//! Steps, and one of them in detail.

use super::super::*;
use super::{answer, both, swim, training, two};
use crate::analysis::tests::calls::{collective, exchange, job};
use crate::answer::StepSource;
use crate::job::StepRegions;

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
    // 59 of 4 us, one of 30 us, 39 of 5 us; the last step ends with its last call, 0.9 us after its begin
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
    // after steps 12 and 40: each step has 10 calls of both GPUs, and 10 calls are before them
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

/// Operations between the steps of the warm-up are in no figure.
#[test]
fn a_warm_up_with_other_operations() {
    let job = two();
    let mut lengths = vec![30_000, 20_000];
    lengths.extend([4_000; 50]);
    let mut calls = training(&job, &lengths);
    calls.splice(20..20, both(&job, 8, "AllGather", 1, [70_000, 70_100]));
    let steps = answer(&job, &calls, None, None).steps.known().unwrap().clone();
    assert_eq!((steps.warm_up, steps.count, steps.covered), (2, 50, 1.0));
}

/// Of a recording that is too long to be surveyed as a whole (in tests, 4,096 operations), the number of steps and the
/// slowest one are known at the end. The second GPU's last step is not complete.
#[test]
fn a_long_recording() {
    let job = two();
    let mut lengths = [4_000; 1_000];
    lengths[300] = 9_000;
    lengths[900] = 10_000;
    let mut calls = training(&job, &lengths);
    calls.pop();
    let found = answer(&job, &calls, None, None);
    let steps = found.steps.known().unwrap();
    assert_eq!((steps.count, steps.slowest[0].step, steps.period), (999, 900, Some(5)));
    let gpus = &found.budget.known().unwrap().gpus;
    assert_eq!(gpus.iter().map(|gpu| gpu.total_ns).collect::<Vec<_>>(), [999 * 4_000 + 11_000; 2]);
    assert_eq!(found.notes, ["The step in detail is the slowest one of each GPU's first 262,144 operations."]);
    assert_eq!(swim(&job, found).step, Some(300));
}

#[test]
fn random_calls_have_no_steps_and_a_budget_of_the_recording() {
    let job = two();
    let mut random = fastrand::Rng::with_seed(11);
    let calls: Vec<JudgedCall> =
        (0..300).flat_map(|at| both(&job, 7, "AllReduce", random.u64(1..6), [at * 100 + 50, at * 100 + 90])).collect();
    let found = answer(&job, &calls, None, None);
    assert!(
        found.steps.absent().unwrap().contains("no repetition covers half of the operations of rank 0"),
        "{:?}",
        found.steps
    );
    let budget = found.budget.known().unwrap();
    assert_eq!((budget.of_steps, budget.steps), (false, 1));
    // from the first begin to the last end
    assert_eq!(
        (budget.gpus[0].total_ns, budget.gpus[0].transferring_ns, budget.gpus[0].idle_ns),
        (29_940, 12_000, 17_940)
    );
    assert_eq!(swim(&job, found).step, None);
}

/// Equal functions of different sizes, as nccl-tests run them, repeat without counts; each call would be a step.
#[test]
fn one_function_of_different_sizes_has_no_steps() {
    let job = two();
    let calls: Vec<JudgedCall> = (0..300)
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
    let mut job = two();
    let mut calls = training(&job, &[4_000; 20]);
    // the second GPU leaves after 15 steps
    let mut seen = 0;
    calls.retain(|judged| {
        seen += usize::from(judged.call().gpu == 1);
        judged.call().gpu == 0 || seen <= 5 + 15 * 5
    });
    let reason = answer(&job, &calls, None, None).steps.absent().unwrap().to_string();
    assert!(reason.contains("rank 1 repeats 15 times, rank 0 20 times"), "{reason}");
    // unless its process was ended: then the steps are those that all have
    job.processes[1].complete = false;
    let found = answer(&job, &calls, None, None);
    assert_eq!(found.steps.known().unwrap().count, 15);
    let gpus = &found.budget.known().unwrap().gpus;
    assert_eq!(gpus.iter().map(|gpu| gpu.total_ns).collect::<Vec<_>>(), [15 * 4_000, 14 * 4_000 + 900]);
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

#[test]
fn a_step_in_detail_is_the_slowest() {
    let job = two();
    let mut lengths = [4_000; 20];
    lengths[12] = 6_000;
    let found = answer(&job, &training(&job, &lengths), None, None);
    let swim = swim(&job, found);
    assert_eq!((swim.step, swim.length_us, swim.left_out, swim.lanes.len()), (Some(12), 6.0, 0, 4));
    let [tp, dp] = &swim.lanes[..2] else { panic!("two lanes of a GPU") };
    assert_eq!((tp.gpu, tp.comm.as_str(), tp.dimension.as_str(), tp.bars.len()), (0, "0000000000000007", "TP", 4));
    let bar = &dp.bars[0];
    assert_eq!((bar.enqueued_us, bar.start_us, bar.wait_until_us, bar.stop_us), (0.399, 0.4, Some(0.4), 0.9));
    let usual = swim.usual.unwrap();
    assert_eq!((usual.step, usual.length_us, usual.lanes.len(), usual.usual), (Some(0), 4.0, 4, None));
    // four layers of 50 ns with 50 ns between them, and the sum: both GPUs are on the path, since they begin at one
    // time
    let ends: Vec<_> = swim.path.iter().map(|piece| (piece.function.as_deref(), piece.until_us)).collect();
    assert_eq!(ends.len(), 9);
    assert_eq!(ends[..2], [(Some("AllReduce"), 0.05), (None, 0.1)]);
    assert_eq!(ends[8], (Some("AllReduce"), 0.9));
}

/// Three stages, four micro-batches: the first stage sends, the last one receives, the middle one does both, and each
/// sums up with its neighbour.
#[test]
fn stages_of_a_pipeline_have_steps_of_their_own() {
    let job = job(&[(1, &[0, 2, 4]), (2, &[1, 3, 5]), (3, &[0, 1]), (4, &[2, 3]), (5, &[4, 5])]);
    let mut calls = vec![];
    for step in 0..12i64 {
        let at = 100_000 * (step + 1);
        for gpu in 0..6usize {
            let (comm, stage) = (1 + gpu as u64 % 2, gpu as i32 / 2);
            for batch in 0..4i64 {
                let now = at + 10_000 * batch + 1_000 * i64::from(stage);
                let times = [now, now, now + 500];
                if stage > 0 {
                    let receive = exchange(&job, comm, gpu, &[(stage - 1, false, 64)]);
                    calls.push(receive.at(times[0], times[1], times[2]).judged());
                }
                if stage < 2 {
                    let send = exchange(&job, comm, gpu, &[(stage + 1, true, 64)]);
                    calls.push(send.at(times[0], times[1] + 500, times[2] + 500).judged());
                }
            }
            let sum = collective(&job, 3 + stage as u64, gpu, "AllReduce", 4096);
            calls.push(sum.at(at, at + 50_000, at + 60_000).judged());
        }
    }
    let found = answer(&job, &calls, None, None);
    let steps = found.steps.known().unwrap();
    assert_eq!((steps.source.clone(), steps.count, steps.covered), (StepSource::Repetition, 12, 1.0));
    assert_eq!((steps.period, steps.median_us), (Some(5), 100.0));
    assert_eq!(found.budget.known().unwrap().gpus.len(), 6);
}

/// Four layers of one call each are a period of their own, as long as nothing else comes between them.
#[test]
fn layers_alone_are_no_steps() {
    let job = two();
    let steps = answer(&job, &training(&job, &[4_000; 3]), None, None).steps.known().unwrap().clone();
    assert_eq!((steps.count, steps.period), (3, Some(5)));
}
