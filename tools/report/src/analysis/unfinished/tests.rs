//! Jobs that stand still, and jobs that do not.

use super::*;
use crate::analysis::tests::occurrences::{call, exchange, job, judged, name, occurrence};
use crate::stream::Call;
use common::name::NcclName;

/// Plays these calls, one by one.
fn unfinished(job: &Job, calls: impl IntoIterator<Item = Call>) -> Unfinished {
    let mut courses = Courses::new(job);
    for call in calls {
        judged(&occurrence(0, vec![(call, [0, 10])], 0)).iter().for_each(|judged| courses.call(job, judged));
    }
    courses.finish(job).known().unwrap().clone()
}

fn numbered(job: &Job, rank: usize, number: u64) -> Call {
    Call { sequence: Some((number, 0)), ..call(job, 0, rank, "AllReduce", 4096) }
}

#[test]
fn a_job_that_has_ended_is_over() {
    let job = job(&[0; 4], &[&[0, 1], &[2, 3]]);
    let calls = (0..3).flat_map(|number| [0, 1].map(|rank| numbered(&job, rank, number)));
    assert_eq!(unfinished(&job, calls), Unfinished { over: 2, communicators: vec![] });
}

/// Rank 2 of 4 lacks the last two of five, and the others hang in the fourth.
#[test]
fn a_rank_that_is_behind_is_named() {
    let job = job(&[0; 4], &[&[0, 1, 2, 3]]);
    let mut calls = vec![];
    for number in 0..5 {
        for rank in [0, 1, 2, 3] {
            if rank != 2 || number < 3 {
                calls.push(Call { unfinished: number >= 3, ..numbered(&job, rank, number) });
            }
        }
    }
    let unfinished = unfinished(&job, calls);
    let [behind] = unfinished.communicators.as_slice() else { panic!("one communicator") };
    assert_eq!((behind.behind.as_str(), behind.differs.clone(), unfinished.over), ("2", None, 0));
    let all: Vec<_> = behind.ranks.iter().map(|rank| (rank.begun, rank.ended)).collect();
    assert_eq!(all, [(5, 3), (5, 3), (3, 3), (5, 3)]);
    let stand = |number| Some(("AllReduce".to_owned(), Some(number), 4096));
    assert_eq!((&behind.ranks[0].last_begun, &behind.ranks[0].last_ended), (&stand(4), &stand(2)));
    assert_eq!((&behind.ranks[2].last_begun, &behind.ranks[2].last_ended), (&stand(2), &stand(2)));
}

#[test]
fn the_first_collective_that_differs_is_named() {
    let job = job(&[0; 2], &[&[0, 1]]);
    for (changed, words) in [
        (Call { function: name("AllGather"), ..numbered(&job, 1, 3) }, "AllGather of 1024 ncclFloat"),
        (Call { count: Some(7), ..numbered(&job, 1, 3) }, "AllReduce of 7 ncclFloat"),
        (Call { datatype: name("ncclHalf"), ..numbered(&job, 1, 3) }, "AllReduce of 1024 ncclHalf"),
    ] {
        // rank 0 is ahead by a hundred calls
        let rank_0 = (0..100).map(|number| numbered(&job, 0, number));
        let rank_1 = (0..100).map(|number| if number >= 3 { changed.clone() } else { numbered(&job, 1, number) });
        let unfinished = unfinished(&job, rank_0.chain(rank_1));
        let differs = unfinished.communicators[0].differs.clone().unwrap();
        let expected = (0, "AllReduce of 1024 ncclFloat".to_owned());
        assert_eq!((differs.order, differs.one, differs.other), (3, expected, (1, words.to_owned())));
    }
}

/// Stages of a pipeline have different numbers of messages, and what is unknown differs from nothing.
#[test]
fn messages_may_differ_and_so_may_unknown_counts() {
    let job = job(&[0; 2], &[&[0, 1]]);
    let calls = vec![
        exchange(&job, 0, 0, &[(1, true, 8)]),
        exchange(&job, 0, 0, &[(1, true, 16)]),
        exchange(&job, 0, 1, &[(0, false, 8)]),
        numbered(&job, 0, 0),
        Call { count: None, datatype: NcclName::none(), ..numbered(&job, 1, 0) },
    ];
    assert_eq!(unfinished(&job, calls).over, 1);
    let stuck = Call { unfinished: true, ..exchange(&job, 0, 1, &[(0, false, 8)]) };
    let unfinished = unfinished(&job, [stuck]);
    assert_eq!((unfinished.communicators[0].behind.as_str(), unfinished.communicators[0].ranks[1].ended), ("", 0));
}

/// A thousand ranks, of which rank 700 is behind.
#[test]
fn of_many_ranks_those_that_are_behind_are_listed() {
    let gpus: Vec<usize> = (0..1000).collect();
    let job = job(&[0; 1000], &[&gpus]);
    let calls = (0..1000).flat_map(|rank| (0..2 - u64::from(rank == 700)).map(move |number| (rank, number)));
    let unfinished = unfinished(&job, calls.map(|(rank, number)| numbered(&job, rank, number)));
    let behind = &unfinished.communicators[0];
    assert_eq!((behind.behind.as_str(), behind.ranks.len()), ("700", 64));
    assert_eq!((behind.ranks[0].rank, behind.ranks[62].rank, behind.ranks[63].rank), (0, 62, 700));
}

/// Rank 1's data end after the first of 100,000 calls.
#[test]
fn memory_does_not_grow_with_the_job() {
    let job = job(&[0; 2], &[&[0, 1]]);
    let mut course = Course::new(&job.communicators[0]);
    (0..100_000).for_each(|place| course.call(&numbered(&job, 0, place)));
    assert_eq!(course.kept(), 1 << 14);
    course.call(&Call { function: name("Reduce"), ..numbered(&job, 1, 0) });
    assert_eq!(course.differs, None);
}
