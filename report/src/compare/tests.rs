//! Reports of known transfers.

use super::*;
use crate::answer::{Complete, Part, SCHEMA as REPORT, Series};

fn report(rows: Vec<SeriesRow>) -> Report {
    fn absent<T>() -> Part<T> {
        Part::Absent("not in this test".into())
    }
    Report {
        schema: REPORT.into(),
        answers: Default::default(),
        nodes: vec![],
        stragglers: absent(),
        gpus: vec![],
        complete: Complete::default(),
        steps: absent(),
        budget: absent(),
        phases: absent(),
        late: absent(),
        speed: absent(),
        pairs: absent(),
        communicators: absent(),
        unfinished: absent(),
        swim: absent(),
        callbacks: absent(),
        series: Series { of_steps: true, rows },
    }
}

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

fn compare(before: Vec<SeriesRow>, after: Vec<SeriesRow>) -> Result<Comparison, Incomparable> {
    Comparison::of(["A".into(), "B".into()], [&report(before), &report(after)], THRESHOLD)
}

fn usual() -> Vec<SeriesRow> {
    vec![row("DP", 8, "AllReduce", 1.0), row("TP", 4, "AllGather", 1.0), row("unknown", 4, "Exchange", 1.0)]
}

#[test]
fn a_report_is_equal_to_itself() {
    let comparison = compare(usual(), usual()).unwrap();
    assert!(!comparison.is_worse());
    assert!(comparison.rows.iter().all(|row| row.verdict == Verdict::Equal && row.change == Some(0.0)));
    assert_eq!(comparison.only, [vec![], vec![]]);
    assert!(comparison.text(20, None).starts_with("None of 3 rows is slower by more than 10 %.\n"));
}

#[test]
fn one_function_twice_as_slow_is_worse() {
    let mut after = usual();
    after[1] = row("TP", 4, "AllGather", 2.0);
    after[2] = row("unknown", 4, "Exchange", 0.5);
    let comparison = compare(usual(), after).unwrap();
    assert!(comparison.is_worse());
    let found: Vec<_> =
        comparison.rows.iter().map(|row| (row.subject.function.as_str(), row.verdict, row.change)).collect();
    let expected = [
        ("AllGather", Verdict::Worse, Some(1.0)),
        ("AllReduce", Verdict::Equal, Some(0.0)),
        ("Exchange", Verdict::Better, Some(-0.5)),
    ];
    assert_eq!(found, expected);
    let [low, high] = comparison.rows[0].interval.unwrap();
    assert!((0.95..=1.0).contains(&low) && (1.0..=1.05).contains(&high), "{low} to {high}");
    let text = comparison.text(2, None);
    assert!(text.starts_with("1 of 3 rows is slower by more than 10 %."), "{text}");
    assert!(text.contains("AllGather of 1-2 KiB (TP): +100.0 %."), "{text}");
    assert!(text.contains("Rows that are not shown: 1."), "{text}");
    assert_eq!(compare(usual(), vec![row("DP", 8, "AllReduce", 1.08)]).unwrap().rows[0].verdict, Verdict::Equal);
}

/// Half of the steps take 50 us and half 150 us; in the second report a few more of them take longer.
#[test]
fn scatter_that_has_0_in_it_is_uncertain() {
    let scattered = |long: usize| {
        let medians_us = (0..21).map(|step| if step < long { 150.0 } else { 50.0 }).collect();
        SeriesRow { medians_us, ..row("DP", 8, "AllReduce", 1.0) }
    };
    let comparison = compare(vec![scattered(10)], vec![scattered(11)]).unwrap();
    assert_eq!((comparison.rows[0].verdict, comparison.rows[0].change), (Verdict::Uncertain, Some(2.0)));
    let few = SeriesRow { medians_us: vec![300.0; 4], ..row("DP", 8, "AllReduce", 1.0) };
    let comparison = compare(vec![row("DP", 8, "AllReduce", 1.0)], vec![few]).unwrap();
    assert_eq!((comparison.rows[0].verdict, comparison.rows[0].interval), (Verdict::Uncertain, None));
    assert!(!comparison.is_worse() && comparison.text(9, None).contains("Of 1 the change is uncertain."));
}

#[test]
fn rows_of_one_report_alone_are_named() {
    let comparison = compare(usual(), vec![row("DP", 8, "AllReduce", 1.0), row("EP", 8, "AlltoAll", 1.0)]).unwrap();
    let functions = comparison.only.each_ref().map(|only| only.iter().map(|it| &*it.function).collect::<Vec<_>>());
    assert_eq!(functions, [vec!["AllGather", "Exchange"], vec!["AlltoAll"]]);
    let text = comparison.text(20, Some(80));
    assert!(text.contains("Only in A: AllGather of 1-2 KiB (TP); Exchange of 1-2 KiB (4 ranks, 2 nodes)."));
    assert!(text.contains("Only in B: AlltoAll of 1-2 KiB (EP)."));
}

/// A job of twice the size has the same dimensions; communicators of unknown dimensions must have the same shape.
#[test]
fn a_known_dimension_joins_communicators_of_different_sizes() {
    let comparison =
        compare(usual(), vec![row("DP", 16, "AllReduce", 1.0), row("unknown", 8, "Exchange", 1.0)]).unwrap();
    assert_eq!(comparison.rows.len(), 1);
    assert_eq!((comparison.rows[0].subject.nranks, comparison.only[1].len()), (16, 1));
    // two rows might be meant
    let two = vec![row("DP", 16, "AllReduce", 1.0), row("DP", 32, "AllReduce", 1.0)];
    assert!(matches!(compare(usual(), two), Err(Incomparable::Different(..))));
}

#[test]
fn nothing_to_compare_is_an_error() {
    let error = compare(usual(), vec![]).unwrap_err();
    assert!(error.to_string().starts_with("B has no transfers to compare"));
}

#[test]
fn a_comparison_survives_json() {
    let comparison = compare(usual(), vec![row("DP", 8, "AllReduce", 3.0)]).unwrap();
    let text = serde_json::to_string(&comparison).unwrap();
    assert!(text.contains("\"verdict\":\"worse\"") && text.contains("\"dimension\":\"DP\""), "{text}");
    assert_eq!(serde_json::from_str::<Comparison>(&text).unwrap(), comparison);
}
