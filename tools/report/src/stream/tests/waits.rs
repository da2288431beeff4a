//! Waits, transfers and costs.

use super::hear;
use crate::made::{self, Changes, MadeJob, Truth, US};
use crate::stream::ComparedRanks;
use std::collections::BTreeMap;

#[test]
fn the_others_wait_for_a_rank_that_is_late() {
    let (heard, counts, _) = hear(&made::delayed(8, 5, 400 * US));
    assert_eq!((counts.operations, counts.matched, counts.unmatched, counts.compared), (800, 100, 0, 100));
    assert_eq!((heard.occurrences.len(), heard.calls.len()), (100, 800));
    for (number, occurrence) in heard.occurrences.iter().enumerate() {
        let late = if number % 10 == 9 { 400_000 } else { 0 };
        let compared = occurrence.compared.unwrap();
        assert_eq!(compared.last, (late > 0).then_some(5));
        assert!((compared.transfer() - 30_000).abs() <= 8_000, "{}", compared.transfer());
        for part in &occurrence.parts {
            let wait = if part.call.rank == 5 { 0 } else { late };
            let off = (part.wait.unwrap() - wait).abs();
            // two machines, whose clocks the 30 us of an operation bound, each to 30 us of the first rank's
            assert!(off <= part.error && part.likely <= part.error && part.error <= 61_000, "{part:?}");
            assert!(off <= 8_000, "{part:?}");
        }
    }
    // seven ranks wait 400 us, ten times
    let costs: Vec<_> = heard.calls.iter().filter_map(|judged| Some((judged.call().rank, judged.cost?))).collect();
    assert_eq!(costs.len(), 10);
    assert!(costs.iter().all(|&(rank, cost)| rank == 5 && (cost - 2_800_000).abs() < 60_000), "{costs:?}");
    let late: Vec<_> = heard.calls.iter().map(|judged| judged.margin).filter(|&margin| margin > 0).collect();
    assert!(late.len() == 10 && late.iter().all(|late| (late - 400_000).abs() < 10_000), "{late:?}");
}

#[test]
fn a_delay_that_is_passed_on_costs_twice() {
    let (heard, ..) = hear(&made::passed_on(200 * US));
    for (gpu, cost) in [(0, Some(200_000)), (1, Some(200_000)), (2, None)] {
        let costs: Vec<_> = heard.calls.iter().filter(|it| it.call().gpu == gpu).filter_map(|it| it.cost).collect();
        assert_eq!(costs.len(), if cost.is_some() { 20 } else { 0 });
        assert!(costs.iter().all(|known| (known - cost.unwrap()).abs() < 5_000), "{gpu}: {costs:?}");
    }
    // rank 1 waits for rank 0, and is late then by no more than it has waited
    let of_1: Vec<_> = heard.calls.iter().filter(|it| it.call().gpu == 1).collect();
    assert!(of_1.chunks(2).all(|pair| (pair[0].part.wait.unwrap() - pair[1].margin).abs() < 5_000));
}

#[test]
fn a_delay_within_the_error_has_no_last_rank() {
    let (heard, ..) = hear(&made::delayed(4, 1, 2 * US));
    assert!(heard.occurrences.iter().all(|it| it.compared.is_some_and(|compared| compared.last.is_none())));
    assert!(heard.calls.iter().all(|judged| judged.cost.is_none() && judged.margin == 0));
}

#[test]
fn a_receive_waits_for_a_late_send_and_a_send_for_a_late_receive() {
    for (made, waiting) in [(made::late_sender(300 * US), "Recv"), (made::late_receiver(300 * US), "Send")] {
        let (heard, counts, _) = hear(&made);
        assert_eq!((heard.occurrences.len(), counts.compared, counts.matched), (20, 20, 20));
        for occurrence in &heard.occurrences {
            for part in &occurrence.parts {
                let wait = if part.call.function.text() == waiting { 300_000 } else { 0 };
                assert!((part.wait.unwrap() - wait).abs() <= part.error.min(10_000), "{part:?}");
            }
            let ComparedRanks { last, .. } = occurrence.compared.unwrap();
            assert_eq!(last.map(|last| occurrence.parts[last].call.rank), Some(i32::from(waiting == "Send")));
        }
    }
}

#[test]
fn waits_transfers_and_spans_are_exact_sums() {
    let (heard, ..) = hear(&made::delayed(8, 2, 77 * US));
    for judged in &heard.calls {
        let ([start, stop], [latest_start, latest_stop]) = (judged.part.span.unwrap(), judged.latest.unwrap());
        assert_eq!(start + judged.part.wait.unwrap(), latest_start);
        assert!(stop <= latest_stop && judged.part.wait.unwrap() >= 0);
    }
}

#[test]
fn an_occurrence_with_an_unknown_begin_is_not_compared() {
    let mut made = made::delayed(4, 1, 100 * US);
    made.table.0[2][7].time = None;
    let (heard, counts, _) = hear(&made);
    assert_eq!((counts.matched, counts.compared), (100, 99));
    let occurrence = heard.occurrences.iter().find(|it| it.parts[0].call.sequence == Some((7, 0))).unwrap();
    assert!(occurrence.is_whole && occurrence.compared.is_none());
    assert!(occurrence.parts.iter().all(|part| part.wait.is_none()));
    let spans: Vec<bool> = occurrence.parts.iter().map(|part| part.span.is_some()).collect();
    assert_eq!(spans, [true, true, false, true]);
}

/// Compares each occurrence with the true times of the operation that it was made of.
fn compare_with_truth(made: &MadeJob) {
    let (heard, counts, _) = hear(made);
    assert_eq!((heard.occurrences.len(), counts.compared), (made.truth.len(), made.truth.len()));
    let key = |comm: usize, ranks: Vec<i32>, sequence, number| (comm, ranks, sequence, number);
    // sends and receives of the same ranks by their order
    let mut exchanges: BTreeMap<(usize, Vec<i32>), u64> = BTreeMap::new();
    let mut truth = BTreeMap::new();
    for of in &made.truth {
        let ranks: Vec<i32> = of.ranks.iter().map(|&(rank, ..)| rank).collect();
        let number = exchanges.entry((of.comm, ranks.clone())).or_default();
        let of_exchange = of.sequence.is_none().then_some(*number);
        *number += u64::from(of_exchange.is_some());
        truth.insert(key(of.comm, ranks, of.sequence.map(|it| (of.function.clone(), it)), of_exchange), of);
    }
    exchanges.clear();
    for occurrence in &heard.occurrences {
        let ranks: Vec<i32> = occurrence.parts.iter().map(|part| part.call.rank).collect();
        let call = &occurrence.parts[0].call;
        let number = exchanges.entry((call.communicator, ranks.clone())).or_default();
        let of_exchange = call.sequence.is_none().then_some(*number);
        *number += u64::from(of_exchange.is_some());
        let sequence = call.sequence.map(|it| (call.function.text(), it));
        let Truth { ranks, .. } = truth.remove(&key(call.communicator, ranks, sequence, of_exchange)).unwrap();
        let latest = |of: fn(&(i32, u64, u64)) -> u64| ranks.iter().map(of).max().unwrap();
        let (start, stop) = (latest(|it| it.1), latest(|it| it.2));
        let mut largest = 0;
        for (part, &(_, begin, _)) in occurrence.parts.iter().zip(ranks) {
            let off = part.wait.unwrap() - (start - begin) as i64;
            // durations are shown by a clock that drifts by up to 50 ppm
            assert!(off.abs() <= part.error + 5, "{part:?}: {off} off");
            largest = largest.max(part.error);
        }
        let off = occurrence.compared.unwrap().transfer() - (stop - start) as i64;
        assert!(off.abs() <= 2 * largest + 5, "{occurrence:?}: {off} off");
    }
    assert!(truth.is_empty());
}

#[test]
fn every_made_job_is_judged_as_it_was_made() {
    compare_with_truth(&made::delayed(8, 3, 150 * US));
    compare_with_truth(&made::passed_on(70 * US));
    compare_with_truth(&made::late_sender(70 * US));
    compare_with_truth(&made::late_receiver(70 * US));
    compare_with_truth(&made::all_to_all(5, |from, to| (from * to) as u64));
    compare_with_truth(&made::ring(6));
    compare_with_truth(&made::throttled(5, 3));
    compare_with_truth(&made::apart(3));
    let changes = Changes { warm_up: 3, outlier: Some(20), shift: Some(40) };
    compare_with_truth(&made::steps(60, changes));
    compare_with_truth(&made::random(300, 5));
    compare_with_truth(&made::two_by_two_by_two(20, true));
    compare_with_truth(&made::graph_replays(50));
}
