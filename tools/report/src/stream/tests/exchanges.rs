//! Sends and receives that become exchanges.

use super::hear;
use crate::made::{self, MS, Maker, Start, US};
use crate::stream::{CallKind, CallTags};

#[test]
fn an_exchange_with_every_peer_is_an_all_to_all() {
    let unequal = |from: usize, to: usize| ((from + 2 * to) % 5) as u64 * 1000;
    for made in [made::all_to_all(6, |_, _| 4096), made::all_to_all(6, unequal)] {
        let (heard, counts, _) = hear(&made);
        assert_eq!((counts.operations, counts.matched, counts.unmatched, counts.compared), (50 * 72, 50, 0, 50));
        for occurrence in &heard.occurrences {
            assert_eq!(occurrence.parts.len(), 6);
            for part in &occurrence.parts {
                assert_eq!((part.call.kind, part.call.function.text().as_str()), (CallKind::AllToAll, "AlltoAll"));
                assert_eq!((part.call.messages.len(), part.call.is_fused), (12, false));
            }
            let transfer = occurrence.compared.unwrap().transfer();
            assert!((transfer - 80_000).abs() <= 4_000, "{transfer}");
        }
    }
    // rank 1 sends 2 x 0, 2 x 1, 3, 4 thousand... : the larger of both directions counts
    let (heard, ..) = hear(&made::all_to_all(6, unequal));
    let sent: u64 = (0..6).map(|to| unequal(1, to)).sum();
    let received: u64 = (0..6).map(|from| unequal(from, 1)).sum();
    assert_eq!((sent, received), (11_000, 12_000));
    assert_eq!(heard.of(1)[0].bytes, 12_000);
}

/// Two ranks that send to and receive from each other have every peer. A message to itself tells an all-to-all.
#[test]
fn an_exchange_of_two_ranks_is_no_all_to_all() {
    for (messages, kind) in [
        (&[(0, 1, 8), (1, 0, 8)][..], CallKind::Exchange),
        (&[(0, 0, 8), (0, 1, 8), (1, 0, 8), (1, 1, 8)], CallKind::AllToAll),
    ] {
        let mut maker = Maker::new(2, 2);
        let world = maker.communicator("", &[0, 1]);
        maker.exchange(world, messages, Start::Together(MS), 10 * US);
        let (heard, ..) = hear(&maker.finish());
        assert_eq!([0, 1].map(|gpu| heard.of(gpu)[0].kind), [kind; 2]);
    }
}

#[test]
fn a_ring_of_sends_is_one_exchange() {
    let (heard, counts, _) = hear(&made::ring(8));
    assert_eq!((heard.occurrences.len(), counts.matched, counts.operations), (50, 50, 800));
    for occurrence in &heard.occurrences {
        assert_eq!((occurrence.parts.len(), occurrence.is_whole), (8, true));
        let ranks: Vec<i32> = occurrence.parts.iter().map(|part| part.call.rank).collect();
        assert_eq!(ranks, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert!(occurrence.parts.iter().all(|it| it.call.kind == CallKind::Exchange && it.call.bytes == 65_536));
        assert!(occurrence.parts.iter().all(|it| it.call.function.text() == "Exchange"));
    }
    // the last one is the 50th of its messages
    assert!(heard.occurrences[49].parts.iter().flat_map(|it| &it.call.messages).all(|it| it.number == 49));
}

#[test]
fn messages_without_a_group_share_a_kernel_or_are_alone() {
    let mut made = made::ring(4);
    made.table.0.iter_mut().flatten().for_each(|row| row.group = None);
    assert_eq!(hear(&made).0.occurrences.len(), 50);
    // one kernel each: a send and the receive of the next rank
    for row in made.table.0.iter_mut().flatten() {
        (row.kernel, row.alone) = (row.order, true);
    }
    let (heard, counts, _) = hear(&made);
    assert_eq!((heard.occurrences.len(), counts.unmatched), (200, 0));
    assert!(heard.occurrences.iter().all(|it| it.parts.len() == 2));
}

#[test]
fn an_exchange_has_one_tag_or_that_of_each_message() {
    let mut made = made::ring(4);
    for (gpu, rows) in made.table.0.iter_mut().enumerate() {
        rows.iter_mut().for_each(|row| row.tag = if gpu == 0 { 7 } else { row.order % 2 });
    }
    let (heard, ..) = hear(&made);
    assert!(heard.of(0).iter().all(|call| call.tags == CallTags::One(7)));
    assert!(heard.of(1).iter().all(|call| call.tags == CallTags::Each([0, 1].into())));
}

#[test]
fn a_collective_in_the_kernel_of_an_exchange_makes_both_fused() {
    let mut maker = Maker::new(2, 2);
    let world = maker.communicator("", &[0, 1]);
    let end = maker.exchange(world, &[(0, 1, 8), (1, 0, 8)], Start::Together(MS), 10 * US);
    maker.collective(world, "AllReduce", 8, Start::Together(MS), 10 * US);
    maker.exchange(world, &[(0, 1, 8), (1, 0, 8)], Start::Together(end + MS), 10 * US);
    let mut made = maker.finish();
    for rows in &mut made.table.0 {
        (rows[2].kernel, rows[2].alone, rows[2].group) = (0, false, rows[0].group);
    }
    let (heard, ..) = hear(&made);
    let fused: Vec<bool> = heard.of(0).iter().map(|call| call.is_fused).collect();
    assert_eq!(fused, [true, true, false]);
}

/// NCCL starts the messages of a group by their distance to the rank, whatever the order of the calls.
#[test]
fn the_order_in_which_messages_start_makes_no_kernel_shared() {
    let mut made = made::all_to_all(2, |_, _| 8);
    for rows in &mut made.table.0 {
        for messages in rows.chunks_mut(4) {
            let orders: Vec<u64> = messages.iter().map(|it| it.order).collect();
            for (row, order) in messages.iter_mut().zip([orders[2], orders[3], orders[0], orders[1]]) {
                (row.order, row.kernel) = (order, orders[0]);
            }
        }
    }
    let (heard, ..) = hear(&made);
    assert_eq!(heard.occurrences.len(), 50);
    assert!(heard.occurrences.iter().flat_map(|it| &it.parts).all(|part| !part.call.is_fused));
}

#[test]
fn pairs_are_matched_one_by_one() {
    let (heard, counts, _) = hear(&made::throttled(4, 5));
    assert_eq!((heard.occurrences.len(), counts.matched), (60, 60));
    for occurrence in &heard.occurrences {
        let [one, other] = &occurrence.parts[..] else { panic!("two parts") };
        let sender = if one.call.messages[0].is_send { one } else { other };
        let slow = (sender.call.rank, sender.call.messages[0].peer) == (0, 1);
        let transfer = occurrence.compared.unwrap().transfer();
        assert!((transfer - if slow { 200_000 } else { 50_000 }).abs() <= 5_000, "{transfer}");
    }
}

/// Rank 0 sends twice in one group; rank 1 receives in two groups, the second 1 ms later.
#[test]
fn a_rank_does_not_wait_for_itself() {
    let mut maker = Maker::new(2, 2);
    let world = maker.communicator("", &[0, 1]);
    maker.exchange(world, &[(0, 1, 8), (0, 1, 8)], Start::Together(MS), 10 * US);
    let mut made = maker.finish();
    let second = &mut made.table.0[1][1];
    (second.group, second.kernel, second.alone) = (second.group.map(|group| group + 1), second.order, true);
    let time = second.time.as_mut().unwrap();
    (time.start, time.stop) = (time.start + MS, time.stop + MS);
    let (heard, counts, _) = hear(&made);
    let [occurrence] = &heard.occurrences[..] else { panic!("one operation: {:?}", heard.occurrences) };
    assert_eq!((occurrence.parts.len(), occurrence.is_whole, occurrence.compared), (3, true, None));
    assert!(occurrence.parts.iter().all(|part| part.wait.is_none()) && counts.compared == 0);
}
