//! Waits, transfers and costs.

use super::hear;
use crate::made::{self, US};
use crate::stream::Compared;

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
    let late: Vec<_> = heard.calls.iter().map(|judged| judged.lateness).filter(|&lateness| lateness > 0).collect();
    assert!(late.len() == 10 && late.iter().all(|late| (late - 400_000).abs() < 10_000), "{late:?}");
}

#[test]
fn a_delay_within_the_error_has_no_last_rank() {
    let (heard, ..) = hear(&made::delayed(4, 1, 2 * US));
    assert!(heard.occurrences.iter().all(|it| it.compared.is_some_and(|compared| compared.last.is_none())));
    assert!(heard.calls.iter().all(|judged| judged.cost.is_none() && judged.lateness == 0));
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
            let Compared { last, .. } = occurrence.compared.unwrap();
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
    assert_eq!((counts.matched, counts.compared, counts.untimed), (100, 99, 0));
    let occurrence = heard.occurrences.iter().find(|it| it.parts[0].call.sequence == Some((7, 0))).unwrap();
    assert!(occurrence.is_whole && occurrence.compared.is_none());
    assert!(occurrence.parts.iter().all(|part| part.wait.is_none()));
    let spans: Vec<bool> = occurrence.parts.iter().map(|part| part.span.is_some()).collect();
    assert_eq!(spans, [true, true, false, true]);
}
