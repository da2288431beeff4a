//! The sentences of known reports.

use super::*;
use crate::sample::sample;
use report::answer::{
    AnswerVerdict, Complete, CostsWhen, GpuBudget, LateCause, Part, RankGroup, RankLateness, RankOwn, Speed, SpeedRow,
    Straggler, StragglerPause, Stragglers,
};

fn late(report: &Report) -> String {
    answers(report).late.text
}

fn cost(report: &Report) -> String {
    answers(report).cost.text
}

fn network(report: &Report) -> String {
    answers(report).network.text
}

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

fn found(place: usize, excess_us: f64, gain_us: Option<f64>) -> Straggler {
    Straggler {
        group: RankGroup::Rank,
        name: format!("rank {place}"),
        gpus: vec![place],
        own_us: 10_000.0 + excess_us,
        excess_us,
        peers: 7,
        z: 20.0,
        gain_us,
        gain_least_us: gain_us,
        gain_most_us: gain_us,
        when: CostsWhen::Always,
        why: None,
        gpu_share: None,
        causes: None,
    }
}

fn with(found: Vec<Straggler>, together_us: Option<f64>) -> Report {
    let stragglers =
        Stragglers { steps: 57, step_us: 20_000.0, found, together_us, compared: 8, ..Stragglers::default() };
    Report { stragglers: Part::Known(stragglers), ..whole() }
}

#[test]
fn late_says_what_a_step_gains_without_a_rank() {
    let report = with(vec![found(2, 3_000.0, Some(2_000.0))], None);
    let expected = "Rank 2 is slow: without its extra time a step would take 18.0 ms instead of 20.0 ms (10 %). It takes \
                    3.00 ms longer a step (30 %) outside of NCCL than its 7 peers. Look at its share of the work first, \
                    then at its host and its GPU.";
    assert_eq!(late(&report), expected);
    let answer = answers(&report).late;
    assert_eq!((answer.verdict, answer.gain_us, answer.gain), (AnswerVerdict::Bad, Some(2_000.0), Some(0.1)));
    let answer = answers(&with(vec![found(2, 3_000.0, Some(100.0))], None)).late;
    assert_eq!(answer.verdict, AnswerVerdict::Look);
    let unknown = late(&with(vec![found(2, 3_000.0, None)], None));
    assert!(unknown.contains("the gain without its extra time is not known, because the steps cannot be"), "{unknown}");
}

#[test]
fn late_names_several_with_their_gain_together() {
    let mut second = found(5, 1_000.0, Some(50.0));
    (second.when, second.why) = (CostsWhen::Since(30), Some(LateCause::Gpu));
    let text = late(&with(vec![found(2, 3_000.0, Some(2_000.0)), second], Some(2_500.0)));
    assert!(
        text.starts_with("Rank 2 and rank 5 are slow: without their extra time a step would take 17.5 ms"),
        "{text}"
    );
    assert!(text.contains("Rank 5 takes 1.00 ms longer a step (10 %) outside of NCCL than its 7 peers since step 30."));
    let many = (0..5).map(|place| found(place, 1_000.0, Some(50.0))).collect();
    let text = late(&with(many, Some(300.0)));
    assert!(text.starts_with("Rank 0, rank 1, rank 2 and 2 more are slow:"), "{text}");
}

#[test]
fn late_names_nobody_where_nobody_stands_out() {
    let mut report = with(vec![], None);
    assert_eq!(late(&report), "No rank stands out.");
    let Part::Known(stragglers) = &mut report.stragglers else { unreachable!() };
    stragglers.jitter_us = Some(1_200.0);
    let expected = "No rank stands out; their random differences cost 1.20 ms a step, 6.0 % of it.";
    assert_eq!(late(&report), expected);
    assert_eq!(answers(&report).late.verdict, AnswerVerdict::Fine);
    let Part::Known(stragglers) = &mut report.stragglers else { unreachable!() };
    (stragglers.step_us, stragglers.jitter_us) = (20.0, Some(9.0));
    assert_eq!(late(&report), "No rank stands out.");
    let Part::Known(stragglers) = &mut report.stragglers else { unreachable!() };
    stragglers.compared = 0;
    assert_eq!(late(&report), "Not known: no rank has known own times in enough steps.");
    let Part::Known(stragglers) = &mut report.stragglers else { unreachable!() };
    stragglers.ranks = vec![RankOwn { own_us: 10.0, ..RankOwn::default() }; 8];
    let expected = "Not known: no two ranks run the same program, so that none can be compared with others.";
    assert_eq!((late(&report).as_str(), answers(&report).late.verdict), (expected, AnswerVerdict::Unknown));
    report.complete.ranks = Some(9);
    assert_eq!(late(&report), "Not known of all: 1 rank is missing. Of the 8 ranks here, none stands out.");
    assert_eq!(answers(&report).late.verdict, AnswerVerdict::Unknown);
}

#[test]
fn one_pause_is_no_slow_rank() {
    let mut report = with(vec![], None);
    let Part::Known(stragglers) = &mut report.stragglers else { unreachable!() };
    stragglers.events = vec![StragglerPause { gpu: 3, step: 80, excess_us: 5e6, cost_us: None, cause: None }];
    (stragglers.event_count, stragglers.event_ranks, stragglers.events_us) = (1, 1, 5e6 / 57.0);
    assert_eq!(late(&report), "Rank 3 paused once, for 5.00 s, in step 80. No rank stands out otherwise.");
    let Part::Known(stragglers) = &mut report.stragglers else { unreachable!() };
    (stragglers.event_count, stragglers.event_ranks) = (26, 13);
    let expected = "No rank stands out. There were 26 pauses on 13 ranks, of up to 5.00 s; they belong to no rank (--part \
                    events).";
    assert_eq!(late(&report), expected);
}

#[test]
fn sums_say_who_was_last_most_often() {
    let mut report = whole();
    let Part::Known(it) = &mut report.late else { unreachable!() };
    let row = |gpu, last| RankLateness { gpu: Some(gpu), operations: 9, last, ..sums_row() };
    (it.ranks, it.compared, it.resolved, it.steps) = (vec![], 9, 8, 0);
    it.lateness = vec![row(0, 1), row(3, 7)];
    report.stragglers = Part::Absent("sums".into());
    let expected = "Not known: the begins of too few collectives are known. Rank 3 was last most often: in 7 of 9 \
                    compared operations of ab.";
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
    let [from_bytes, to_bytes] = [1 << 20; 2];
    let row = SpeedRow { from_bytes, to_bytes, count: 144, compared: 5, busbw: Some(0.001), ..SpeedRow::default() };
    report.speed = Part::Known(Speed { rows: vec![row], ..Speed::default() });
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
    assert!(text.starts_with("NCCL is under way in at least 25 % of the recording, 2.50 ms of 10.0 ms:"), "{text}");
    assert!(text.ends_with("50 % of the operations have no begin and count as time without NCCL."), "{text}");
    let Part::Known(it) = &mut report.budget else { unreachable!() };
    it.unplaced_us = 1200.0;
    let text = cost(&report);
    assert!(text.ends_with("without NCCL, though a GPU takes at least 1.20 ms in the recording for them."), "{text}");
}

#[test]
fn an_absent_part_answers_with_its_reason() {
    let reason = || "no process wrote operations.".to_owned();
    let report = Report {
        late: Part::Absent(reason()),
        stragglers: Part::Absent(reason()),
        budget: Part::Absent(reason()),
        speed: Part::Absent(reason()),
        ..whole()
    };
    for text in [late(&report), cost(&report), network(&report)] {
        assert!(text.starts_with("Not known: no process wrote operations."), "{text}");
    }
}
