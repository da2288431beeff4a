//! Jobs that lack something, or have something twice.

use super::{hear, hear_tables};
use crate::job::Job;
use crate::made::{self, MS, MadeJob, Maker, Start, US};
use crate::stream::{CommonClock, Listener, Occurrence, run};

/// Counts occurrences, and keeps none.
#[derive(Default)]
struct Counted {
    matched: u64,
    unmatched: u64,
}

impl Listener for Counted {
    fn occurrence(&mut self, _: &Job, occurrence: &Occurrence) {
        *if occurrence.is_whole { &mut self.matched } else { &mut self.unmatched } += 1;
    }
}

#[test]
fn a_rank_that_was_not_found_buffers_nothing() {
    let (heard, counts, _) = hear(&made::missing_rank(200));
    assert_eq!((counts.matched, counts.unmatched, counts.compared), (0, 200, 0));
    assert_eq!(heard.calls.len(), 600);
    assert!(heard.occurrences.iter().all(|it| it.parts.len() == 3 && !it.is_whole));
    assert!(counts.most_held <= 3, "{}", counts.most_held);
}

#[test]
fn a_rank_whose_table_is_empty_buffers_nothing() {
    let (heard, counts, _) = hear(&made::rank_without_operations(200));
    assert_eq!((counts.matched, counts.unmatched, heard.calls.len()), (0, 200, 600));
    assert!(counts.most_held <= 4, "{}", counts.most_held);
}

#[test]
fn an_operation_that_a_rank_lacks_is_decided_by_the_next_one() {
    let mut made = made::delayed(4, 0, 0);
    made.table.0[2].remove(50);
    let (heard, counts, _) = hear(&made);
    assert_eq!((counts.matched, counts.unmatched, counts.compared), (99, 1, 99));
    let lacking = heard.occurrences.iter().find(|it| !it.is_whole).unwrap();
    let ranks: Vec<i32> = lacking.parts.iter().map(|part| part.call.rank).collect();
    assert_eq!((ranks, lacking.parts[0].call.sequence), (vec![0, 1, 3], Some((50, 0))));
    // at most two operations of each rank, and one of the rank that lacks one
    assert!(counts.most_held <= 7, "{}", counts.most_held);
}

/// NCCL before 2.27 does not report the number of ranks; the launcher's count of processes says whether all are here.
#[test]
fn without_a_number_of_ranks_the_launcher_says_whether_all_are_here() {
    let compared = |mut made: MadeJob| {
        made.job.communicators[0].nranks = 0;
        let (_, counts, _) = hear(&made);
        (counts.matched, counts.unmatched, counts.compared)
    };
    assert_eq!(compared(made::rank_without_operations(100)), (0, 100, 0));
    assert_eq!(compared(made::delayed(4, 0, 0)), (100, 0, 100));
    assert_eq!(compared(made::missing_rank(100)), (0, 100, 0));
    let mut unknown = made::delayed(4, 0, 0);
    unknown.job.processes.iter_mut().for_each(|process| process.ranks = None);
    assert_eq!(compared(unknown), (0, 100, 0));
}

/// Of a function that a rank never calls again, no later number comes.
#[test]
fn an_operation_that_a_rank_lacks_for_good_is_decided_in_the_end() {
    let mut maker = Maker::new(2, 2);
    let world = maker.communicator("", &[0, 1]);
    maker.collective(world, "Broadcast", 8, Start::Together(MS), 10 * US);
    for number in 0..300 {
        maker.collective(world, "AllReduce", 8, Start::Together((number + 2) * MS), 10 * US);
    }
    let mut made = maker.finish();
    made.table.0[1].remove(0);
    let (heard, counts, _) = hear(&made);
    assert_eq!((counts.matched, counts.unmatched, heard.calls.len()), (300, 1, 601));
}

/// A process is not read further ahead than by 65,536 calls, however long the job is.
#[test]
fn an_operation_that_never_comes_holds_no_whole_table() {
    let mut maker = Maker::new(2, 2);
    let world = maker.communicator("", &[0, 1]);
    maker.collective(world, "Broadcast", 8, Start::Together(MS), 10 * US);
    for number in 0..80_000 {
        maker.collective(world, "AllReduce", 8, Start::Together((number + 2) * MS), 10 * US);
    }
    let mut made = maker.finish();
    made.table.0[1].remove(0);
    let clocks = CommonClock::read(&made.job, &made.table).unwrap();
    let mut counted = Counted::default();
    let counts = run(&made.job, &made.table, &clocks, &mut [&mut counted]).unwrap();
    assert_eq!((counted.matched, counted.unmatched), (80_000, 1));
    assert_eq!(counts.most_held, 65_536 + 1);
}

#[test]
fn a_rank_that_two_processes_claim_is_matched_with_nobody() {
    let (heard, counts, _) = hear(&made::repeated_rank(100));
    assert_eq!((counts.operations, counts.matched, counts.compared, heard.calls.len()), (400, 0, 0, 400));
    // ranks 0 and 1 together, and both ranks 2 alone
    assert_eq!(counts.unmatched, 300);
    assert!(heard.occurrences.iter().all(|it| matches!(it.parts.len(), 1 | 2)));
    assert_eq!(heard.of(3).len(), 100);
    assert!(counts.most_held <= 4, "{}", counts.most_held);
}

#[test]
fn operations_of_unknown_communicators_are_counted_and_left_out() {
    let (heard, counts, _) = hear(&made::foreign_rank(100));
    assert_eq!((counts.operations, counts.foreign, heard.calls.len()), (400, 50, 350));
    assert_eq!((counts.matched, counts.unmatched), (50, 50));
}

#[test]
fn replays_of_a_graph_are_operations_of_their_own() {
    let (heard, counts, _) = hear(&made::graph_replays(100));
    assert_eq!((counts.matched, counts.unmatched, counts.compared), (200, 0, 200));
    assert_eq!(heard.of(1)[199].sequence, Some((1, 99)));
    assert!(counts.most_held <= 4, "{}", counts.most_held);
}

#[test]
fn a_message_whose_partner_is_not_here_is_decided_at_once() {
    let mut made = made::ring(4);
    made.job.communicators[0].members.pop();
    made.table.0[3].clear();
    let (heard, counts, _) = hear(&made);
    // 0 to 1 and 1 to 2 are matched; 2 to 3 and 3 to 0 are not
    assert_eq!((counts.matched, counts.unmatched, heard.calls.len()), (0, 50, 150));
    assert!(heard.occurrences.iter().all(|it| it.parts.len() == 3));
    assert!(counts.most_held <= 12, "{}", counts.most_held);
}

#[test]
fn a_message_whose_partner_never_comes_is_decided_when_its_table_ends() {
    let mut made = made::late_sender(0);
    made.table.0[1].truncate(15);
    let (heard, counts, _) = hear(&made);
    assert_eq!((counts.matched, counts.unmatched, heard.calls.len()), (15, 5, 35));
}

#[test]
fn a_table_that_cannot_be_read_is_an_error() {
    let mut made = made::ring(4);
    made.table.0.pop();
    let error = CommonClock::read(&made.job, &made.table).unwrap_err();
    assert_eq!(error.place.as_deref(), Some("process 3"));
    let (_, counts, _) = hear_tables(&crate::job::Job::default(), &made.table);
    assert_eq!(counts.operations, 0);
}
