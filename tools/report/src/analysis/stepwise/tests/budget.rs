//! Budgets and phase windows, exact to the nanosecond.

use super::super::*;
use super::{answer, two};
use crate::analysis::tests::calls::collective;
use crate::answer::GpuBudget;

/// Steps of 1,000 ns on one GPU of two, each: `tp` from 0 to 300, waiting until 100; `dp` from 200 to 500, waiting
/// until 350.
fn overlapping(job: &Job) -> Vec<JudgedCall> {
    let mut calls = vec![];
    for step in 0..10 {
        let at = 10_000 + 1_000 * step;
        for gpu in [0, 1] {
            calls.push(collective(job, 7, gpu, "AllReduce", 50).at(at - 9, at, at + 300).wait(100).judged());
            calls.push(
                collective(job, 8, gpu, "AllReduce", 100)
                    .at(at - 8, at + 200, at + 500)
                    .wait(150)
                    .cost(40 + 20 * gpu as i64)
                    .judged(),
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
    let expected = GpuBudget {
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
    // 200 bytes in 200 ns, and 400 bytes in 150 ns
    let rates = [tp.calls, dp.calls].map(|calls| (calls.count, calls.algbw.unwrap().mean, calls.busbw.unwrap().mean));
    assert_eq!(rates.map(|(count, ..)| count), [20, 20]);
    assert!((rates[0].1 - 1.0).abs() < 1e-9 && (rates[1].2 - 400.0 / 150.0).abs() < 1e-9, "{rates:?}");
    // both communicate from 200 to 300: 50 ns are of each
    assert_eq!(budget.breakdown.dimensions, ["DP", "TP"]);
    let of_gpu = &budget.breakdown.gpus[0];
    assert_eq!((of_gpu.has_kernels, &of_gpu.exposed_ns[..]), (false, &[2_500, 2_500][..]));
    assert_eq!((tp.overlap, dp.overlap), (None, None));
    let slow = &found.steps.known().unwrap().slowest[0];
    assert_eq!(
        (slow.wait_us, slow.waited_for.clone(), slow.cost_us),
        (Some(0.25), Some((1, "AllReduce".into())), Some(0.06))
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
    let expected = GpuBudget {
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
    assert_eq!((budget.with_kernels, budget.overlap, budget.computed), (true, Some(0.5), Some(1.0)));
    // computing from 50 to 250 and 450 to 700; TP alone from 0 to 50, both from 250 to 300, DP alone from 300 to 450
    assert_eq!(budget.breakdown.gpus[0].exposed_ns, [1_750, 750]);
    assert_eq!(budget.dimensions.iter().map(|of| of.overlap.unwrap()).collect::<Vec<_>>(), [2.0 / 3.0, 1.0 / 3.0]);
}

/// A profiler that records two of ten steps says nothing about the others.
#[test]
fn steps_without_a_kernel_are_counted() {
    let job = two();
    let kernels = || [[12_050, 12_250], [13_050, 13_250]].to_vec();
    let kernels = Kernels { by_process: vec![kernels(), kernels()] };
    let budget = answer(&job, &overlapping(&job), None, Some(kernels)).budget.known().unwrap().clone();
    assert_eq!((budget.with_kernels, budget.computed), (true, Some(0.2)));
}

#[test]
fn an_operation_without_a_begin_has_a_time_and_no_place() {
    let job = two();
    let mut calls = overlapping(&job);
    for judged in calls.iter_mut().filter(|judged| judged.call().communicator == 1) {
        (judged.part.span, judged.part.wait, judged.latest) = (None, None, None);
    }
    let budget = answer(&job, &calls, None, None).budget.known().unwrap().clone();
    // 300 ns in each step of each GPU
    assert_eq!((budget.timed, budget.unplaced_us, budget.gpus[0].transferring_ns), (0.5, 0.3, 2_000));
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
    let lengths = (steps.lengths_us.iter().sum::<f64>() * 1e3).round() as u64;
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
