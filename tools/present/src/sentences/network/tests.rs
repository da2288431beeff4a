//! What is said of the network.

use super::*;
use crate::sample::sample;
use report::answer::{Measure, Pairs, Part, RankPair, SlowPart};

fn row(function: &str, bytes: u64, count: u64, busbw: f64) -> SpeedRow {
    SpeedRow {
        function: function.to_owned(),
        nranks: 8,
        dimension: "DP".to_owned(),
        from_bytes: bytes,
        to_bytes: bytes,
        count,
        compared: count,
        median_us: Some(5.0),
        busbw: Some(busbw),
        ..SpeedRow::default()
    }
}

fn report(rows: Vec<SpeedRow>, pairs: Part<Pairs>) -> Report {
    Report { speed: Part::Known(Speed { rows, ..Speed::default() }), pairs, ..sample(8) }
}

fn alike(count: usize) -> Part<Pairs> {
    let rows = vec![RankPair { z: Some(0.1), ..RankPair::default() }; count];
    Part::Known(Pairs { rows, ..Pairs::default() })
}

fn made(kind: PartKind, name: &str, nodes: &[&str], [pairs, of]: [u64; 2]) -> SlowPart {
    SlowPart {
        kind,
        name: name.into(),
        nodes: nodes.iter().map(|node| (*node).to_owned()).collect(),
        gpus: if kind == PartKind::Pair { vec![5, 6] } else { vec![5] },
        inside: false,
        rows: vec![],
        pairs,
        of,
        rate: 22.0,
        median: 44.0,
        factor: 2.0,
        excess_us: None,
        gain_us: None,
    }
}

#[test]
fn the_answer_is_about_the_large_operations_that_move_most() {
    let small = row("AllReduce", 4, 1_000_000, 0.02);
    let rows = vec![small.clone(), row("AllGather", 1 << 20, 10, 30.0), row("AllReduce", 64 << 20, 10, 45.0)];
    assert_eq!(heaviest(&rows).map(|row| row.busbw), Some(Some(45.0)));
    let text = network(&report(rows, alike(4)));
    let expected = "AllReduce of 64 MiB (DP, 8 ranks) reaches 45.0 GB/s bus bandwidth; the rate of its link is not \
                    known (--link-gbps). None of 4 compared pairs is slow beside others of its class.";
    assert_eq!(text, expected);
    let waiting = SpeedRow { busbw: None, busbw_mean: Some(3.0), ..row("AllReduce", 64 << 20, 10, 0.0) };
    let text = network(&report(vec![small.clone(), waiting], alike(4)));
    assert!(text.starts_with(
        "AllReduce of 64 MiB (DP, 8 ranks) reaches 3.00 GB/s bus bandwidth at least, its waits included."
    ));
    let only_small = report(vec![small], Part::Absent("no proxy operations.".into()));
    let expected = "There are only small operations, whose time is latency: AllReduce of 4 B (DP, 8 ranks) takes 5.00 us \
                    in the median. Pairs of ranks are not known.";
    assert_eq!(network(&only_small), expected);
    assert_eq!(answer(&only_small).verdict, AnswerVerdict::Unknown);
}

#[test]
fn what_is_expected_stands_beside_what_is_measured() {
    let expecting = |expected, utilisation, baseline: Option<&str>| {
        let rows = vec![SpeedRow { expected, utilisation, ..row("AllReduce", 64 << 20, 10, 45.0) }];
        let speed = Speed { rows, baseline: baseline.map(str::to_owned), ..Speed::default() };
        let report = Report { speed: Part::Known(speed), pairs: Part::Absent("none.".into()), ..sample(8) };
        let answer = super::answer(&report);
        (answer.text.split_once(". ").unwrap().0.to_owned(), answer.verdict)
    };
    let begin = "AllReduce of 64 MiB (DP, 8 ranks) reaches 45.0 GB/s bus bandwidth";
    for (expected, share, baseline, end, verdict) in [
        (
            Some(50.0),
            Some(0.9),
            Some("a.json"),
            ", 90 % of its link, 90 % of the baseline's 50.0 GB/s",
            AnswerVerdict::Fine,
        ),
        (
            Some(60.0),
            Some(0.9),
            Some("a.json"),
            ", 90 % of its link, 75 % of the baseline's 60.0 GB/s",
            AnswerVerdict::Look,
        ),
        (
            Some(100.0),
            Some(0.9),
            Some("a.json"),
            ", 90 % of its link, 45 % of the baseline's 100 GB/s",
            AnswerVerdict::Bad,
        ),
        (
            None,
            Some(0.9),
            Some("a.json"),
            ", 90 % of its link; the baseline has no such operation",
            AnswerVerdict::Fine,
        ),
        (None, Some(0.4), None, ", 40 % of its link", AnswerVerdict::Look),
        (
            Some(48.0),
            Some(0.9),
            None,
            ", 90 % of its link; the best other communicator of this shape reaches 48.0 GB/s",
            AnswerVerdict::Fine,
        ),
        (None, None, None, "; the rate of its link is not known (--link-gbps)", AnswerVerdict::Unknown),
    ] {
        assert_eq!(expecting(expected, share, baseline), (format!("{begin}{end}"), verdict));
    }
}

#[test]
fn parts_are_named_as_what_they_are() {
    for (part, expected) in [
        (
            made(PartKind::Pair, "rank 5 to rank 6", &["node5", "node6"], [1, 1]),
            "The pair rank 5 to rank 6 (node5 to node6) reaches 22.0 GB/s, 50 % of the others' 44.0 GB/s.",
        ),
        (
            made(PartKind::Link, "node5 and node6", &["node5", "node6"], [8, 8]),
            "The link between node5 and node6: its 8 pairs reach 22.0 GB/s, 50 % of the others' 44.0 GB/s.",
        ),
        (
            made(PartKind::Adapter, "rank 5", &["node5"], [29, 30]),
            "Rank 5's adapter (on node5): 29 of its 30 pairs reach 22.0 GB/s, 50 % of the others' 44.0 GB/s.",
        ),
        (
            made(PartKind::Node, "node5", &["node5"], [30, 30]),
            "The network of node5: its 30 pairs reach 22.0 GB/s, 50 % of the others' 44.0 GB/s.",
        ),
    ] {
        assert_eq!(slow_part(&part, &ReportNames::of(&sample(8))), expected);
    }
}

#[test]
fn a_slow_part_is_as_bad_as_what_a_step_would_gain() {
    let part = made(PartKind::Link, "a and b", &["a", "b"], [2, 2]);
    let verdict = |excess_us| {
        let pairs = Pairs { slow: vec![SlowPart { excess_us, ..part.clone() }], ..Pairs::default() };
        let answer = super::answer(&report(vec![], Part::Known(pairs)));
        assert!(answer.why == "the link between a and b" && answer.next.contains("sendrecv_perf"), "{answer:?}");
        (answer.verdict, answer.gain_us)
    };
    // 60 steps of 20 ms
    assert_eq!(verdict(Some(60.0 * 4e3)), (AnswerVerdict::Bad, Some(4e3)));
    assert_eq!(verdict(Some(60.0 * 100.0)), (AnswerVerdict::Look, Some(100.0)));
    assert_eq!(verdict(None), (AnswerVerdict::Bad, None));
}

#[test]
fn a_slow_communicator_is_named_with_its_ranks() {
    let slow = SlowCommunicator {
        comm: "00000000000000ab".into(),
        gpus: vec![4, 5, 6, 7],
        function: "AllReduce".into(),
        from_bytes: 16 << 20,
        to_bytes: 16 << 20,
        median_us: 200.0,
        others_us: 100.0,
        shape: 16,
        ..SlowCommunicator::default()
    };
    let mut report = report(vec![], Part::Absent("none.".into()));
    if let Part::Known(speed) = &mut report.speed {
        speed.slow = vec![slow];
    }
    let answer = super::answer(&report);
    let expected = "Communicator 00000000 (rank 4, rank 5, rank 6, rank 7) takes 200 us for AllReduce of 16 MiB, the \
                    median of 16 communicators of its shape 100 us.";
    assert!(answer.text.contains(expected) && answer.verdict == AnswerVerdict::Bad, "{}", answer.text);
}

#[test]
fn settings_that_force_a_way_are_named_and_worth_a_look() {
    let mut report = sample(4);
    assert!(!network(&report).contains("would not choose"));
    let Part::Known(speed) = &mut report.speed else { unreachable!() };
    let by = ["NCCL_ALGO=tree (a)", "NCCL_PROTO=LL (b)", "NCCL_PROTO=LL (b)"];
    for (row, by) in speed.rows.iter_mut().zip(by) {
        row.forced = Some(by.into());
    }
    let rows = speed.rows.len();
    let said = format!(
        " 3 of {rows} rows of --part speed ran as NCCL itself would not choose: NCCL_PROTO=LL (b), and others."
    );
    assert!(network(&report).contains(&said), "{}", network(&report));
    let Part::Known(pairs) = &mut report.pairs else { unreachable!() };
    pairs.slow.clear();
    let with_times = |report: &mut Report, us: [f64; 2]| {
        let Part::Known(speed) = &mut report.speed else { unreachable!() };
        for row in &mut speed.rows {
            row.count = 1;
            row.median_us = Some(us[usize::from(row.forced.is_none())]);
        }
    };
    let others = (rows - 3) as f64;
    assert!(others > 0.0);
    // 11 %, and 9 %
    with_times(&mut report, [11.0 / 3.0, 89.0 / others]);
    let answer = super::answer(&report);
    assert_eq!(answer.verdict, AnswerVerdict::Look);
    assert!(answer.next.contains("run the job once without it"), "{}", answer.next);
    with_times(&mut report, [9.0 / 3.0, 91.0 / others]);
    let answer = super::answer(&report);
    assert!(!answer.next.contains("without it") && answer.text.contains(&said), "{}", answer.next);
}

#[test]
fn pairs_of_late_ranks_are_named_and_not_called_slow() {
    let of_late = |from: usize, rate| RankPair {
        from: Some(from),
        measure: Some(Measure::Typical),
        typical: Some(rate),
        median: Some(44.0),
        z: Some(-9.0),
        of_late_rank: true,
        ..RankPair::default()
    };
    let said = |late: Vec<RankPair>| {
        let rows = [vec![RankPair { z: Some(0.1), ..RankPair::default() }; 4], late].concat();
        let report = report(vec![], Part::Known(Pairs { rows, ..Pairs::default() }));
        (answer(&report).verdict, network(&report).split_once("None of ").unwrap().1.to_owned())
    };
    let one = "4 compared pairs is slow beside others of its class. 1 pair is not judged, with 33.0 GB/s, 75 % of the \
               others' 44.0 GB/s: the sender (rank 2) is late, and late ranks may send more slowly.";
    assert_eq!(said(vec![of_late(2, 33.0)]), (AnswerVerdict::Fine, one.into()));
    let many = "2 pairs are not judged, the slowest with 22.0 GB/s, 50 % of the others' 44.0 GB/s: the senders (rank 2, \
                rank 3) are late, and late ranks may send more slowly.";
    assert!(said(vec![of_late(2, 33.0), of_late(3, 22.0)]).1.ends_with(many));
}
