//! Reports whose changes are known.

use super::*;
use crate::answer::{SeriesRow, Straggler};
use crate::sample::{sample, scale::STEP_US};

/// Returns a row whose steps take 100 us, more by up to 5 us in a pattern, times a factor.
fn row(dimension: &str, nranks: i32, function: &str, factor: f32) -> SeriesRow {
    let medians_us = (0..60).map(|step| factor * (100.0 + (step * 7 % 11) as f32 / 2.0)).collect();
    SeriesRow {
        dimension: dimension.into(),
        nranks,
        nnodes: 2,
        function: function.into(),
        from_bytes: 1024,
        to_bytes: 2047,
        count: 600,
        medians_us,
    }
}

fn usual() -> Vec<SeriesRow> {
    vec![row("DP", 8, "AllReduce", 1.0), row("TP", 4, "AllGather", 1.0), row("unknown", 4, "Exchange", 1.0)]
}

/// The sample's report with these transfers.
fn report(ranks: usize, rows: Vec<SeriesRow>) -> Report {
    let mut report = sample(ranks);
    report.series.rows = rows;
    report
}

fn without_steps(rows: Vec<SeriesRow>) -> Report {
    let mut report = report(8, rows);
    report.series.lengths_us.clear();
    report.series.waits_us.clear();
    report.series.outside_us.clear();
    report.stragglers = Part::Absent("not in this test".into());
    report
}

fn of(before: &Report, after: &Report) -> Comparison {
    Comparison::compare(["A".into(), "B".into()], [before, after], THRESHOLD).unwrap()
}

fn compare(before: Vec<SeriesRow>, after: Vec<SeriesRow>) -> Result<Comparison, Incomparable> {
    Comparison::compare(["A".into(), "B".into()], [&without_steps(before), &without_steps(after)], THRESHOLD)
}

/// Makes a rank's own time longer, both by the re-enactment and without NCCL.
fn slowed(report: &mut Report, rank: usize, factor: f64) {
    report.series.outside_us[rank][0] *= factor as f32;
    let Part::Known(stragglers) = &mut report.stragglers else { unreachable!() };
    stragglers.ranks[rank].own_us *= factor;
}

fn of_verdict(comparison: &Comparison, verdict: ChangeVerdict) -> Vec<&str> {
    let rows = &comparison.ranks.known().unwrap().rows;
    rows.iter().filter(|row| row.verdict == verdict).map(|row| row.name.as_str()).collect()
}

#[test]
fn a_report_is_equal_to_itself() {
    let report = report(16, usual());
    let comparison = of(&report, &report);
    assert!(!comparison.worse);
    let (step, waits) = (comparison.step.known().unwrap(), comparison.waits.known().unwrap());
    assert_eq!((step.verdict, step.change, waits.verdict), (ChangeVerdict::Equal, Some(0.0), ChangeVerdict::Equal));
    assert!((step.medians_us[0] / STEP_US - 1.0).abs() < 0.15, "{step:?}");
    assert_eq!(of_verdict(&comparison, ChangeVerdict::Equal).len(), 16);
    assert_eq!(comparison.late, Some(NewlyLate::default()));
    assert!(
        comparison
            .rows
            .iter()
            .all(|row| row.transfer.verdict == ChangeVerdict::Equal && row.transfer.change == Some(0.0))
    );
    assert_eq!(comparison.only, [vec![], vec![]]);
}

#[test]
fn a_longer_step_is_worse_and_a_shorter_one_is_not() {
    let before = report(8, usual());
    let mut after = before.clone();
    after.series.lengths_us.iter_mut().for_each(|us| *us *= 1.2);
    let comparison = of(&before, &after);
    let step = comparison.step.known().unwrap();
    assert!(comparison.worse && step.verdict == ChangeVerdict::Worse, "{step:?}");
    assert!((step.change.unwrap() - 0.2).abs() < 1e-3 && step.interval.unwrap()[0] > 0.1, "{step:?}");
    let back = of(&after, &before);
    assert!(!back.worse && back.step.known().unwrap().verdict == ChangeVerdict::Better);
}

/// Ranks wait three times as long: that is worse only in a step that is worse.
#[test]
fn waits_are_worse_where_the_step_is() {
    let before = report(8, usual());
    let mut after = before.clone();
    after.series.waits_us.iter_mut().for_each(|us| *us *= 3.0);
    let comparison = of(&before, &after);
    assert_eq!((comparison.worse, comparison.waits.known().unwrap().verdict), (false, ChangeVerdict::Slower));
    after.series.lengths_us.iter_mut().for_each(|us| *us *= 1.2);
    assert_eq!(of(&before, &after).waits.known().unwrap().verdict, ChangeVerdict::Worse);
    // half of next to nothing
    let mut before = before;
    before.series.waits_us.iter_mut().for_each(|us| *us = 100.0);
    after.series.waits_us.iter_mut().for_each(|us| *us = 150.0);
    assert_eq!(of(&before, &after).waits.known().unwrap().verdict, ChangeVerdict::Equal);
}

#[test]
fn a_job_of_another_size_is_not_worse_for_it() {
    let before = report(16, usual());
    let mut after = report(24, vec![row("DP", 24, "AllReduce", 2.0), row("TP", 4, "AllGather", 1.0)]);
    after.series.lengths_us.iter_mut().for_each(|us| *us *= 1.5);
    let comparison = of(&before, &after);
    assert_eq!((comparison.runs[0].ranks, comparison.runs[1].ranks), (16, 24));
    assert_eq!((comparison.runs[0].nodes, comparison.runs[1].nodes), (Some(2), Some(3)));
    assert_eq!(comparison.step.known().unwrap().verdict, ChangeVerdict::NotJudged);
    assert!(comparison.ranks.absent().is_some());
    let verdicts: Vec<_> = comparison.rows.iter().map(|row| row.transfer.verdict).collect();
    assert_eq!(verdicts, [ChangeVerdict::NotJudged, ChangeVerdict::Equal]);
    assert!(!comparison.worse);
    // communicators of the same size are judged
    let after = report(24, vec![row("DP", 24, "AllReduce", 1.0), row("TP", 4, "AllGather", 2.0)]);
    assert!(of(&before, &after).worse);
}

#[test]
fn a_step_of_twice_the_work_is_not_judged() {
    let before = report(8, usual());
    let mut after = before.clone();
    after.series.lengths_us.iter_mut().for_each(|us| *us *= 2.0);
    let Part::Known(budget) = &mut after.budget else { unreachable!() };
    for dimension in &mut budget.dimensions {
        dimension.operations *= 2.0;
        dimension.bytes *= 2.0;
    }
    let comparison = of(&before, &after);
    assert_eq!((comparison.times_the_work, comparison.worse), (Some(2.0), false));
    assert_eq!(comparison.step.known().unwrap().verdict, ChangeVerdict::NotJudged);
}

#[test]
fn a_rank_whose_own_time_grows_beyond_the_others_is_worse() {
    let before = report(16, usual());
    for is_reenacted in [true, false] {
        let mut after = before.clone();
        slowed(&mut after, 5, 1.5);
        if !is_reenacted {
            after.stragglers = Part::Absent("not in this test".into());
        }
        let comparison = of(&before, &after);
        assert_eq!(of_verdict(&comparison, ChangeVerdict::Worse), ["rank 5"]);
        assert!(comparison.worse);
        let ranks = comparison.ranks.known().unwrap();
        let expected = if is_reenacted { OwnTime::BetweenOperations } else { OwnTime::OutsideNccl };
        assert_eq!((ranks.time, ranks.change), (expected, 0.0));
        assert!((ranks.rows[5].beyond - 0.5).abs() < 1e-3 && ranks.rows[5].z.unwrap() > 100.0);
        // the other way round it is better
        let back = of(&after, &before);
        assert_eq!((of_verdict(&back, ChangeVerdict::Better), back.worse), (vec!["rank 5"], false));
    }
}

/// All ranks compute longer: that is for the step to say. A node of two is named rank by rank, and the others are not
/// called faster.
#[test]
fn ranks_are_laid_beside_the_others() {
    let before = report(16, usual());
    let mut all = before.clone();
    (0..16).for_each(|rank| slowed(&mut all, rank, 1.3));
    let comparison = of(&before, &all);
    assert_eq!(of_verdict(&comparison, ChangeVerdict::Equal).len(), 16);
    assert!((comparison.ranks.known().unwrap().change - 0.3).abs() < 1e-3);
    let mut node = before.clone();
    // no two ranks are quite alike
    (0..16).for_each(|rank| slowed(&mut node, rank, 1.0 + 0.001 * (rank % 5) as f64));
    (8..16).for_each(|rank| slowed(&mut node, rank, 1.3));
    let comparison = of(&before, &node);
    let expected: Vec<String> = (8..16).map(|rank| format!("rank {rank}")).collect();
    assert_eq!(of_verdict(&comparison, ChangeVerdict::Worse), expected);
    assert_eq!(of_verdict(&comparison, ChangeVerdict::Equal).len(), 8);
}

/// A change within five standard errors of the medians is by chance, whatever its size; so is one of less than 1 % of a
/// step.
#[test]
fn chance_names_no_rank() {
    let before = report(4, usual());
    let mut after = before.clone();
    slowed(&mut after, 2, 1.12);
    assert_eq!(of_verdict(&of(&before, &after), ChangeVerdict::Worse), ["rank 2"]);
    for uncertain in &mut after.series.outside_us {
        uncertain[1] = 500.0;
    }
    assert_eq!(of_verdict(&of(&before, &after), ChangeVerdict::Equal).len(), 4);
    let small = |factor: f32| {
        let mut report = report(4, usual());
        report.stragglers = Part::Absent("not in this test".into());
        report.series.outside_us.iter_mut().for_each(|own| *own = [1000.0, 1.0]);
        report.series.outside_us[1][0] *= factor;
        report
    };
    // 250 us of a step of 20 ms, and 150 us
    assert_eq!(of_verdict(&of(&small(1.0), &small(1.25)), ChangeVerdict::Worse), ["rank 1"]);
    assert_eq!(of_verdict(&of(&small(1.0), &small(1.15)), ChangeVerdict::Equal).len(), 4);
}

#[test]
fn who_stands_out_in_one_run_alone_is_told() {
    let found = |name: &str, gpu: usize, excess_us: f64| Straggler {
        name: name.into(),
        gpus: vec![gpu],
        own_us: 10_000.0 + excess_us,
        excess_us,
        gain_us: Some(0.9 * excess_us),
        ..Straggler::default()
    };
    let with = |found: Vec<Straggler>| {
        let mut report = report(8, usual());
        let Part::Known(stragglers) = &mut report.stragglers else { unreachable!() };
        stragglers.ranks.iter_mut().for_each(|rank| rank.excess_us = Some(0.0));
        for found in &found {
            stragglers.ranks[found.gpus[0]].excess_us = Some(found.excess_us);
        }
        stragglers.found = found;
        report
    };
    let before = with(vec![found("rank 1", 1, 900.0), found("rank 6", 6, 3000.0)]);
    let after = with(vec![found("rank 1", 1, 950.0), found("rank 2", 2, 700.0), found("rank 3", 3, 2000.0)]);
    let comparison = of(&before, &after);
    let late = comparison.late.as_ref().unwrap();
    let named = |of: &[StandingOut]| of.iter().map(|it| (it.name.clone(), it.verdict)).collect::<Vec<_>>();
    let became = vec![("rank 2".to_owned(), ChangeVerdict::Slower), ("rank 3".to_owned(), ChangeVerdict::Worse)];
    assert_eq!(named(&late.became), became);
    assert_eq!(named(&late.no_longer), [("rank 6".to_owned(), ChangeVerdict::Better)]);
    assert!(comparison.worse);
    // just below the limits before, just above them after
    let mut before = with(vec![]);
    let Part::Known(stragglers) = &mut before.stragglers else { unreachable!() };
    stragglers.ranks[2].excess_us = Some(650.0);
    assert_eq!(of(&before, &with(vec![found("rank 2", 2, 700.0)])).late, Some(NewlyLate::default()));
    assert_eq!(of(&without_steps(usual()), &after).late, None);
}

#[test]
fn one_function_twice_as_slow_is_worse() {
    let mut after = usual();
    after[1] = row("TP", 4, "AllGather", 2.0);
    after[2] = row("unknown", 4, "Exchange", 0.5);
    let comparison = compare(usual(), after).unwrap();
    assert!(comparison.worse);
    let found: Vec<_> = comparison
        .rows
        .iter()
        .map(|row| (row.subject.function.as_str(), row.transfer.verdict, row.transfer.change))
        .collect();
    let expected = [
        ("AllGather", ChangeVerdict::Worse, Some(1.0)),
        ("AllReduce", ChangeVerdict::Equal, Some(0.0)),
        ("Exchange", ChangeVerdict::Better, Some(-0.5)),
    ];
    assert_eq!(found, expected);
    let [low, high] = comparison.rows[0].transfer.interval.unwrap();
    assert!((0.95..=1.0).contains(&low) && (1.0..=1.05).contains(&high), "{low} to {high}");
    let comparison = compare(usual(), vec![row("DP", 8, "AllReduce", 1.08)]).unwrap();
    assert_eq!((comparison.rows[0].transfer.verdict, comparison.worse), (ChangeVerdict::Slower, false));
}

/// Half of the steps take 50 us and half 150 us; in the second report a few more of them take longer.
#[test]
fn scatter_that_has_0_in_it_is_uncertain() {
    let scattered = |long: usize| {
        let medians_us = (0..21).map(|step| if step < long { 150.0 } else { 50.0 }).collect();
        SeriesRow { medians_us, ..row("DP", 8, "AllReduce", 1.0) }
    };
    let comparison = compare(vec![scattered(10)], vec![scattered(11)]).unwrap();
    let transfer = &comparison.rows[0].transfer;
    assert_eq!((transfer.verdict, transfer.change), (ChangeVerdict::Uncertain, Some(2.0)));
    let few = SeriesRow { medians_us: vec![300.0; 4], ..row("DP", 8, "AllReduce", 1.0) };
    let comparison = compare(vec![row("DP", 8, "AllReduce", 1.0)], vec![few]).unwrap();
    let transfer = &comparison.rows[0].transfer;
    assert_eq!((transfer.verdict, transfer.interval), (ChangeVerdict::Uncertain, None));
    assert!(!comparison.worse);
}

/// A job of twice the size has the same dimensions; communicators of unknown dimensions must have the same shape.
#[test]
fn a_known_dimension_joins_communicators_of_different_sizes() {
    let comparison =
        compare(usual(), vec![row("DP", 16, "AllReduce", 1.0), row("unknown", 8, "Exchange", 1.0)]).unwrap();
    assert_eq!(comparison.rows.len(), 1);
    assert_eq!((comparison.rows[0].subject.nranks, comparison.only[1].len()), (16, 1));
    assert_eq!(comparison.only[0].iter().map(|it| &*it.function).collect::<Vec<_>>(), ["AllGather", "Exchange"]);
    // two rows might be meant
    let two = vec![row("DP", 16, "AllReduce", 1.0), row("DP", 32, "AllReduce", 1.0)];
    assert!(matches!(compare(usual(), two), Err(Incomparable::Different(..))));
}

#[test]
fn nothing_to_compare_is_an_error() {
    let error = compare(usual(), vec![]).unwrap_err();
    assert!(error.to_string().starts_with("B has no steps and no transfers to compare"));
}

#[test]
fn a_comparison_survives_json() {
    let mut after = report(8, vec![row("DP", 8, "AllReduce", 3.0)]);
    slowed(&mut after, 5, 1.5);
    let comparison = of(&report(8, usual()), &after);
    let text = serde_json::to_string(&comparison).unwrap();
    for part in
        ["\"schema\":\"scorep-nccl-comparison-1\"", "\"worse\":true", "\"verdict\":\"worse\"", "\"dimension\":\"DP\""]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let read: Comparison = serde_json::from_str(&text).unwrap();
    assert_eq!((read.rows.len(), read.ranks.known().unwrap().rows.len(), read.worse), (1, 8, true));
}
