//! Made jobs through the stream, with closed-form answers.

use crate::analysis::communicators::CallSums;
use crate::analysis::complete::{Incompleteness, MachineClocks};
use crate::analysis::late::WaitListener;
use crate::analysis::pairs::{LateRanks, Messages};
use crate::analysis::speed::Speeds;
use crate::analysis::unfinished::Courses;
use crate::answer::{Complete, Late, Part, RankPair, SpeedRow, Unfinished};
use crate::job::Links;
use crate::made::{self, MS, MadeJob, Maker, Start, US};
use crate::stream::{CommonClock, Listener, run};

struct Answers {
    late: Part<Late>,
    rows: Vec<SpeedRow>,
    pairs: Vec<RankPair>,
    unfinished: Unfinished,
    complete: Complete,
}

fn answers(made: &MadeJob) -> Answers {
    let job = &made.job;
    let clocks = CommonClock::read(job, &made.table).unwrap();
    let (mut waits, mut messages, mut speeds) = (WaitListener::new(job, 3), Messages::default(), Speeds::default());
    let (mut courses, mut found, mut calls) = (Courses::new(job), Incompleteness::default(), CallSums::new(job));
    let listeners: &mut [&mut dyn Listener] =
        &mut [&mut waits, &mut messages, &mut speeds, &mut courses, &mut found, &mut calls];
    run(job, &made.table, &clocks, listeners).unwrap();
    let pairs = match messages.finish(job, &[], &[], &LateRanks::default()) {
        Part::Known(pairs) => pairs.rows,
        Part::Absent(_) => vec![],
    };
    let errors = MachineClocks { nodes: clocks.count() as u64, error: clocks.error() };
    Answers {
        late: waits.finish(job, None, Some(&[])),
        rows: speeds.finish(job, &[], &Links::default()).known().unwrap().rows.clone(),
        pairs,
        unfinished: courses.finish(job).known().unwrap().clone(),
        complete: found.finish(job, vec![], &errors, calls.whole()),
    }
}

/// Rank 2 of 4 is late by 400 us in every tenth of 100 operations that take 30 us.
#[test]
fn a_late_rank_costs_the_others_waits_and_nothing_of_the_transfer() {
    let answers = answers(&made::delayed(4, 2, 400 * US));
    let late = answers.late.known().unwrap();
    let ranks: Vec<_> = late.ranks.iter().map(|rank| (rank.wait_us, rank.last, rank.own_us, rank.cost_us)).collect();
    let other = (4_000.0, 0, Some(0.0), 0.0);
    assert_eq!(ranks, [other, other, (0.0, 10, Some(12_000.0), 12_000.0), other]);
    assert_eq!((late.compared, late.resolved, late.worst[0].gpu), (100, 10, 2));
    let row = &answers.rows[0];
    assert_eq!(
        (row.count, row.compared, row.min_us, row.median_us, row.max_us),
        (100, 100, Some(30.0), Some(30.0), Some(30.0))
    );
    // (90 x 30 us + 10 x (3 x 430 us + 30 us) / 4) / 100
    assert_eq!(row.mean_us, Some(60.0));
    // 4 KiB x 1.5 in 30 us
    assert_eq!(row.busbw, Some(0.2048));
    assert_eq!((answers.complete.operations, answers.complete.matched, answers.unfinished.over), (400, 100, 1));
}

/// Rank 0 is late by 500 us in its group of two; its partner is late in the next group for that reason, and so on.
#[test]
fn a_delay_that_runs_through_groups_is_charged_once() {
    let mut maker = Maker::new(4, 4);
    let groups = [[0, 1], [1, 2], [2, 3]].map(|ranks| maker.communicator("", &ranks));
    for number in 0..10 {
        let time = (number + 1) * 10 * MS;
        for (place, &group) in (0..).zip(&groups) {
            let early = time + place * 40 * US;
            maker.collective(group, "AllReduce", 1024, Start::Each(&[early + 500 * US, early]), 30 * US);
        }
    }
    let answers = answers(&maker.finish());
    let late = answers.late.known().unwrap();
    let costs: Vec<_> = late.ranks.iter().map(|rank| rank.own_us.zip(rank.propagated_us)).collect();
    assert_eq!(costs, [(5_000.0, 0.0), (0.0, 5_000.0), (0.0, 5_000.0), (0.0, 0.0)].map(Some));
}

#[test]
fn a_late_sender_and_a_late_receiver_are_told_apart() {
    for (made, expected) in [
        (made::late_sender(300 * US), (Some(6_000.0), Some(0.0))),
        (made::late_receiver(300 * US), (Some(0.0), Some(6_000.0))),
    ] {
        let pairs = answers(&made).pairs;
        let [pair] = pairs.as_slice() else { panic!("one pair: {pairs:?}") };
        assert_eq!((pair.messages, pair.late_sender_us, pair.late_receiver_us), (20, expected.0, expected.1));
    }
}

#[test]
fn exactly_the_throttled_pair_is_slow() {
    let pairs = answers(&made::throttled(4, 5)).pairs;
    let slow: Vec<_> = pairs.iter().filter(|pair| pair.slow).map(|pair| (pair.rank, pair.peer)).collect();
    assert_eq!((slow, pairs.len()), (vec![(0, 1)], 12));
}

/// 250 kB between each two ranks, and to itself, in 80 us; then 1, 2, 3 and 4 kB times the rank of the sender.
#[test]
fn all_to_alls_have_a_bandwidth_or_an_imbalance() {
    let row = answers(&made::all_to_all(4, |_, _| 250_000)).rows.remove(0);
    assert_eq!((row.function.as_str(), row.count, row.algbw, row.busbw), ("AlltoAll", 50, Some(12.5), Some(9.375)));
    let row = answers(&made::all_to_all(4, |from, to| ((from + 1) * (to + 1) * 1000) as u64)).rows.remove(0);
    // ranks move 9, 16, 21 and 24 kB: 24 over a mean of 17.5
    assert_eq!((row.busbw, row.imbalance, row.busiest), (None, Some(24.0 / 17.5), Some(0.3)));
}

#[test]
fn a_missing_rank_is_named_and_nothing_is_compared() {
    let answers = answers(&made::missing_rank(5));
    assert_eq!((answers.complete.ranks_here, answers.complete.ranks), (3, Some(4)));
    assert_eq!((answers.complete.communicators[0].missing.as_str(), answers.complete.unmatched), ("3", 5));
    assert!(answers.late.absent().is_some() && answers.rows[0].compared == 0);
}
