//! Pairs of known times and rates.

use super::*;
use crate::analysis::made::{exchange, job, occurrence, play};

fn transfers(comm: u64, rank: i32, peer: i32, sustained: f64, typical: Option<f64>) -> Transfers {
    Transfers {
        comm: format!("{comm:016x}"),
        rank,
        peer,
        transfers: 10,
        bytes: 1_000_000,
        sizes: 1,
        channels: 1,
        active_us: 1.0,
        sustained_rate_mb_s: Some(sustained),
        typical_rate_mb_s: typical,
        typical_error_mb_s: None,
        mean_in_flight: None,
        max_in_flight: None,
        fit: None,
    }
}

fn rows(job: &Job, transfers: &[Transfers]) -> Vec<Pair> {
    Messages::new().finish(job, &[], transfers).known().unwrap().rows.clone()
}

/// Rank 0 sends at 0 and 1,000, rank 1 receives at 300 and 950.
#[test]
fn late_senders_and_late_receivers_are_summed_apart() {
    let job = job(&[0, 1], &[&[0, 1]]);
    let of = |number, send: i64, receive: i64| {
        let calls = vec![
            (exchange(&job, 0, 0, &[(1, true, 800)]), [send, 2_000]),
            (exchange(&job, 0, 1, &[(0, false, 800)]), [receive, 2_000]),
        ];
        occurrence(number, calls, 0)
    };
    let mut messages = Messages::new();
    let mut untimed = of(2, 0, 100);
    untimed.compared = None;
    play(&mut messages, &job, &[of(0, 0, 300), of(1, 1_000, 950), untimed]);
    let part = messages.finish(&job, &[], &[]);
    let [row] = part.known().unwrap().rows.as_slice() else { panic!("one pair") };
    assert_eq!((row.rank, row.peer, row.from, row.to), (0, 1, Some(0), Some(1)));
    assert_eq!((row.messages, row.message_bytes), (3, 2_400));
    assert_eq!((row.late_sender_us, row.late_receiver_us), (Some(0.05), Some(0.3)));
    assert_eq!((row.class.as_str(), row.z, row.slow), ("between nodes", None, false));
}

#[test]
fn a_send_without_its_receive_is_no_message() {
    let job = job(&[0; 3], &[&[0, 1, 2]]);
    let lone = vec![
        (exchange(&job, 0, 0, &[(1, true, 8), (2, true, 8)]), [0, 1]),
        (exchange(&job, 0, 1, &[(0, false, 8)]), [0, 1]),
    ];
    let mut messages = Messages::new();
    play(&mut messages, &job, &[occurrence(0, lone, 0)]);
    let part = messages.finish(&job, &[], &[]);
    let rows = &part.known().unwrap().rows;
    assert_eq!(rows.iter().map(|row| (row.rank, row.peer, row.messages)).collect::<Vec<_>>(), [(0, 1, 1)]);
    assert!(Messages::new().finish(&job, &[], &[]).absent().is_some());
}

/// Two nodes of four GPUs each. All pairs over the network run at 12 GB/s but those between ranks 2 and 5.
#[test]
fn exactly_the_pairs_of_a_throttled_link_are_slow() {
    let job = job(&[0, 0, 0, 0, 1, 1, 1, 1], &[&[0, 1, 2, 3, 4, 5, 6, 7]]);
    let mut all = vec![];
    for (rank, peer) in (0..4).flat_map(|one| (4..8).flat_map(move |other| [(one, other), (other, one)])) {
        let is_throttled = [rank, peer] == [2, 5] || [rank, peer] == [5, 2];
        let rate = if is_throttled { 4_000.0 } else { 12_000.0 + f64::from(rank - peer) * 10.0 };
        all.push(transfers(1, rank, peer, rate / 2.0, Some(rate)));
    }
    let rows = rows(&job, &all);
    let slow: Vec<_> = rows.iter().filter(|row| row.slow).map(|row| (row.rank, row.peer)).collect();
    assert_eq!(slow, [(2, 5), (5, 2)]);
    assert_eq!(rows.len(), 32);
    assert_eq!((rows[0].sustained, rows[0].typical), (Some(5.98), Some(11.96)));
}

/// Pairs of one node are not compared with those of two nodes, nor fewer than four.
#[test]
fn only_pairs_of_one_class_are_compared() {
    let job = job(&[0, 0, 0, 1], &[&[0, 1, 2, 3]]);
    let within = [(0, 1), (1, 0), (0, 2), (2, 0)].map(|(rank, peer)| transfers(1, rank, peer, 40_000.0, None));
    let across =
        [(0, 3), (1, 3), (2, 3)].map(|(rank, peer)| transfers(1, rank, peer, 10_000.0 * f64::from(rank + 1), None));
    let foreign = transfers(1, 0, 9, 1.0, None);
    let rows = rows(&job, &[&within[..], &across[..], &[foreign]].concat());
    let found: Vec<_> = rows.iter().map(|row| (row.rank, row.peer, row.class.as_str(), row.z)).collect();
    assert_eq!(
        found,
        [
            (0, 1, "same node", Some(0.0)),
            (0, 2, "same node", Some(0.0)),
            (0, 3, "between nodes", None),
            (0, 9, "other", None),
            (1, 0, "same node", Some(0.0)),
            (1, 3, "between nodes", None),
            (2, 0, "same node", Some(0.0)),
            (2, 3, "between nodes", None),
        ]
    );
}

/// Without a network, 1 MB takes 50 us between each two of four ranks, and 200 us from rank 0 to rank 1. A pair with
/// messages of another size is not compared.
#[test]
fn lone_messages_show_a_slow_pair_inside_a_node() {
    let job = job(&[0; 4], &[&[0, 1, 2, 3]]);
    let mut messages = Messages::new();
    let message = |number: u64, rank: i32, peer: i32, bytes: u64, takes: i64| {
        let calls = vec![
            (exchange(&job, 0, rank as usize, &[(peer, true, bytes)]), [0, takes]),
            (exchange(&job, 0, peer as usize, &[(rank, false, bytes)]), [0, takes]),
        ];
        let mut occurrence = occurrence(number, calls, 0);
        occurrence.parts.sort_by_key(|part| part.call.rank);
        occurrence
    };
    for (rank, peer) in (0..4).flat_map(|rank| (0..4).map(move |peer| (rank, peer))).filter(|(rank, peer)| rank != peer)
    {
        let takes = if (rank, peer) == (0, 1) { 200_000 } else { 50_000 };
        let bytes = if (rank, peer) == (3, 2) { 1_000 } else { 1_000_000 };
        let all: Vec<_> = (0..8).map(|number| message(number, rank, peer, bytes, takes)).collect();
        play(&mut messages, &job, &all);
    }
    let part = messages.finish(&job, &[], &[]);
    let rows = &part.known().unwrap().rows;
    let slow: Vec<_> = rows.iter().filter(|row| row.slow).map(|row| (row.rank, row.peer, row.lone)).collect();
    assert_eq!(slow, [(0, 1, Some(5.0))]);
    let unjudged: Vec<_> = rows.iter().filter(|row| row.z.is_none()).map(|row| (row.rank, row.peer)).collect();
    assert_eq!((unjudged, rows.len()), (vec![(3, 2)], 12));
}

/// One of six pairs is slow, by two transfers alone.
#[test]
fn a_pair_with_few_transfers_is_not_judged() {
    let job = job(&[0; 4], &[&[0, 1, 2, 3]]);
    let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
    let of = |few: u64| {
        let mut all: Vec<_> = pairs.iter().map(|&(rank, peer)| transfers(1, rank, peer, 9_000.0, None)).collect();
        (all[0].transfers, all[0].sustained_rate_mb_s) = (few, Some(1_000.0));
        let judged = rows(&job, &all);
        (judged[0].z.is_some(), judged.iter().filter(|row| row.slow).count())
    };
    assert_eq!((of(8), of(2)), ((true, 1), (false, 0)));
}
