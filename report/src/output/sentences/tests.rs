//! The sentences of known reports.

use super::*;
use crate::answer::sample::sample;
use crate::answer::{Complete, GpuBudget, Pairs, Part, RankLateness};

fn whole() -> Report {
    Report {
        complete: Complete {
            ranks_here: 8,
            ranks: Some(8),
            operations: 4000,
            clock_error_us: Some(5.2),
            wait_error_us: Some(1.9),
            ..Complete::default()
        },
        ..sample(8)
    }
}

#[test]
fn complete_counts_ranks_and_names_each_lack() {
    let expected = "Complete: all 8 ranks are here with 4,000 operations; clocks agree to within 5.20 us, waits \
                    are known to 1.90 us.";
    assert_eq!(complete(&whole()), expected);
    let mut report = whole();
    (report.complete.ranks, report.complete.dropped, report.complete.untimed) = (Some(9), 1, 40);
    (report.complete.clock_error_us, report.complete.wait_error_us) = (None, None);
    let expected = "Not complete: 8 of 9 ranks are here with 4,000 operations, but 1 event not recorded, 40 \
                    operations without a GPU time; clocks are not connected, so times of different \
                    machines are not compared.";
    assert_eq!(complete(&report), expected);
    report = whole();
    report.complete.ranks = None;
    assert!(complete(&report).starts_with("Complete as far as is known: 8 ranks of an unknown number are here"));
}

#[test]
fn waits_that_clocks_leave_unknown_are_no_zeros() {
    let mut report = whole();
    let of = |calls, wait_us, wait_error_us| RankLate { calls, wait_us, wait_error_us, ..RankLate::default() };
    let mut with = |nodes: u64, [wait_us, error_us]: [f64; 2]| {
        report.complete.nodes = nodes;
        let Part::Known(it) = &mut report.late else { unreachable!() };
        (it.compared, it.ranks) = (900, vec![of(900, wait_us, error_us); 8]);
        [late(&report), cost(&report)]
    };
    let unknown = "Not known: waits between nodes are known to 4.50 ms an operation, which is more than the ranks wait \
                   in a step. An all-reduce over all nodes a step, of a few bytes, lets the report compare their clocks.";
    let [of_late, of_cost] = with(2, [1e6, 900.0 * 4_500.0]);
    assert_eq!(of_late, unknown);
    assert!(of_cost.contains(": how much of that is waiting for other ranks is not known, since"), "{of_cost}");
    assert!(!of_cost.contains('%') || !of_cost.contains("% waiting"), "{of_cost}");
    // longer waits than their errors, one machine, and errors below 1 % of 57 steps of 20 ms
    for (nodes, sums) in [(2, [5e6, 900.0 * 4_500.0]), (1, [1e6, 900.0 * 4_500.0]), (2, [1e3, 9e3])] {
        assert!(with(nodes, sums).iter().all(|text| !text.contains("between nodes")), "{nodes} {sums:?}");
    }
}

#[test]
fn late_names_the_rank_with_the_largest_own_cost() {
    let mut report = whole();
    let rank = |own_us: f64, propagated_us: f64, last: u64| RankLate {
        calls: 900,
        last,
        cost_us: own_us + propagated_us,
        own_us,
        propagated_us,
        ..RankLate::default()
    };
    let Part::Known(it) = &mut report.late else { unreachable!() };
    it.compared = 900;
    it.ranks = vec![rank(0.0, 5e6, 70), rank(250e3, 0.0, 10), rank(600e3, 150e3, 800)];
    // 57 steps, eight ranks
    let expected = "Rank 2 is late most: the others waited for it 13.2 ms a step in all, 7.9 % of all ranks' time; \
                    80 % of that began with rank 2 itself. It came last in 800 of its 900 compared operations. \
                    Next is rank 1, with 29 % of all own delays.";
    assert_eq!(late(&report), expected);
    let Part::Known(it) = &mut report.late else { unreachable!() };
    it.ranks = vec![rank(0.0, 5e6, 70), RankLate::default()];
    assert_eq!(
        late(&report),
        "No rank is late by itself: all 5.00 s that others waited for a last rank were passed on."
    );
    let Part::Known(it) = &mut report.late else { unreachable!() };
    (it.ranks, it.compared, it.resolved, it.steps) = (vec![RankLate::default(); 3], 7, 0, 0);
    assert!(late(&report).starts_with("No rank is late: in none of 7 compared operations"));
    let Part::Known(it) = &mut report.late else { unreachable!() };
    it.compared = 0;
    assert!(late(&report).starts_with("Not known"));
}

/// Costs are of the steps behind the warm-up, and the compared operations of the whole recording.
#[test]
fn nobody_is_called_punctual_for_operations_outside_of_the_steps() {
    let mut report = whole();
    let Part::Known(it) = &mut report.late else { unreachable!() };
    (it.ranks, it.compared, it.resolved, it.steps) = (vec![RankLate::default(); 2], 5, 5, 23);
    assert_eq!(late(&report), "Not known: none of 5 compared operations lies in a step behind the warm-up.");
    let Part::Known(it) = &mut report.late else { unreachable!() };
    it.ranks[0].calls = 3;
    assert!(late(&report).starts_with("No rank is late: in no step behind the warm-up"));
}

/// 57 steps of 20.9 ms.
#[test]
fn a_rank_that_costs_next_to_nothing_is_not_called_late() {
    let mut report = whole();
    let Part::Known(it) = &mut report.late else { unreachable!() };
    let cost = 57.0 * 2.0;
    it.ranks = vec![RankLate { calls: 900, last: 800, cost_us: cost, own_us: cost, ..RankLate::default() }];
    let expected = "No rank stands out: others wait longest for rank 0, 2.00 us a step in all.";
    assert_eq!(late(&report), expected);
}

#[test]
fn sums_say_who_was_last_most_often() {
    let mut report = whole();
    let Part::Known(it) = &mut report.late else { unreachable!() };
    let row = |gpu, last| RankLateness { gpu: Some(gpu), operations: 9, last, ..sums_row() };
    (it.ranks, it.compared, it.resolved, it.steps) = (vec![], 9, 8, 0);
    it.lateness = vec![row(0, 1), row(3, 7)];
    let expected = "Rank 3 was last most often: in 7 of 9 compared operations of a communicator. Sums alone do not \
                    say how long others waited for it.";
    assert_eq!(late(&report), expected);
}

fn sums_row() -> RankLateness {
    RankLateness {
        gpu: None,
        comm: "ab".into(),
        rank: 0,
        operations: 0,
        mean_us: None,
        p99_us: None,
        error_us: 0.0,
        last: 0,
        one_in: 1,
    }
}

#[test]
fn an_answer_from_few_operations_says_so() {
    let mut report = whole();
    let row = SpeedRow { count: 144, compared: 5, busbw: Some(0.001), median_us: Some(9.0), ..SpeedRow::default() };
    report.speed = Part::Known(Speed { rows: vec![row], link: None, of_sums: false });
    let text = network(&report);
    assert!(text.contains("(--link-gbps). Only 5 of 144 operations could be compared."), "{text}");
}

#[test]
fn cost_is_a_share_of_a_step_and_its_time() {
    let mut report = whole();
    let gpu = GpuBudget {
        total_ns: 20_000_000,
        waiting_ns: 1_000_000,
        transferring_ns: 4_000_000,
        overlapped_ns: 2_000_000,
        computing_ns: 12_000_000,
        idle_ns: 1_000_000,
        not_compared_ns: 0,
    };
    let Part::Known(it) = &mut report.budget else { unreachable!() };
    let whole = GpuBudget {
        total_ns: 40_000_000,
        waiting_ns: 2_000_000,
        transferring_ns: 8_000_000,
        overlapped_ns: 4_000_000,
        ..GpuBudget::default()
    };
    (it.steps, it.gpus, it.whole) = (2, vec![gpu; 2], whole);
    let expected = "Communication beside which nothing is computed takes 25 % of a step, 2.50 ms of 10.0 ms: 5.0 % \
                    waiting for other ranks, 20 % transferring. Another 10 % of a step is communication beside \
                    computation.";
    assert_eq!(cost(&report), expected);
    let Part::Known(it) = &mut report.budget else { unreachable!() };
    it.computed = Some(0.25);
    assert!(cost(&report).contains("computation. No kernel is known in 75 % of the steps: if the profiler"));
    let Part::Known(it) = &mut report.budget else { unreachable!() };
    it.computed = None;
    let Part::Known(it) = &mut report.budget else { unreachable!() };
    (it.with_kernels, it.of_steps, it.timed) = (false, false, 0.5);
    let text = cost(&report);
    assert!(text.starts_with("NCCL is under way in 25 % of the recording, 2.50 ms of 10.0 ms:"), "{text}");
    assert!(text.ends_with("50 % of the operations have no GPU time and count as time without NCCL."), "{text}");
}

#[test]
fn network_names_the_operation_with_most_time_and_the_slowest_pair() {
    let mut report = whole();
    let row = |function: &str, median_us: f64, utilisation: Option<f64>| SpeedRow {
        function: function.to_owned(),
        nranks: 8,
        dimension: "DP".to_owned(),
        from_bytes: 64 << 20,
        to_bytes: 64 << 20,
        compared: 10,
        median_us: Some(median_us),
        busbw: Some(45.0),
        utilisation,
        ..SpeedRow::default()
    };
    let rows = vec![row("AllGather", 5.0, Some(0.5)), row("AllReduce", 9.0, Some(0.9))];
    report.speed = Part::Known(Speed { rows, link: Some("--link-gbps 400".into()), of_sums: false });
    let pair = |to: usize, z: Option<f64>| Pair {
        from: Some(1),
        to: Some(to),
        z,
        slow: z.is_some_and(|z| z < -3.0),
        ..Pair::default()
    };
    report.pairs = Part::Known(Pairs {
        left_out: 0,
        rows: vec![pair(2, Some(-4.0)), pair(3, Some(-9.0)), pair(4, Some(0.1)), pair(5, None)],
    });
    let expected = "AllReduce of 64 MiB (DP, 8 ranks) reaches 45.0 GB/s bus bandwidth, 90 % of its link. 2 of 3 \
                    compared pairs are slow beside others of their class; the worst is rank 1 to rank 3.";
    assert_eq!(network(&report), expected);
    report.speed = Part::Known(Speed { rows: vec![row("AllReduce", 9.0, None)], link: None, of_sums: false });
    report.pairs = Part::Absent("no proxy operations.".into());
    let expected = "AllReduce of 64 MiB (DP, 8 ranks) reaches 45.0 GB/s bus bandwidth; whether the link allows \
                    more is not known without its rate (--link-gbps). Pairs of ranks are not known.";
    assert_eq!(network(&report), expected);
}

#[test]
fn an_absent_part_answers_with_its_reason() {
    let reason = || "no process wrote operations.".to_owned();
    let report = Report {
        late: Part::Absent(reason()),
        budget: Part::Absent(reason()),
        speed: Part::Absent(reason()),
        ..whole()
    };
    for text in [late(&report), cost(&report), network(&report)] {
        assert!(text.starts_with("Not known: no process wrote operations."), "{text}");
    }
}
