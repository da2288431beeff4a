//! Pairs of known times and rates.

use super::*;
use crate::analysis::tests::occurrences::{exchange, job, occurrence, play};
use crate::answer::{PartKind, Straggler, Stragglers};

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
        channel_fits: None,
    }
}

fn rows(job: &Job, transfers: &[Transfers]) -> Vec<RankPair> {
    Messages::default().finish(job, &[], transfers, &LateRanks::default()).known().unwrap().rows.clone()
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
    let mut messages = Messages::default();
    let mut untimed = of(2, 0, 100);
    untimed.compared = None;
    play(&mut messages, &job, &[of(0, 0, 300), of(1, 1_000, 950), untimed]);
    let part = messages.finish(&job, &[], &[], &LateRanks::default());
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
    let mut messages = Messages::default();
    play(&mut messages, &job, &[occurrence(0, lone, 0)]);
    let part = messages.finish(&job, &[], &[], &LateRanks::default());
    let rows = &part.known().unwrap().rows;
    assert_eq!(rows.iter().map(|row| (row.rank, row.peer, row.messages)).collect::<Vec<_>>(), [(0, 1, 1)]);
    assert!(Messages::default().finish(&job, &[], &[], &LateRanks::default()).absent().is_some());
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
    let mut messages = Messages::default();
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
    let part = messages.finish(&job, &[], &[], &LateRanks::default());
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

/// Pairs between nodes of `rates`, MB/s, in communicator 1, with 100 transfers each.
fn network(rates: impl IntoIterator<Item = (i32, i32, f64)>) -> Vec<Transfers> {
    let of = |(rank, peer, rate)| Transfers {
        transfers: 100,
        bytes: 100 << 20,
        ..transfers(1, rank, peer, rate, Some(rate))
    };
    rates.into_iter().map(of).collect()
}

fn slow(job: &Job, transfers: &[Transfers]) -> Vec<(PartKind, String, u64, u64)> {
    let part = Messages::default().finish(job, &[], transfers, &LateRanks::default());
    let parts = &part.known().unwrap().slow;
    parts.iter().map(|part| (part.kind, part.name.clone(), part.pairs, part.of)).collect()
}

fn all_to_all(ranks: i32) -> impl Iterator<Item = (i32, i32)> {
    (0..ranks).flat_map(move |rank| (0..ranks).map(move |peer| (rank, peer))).filter(|(rank, peer)| rank != peer)
}

/// Eight nodes of one GPU each: the same slow pairs are an adapter's, a link's, or a pair's.
#[test]
fn what_explains_most_with_least_is_named() {
    let job = job(&[0, 1, 2, 3, 4, 5, 6, 7], &[&[0, 1, 2, 3, 4, 5, 6, 7]]);
    let with = |is_slow: &dyn Fn(i32, i32) -> bool| {
        let rate = |(rank, peer)| (rank, peer, if is_slow(rank, peer) { 22_000.0 } else { 45_000.0 });
        slow(&job, &network(all_to_all(8).map(rate)))
    };
    assert_eq!(with(&|_, _| false), []);
    let adapter = with(&|rank, peer| rank == 5 || peer == 5);
    assert_eq!(adapter, [(PartKind::Adapter, "rank 5".into(), 14, 14)]);
    let link = with(&|rank, peer| [rank, peer] == [2, 6] || [rank, peer] == [6, 2]);
    assert_eq!(link, [(PartKind::Link, "host2 and host6".into(), 2, 2)]);
    let pair = with(&|rank, peer| [rank, peer] == [2, 6]);
    assert_eq!(pair, [(PartKind::Pair, "rank 2 to rank 6".into(), 1, 1)]);
    let both = with(&|rank, peer| rank == 5 || peer == 5 || [rank, peer] == [2, 6]);
    assert_eq!(both.iter().map(|part| part.0).collect::<Vec<_>>(), [PartKind::Adapter, PartKind::Pair]);
}

/// Four nodes of two GPUs, an all-to-all among them: half of all pairs go over a node.
#[test]
fn a_slow_node_is_found_where_half_of_the_pairs_are_its_own() {
    let nodes = [0, 0, 1, 1, 2, 2, 3, 3];
    let job = job(&nodes, &[&[0, 1, 2, 3, 4, 5, 6, 7]]);
    let node = |rank: i32| nodes[rank as usize];
    let between = || all_to_all(8).filter(|&(rank, peer)| node(rank) != node(peer));
    let rate = |(rank, peer): (i32, i32)| {
        let rate = 45_000.0 + f64::from(rank) * 10.0;
        (rank, peer, if [node(rank), node(peer)].contains(&1) { rate / 1.5 } else { rate })
    };
    assert_eq!(slow(&job, &network(between().map(rate))), [(PartKind::Node, "host1".into(), 24, 24)]);
    // at random, half of the rates say nothing
    let mixed =
        |(rank, peer): (i32, i32)| (rank, peer, if (rank * 3 + peer * 5) % 2 == 0 { 45_000.0 } else { 30_000.0 });
    assert_eq!(slow(&job, &network(between().map(mixed))), []);
}

/// A ring of 8 nodes: 20 % below the others is slow, 10 % is not, and neither is a scattered rate of few transfers.
#[test]
fn a_slow_pair_must_be_far_off_by_its_own_error_too() {
    let job = job(&[0, 1, 2, 3, 4, 5, 6, 7], &[&[0, 1, 2, 3, 4, 5, 6, 7]]);
    let of = |rate: f64, error: Option<f64>| {
        let ring = (0..8).map(|rank| (rank, (rank + 1) % 8, if rank == 3 { rate } else { 45_000.0 }));
        let mut all = network(ring);
        all[3].typical_error_mb_s = error;
        rows(&job, &all).iter().filter(|row| row.slow).count()
    };
    assert_eq!(
        [of(40_500.0, None), of(36_000.0, None), of(36_000.0, Some(500.0)), of(36_000.0, Some(4_000.0))],
        [0, 1, 1, 0]
    );
}

/// A ring and all pairs of one communicator: those of the ring move twice as much, and are a class of their own.
#[test]
fn pairs_that_move_the_same_are_compared() {
    let job = job(&[0, 1, 2, 3, 4], &[&[0, 1, 2, 3, 4]]);
    let mut all = network(all_to_all(5).map(|(rank, peer)| (rank, peer, 10_000.0)));
    for pair in all.iter_mut().filter(|pair| (pair.rank + 1) % 5 == pair.peer) {
        (pair.transfers, pair.bytes) = (200, 200 << 20);
        (pair.sustained_rate_mb_s, pair.typical_rate_mb_s) = (Some(5_000.0), Some(5_000.0));
    }
    assert!(rows(&job, &all).iter().all(|row| row.z == Some(0.0)));
    // of 8 KiB each, it is latency
    all.iter_mut().for_each(|pair| pair.bytes = pair.transfers << 13);
    assert!(rows(&job, &all).iter().all(|row| row.z.is_none()));
}

/// Nodes with other adapters are another class.
#[test]
fn adapters_of_another_rate_are_compared_among_themselves() {
    let mut job = job(&[0, 1, 2, 3, 4, 5], &[&[0, 1, 2, 3, 4, 5]]);
    for (place, process) in job.processes.iter_mut().enumerate() {
        let mbit_s = if place < 3 { 400_000 } else { 200_000 };
        let adapters = vec![common::hardware::nics::rates::NicRate { name: "a:1".into(), mbit_s }];
        process.links = Some(common::links::ProcessLinks { adapters, ..Default::default() });
    }
    let rate = |(rank, peer): (i32, i32)| (rank, peer, if rank < 3 && peer < 3 { 45_000.0 } else { 22_000.0 });
    let rows = rows(&job, &network(all_to_all(6).map(rate)));
    assert!(rows.iter().all(|row| !row.slow && row.z.is_some()));
    let class = |rank, peer| rows.iter().find(|row| (row.rank, row.peer) == (rank, peer)).unwrap().class.clone();
    assert_eq!(class(0, 1), "between nodes (1 x 400 Gbit/s)");
    assert_eq!(class(0, 3), "between nodes (1 x 200 Gbit/s; 1 x 400 Gbit/s)");
}

/// Each of 8 lone messages takes 100 us; the receiver comes 1 ms late, on a clock that is 5 ms ahead.
#[test]
fn a_lone_transfer_needs_no_common_clock() {
    let job = job(&[0, 1], &[&[0, 1]]);
    let message = |number| {
        let calls = vec![
            (exchange(&job, 0, 0, &[(1, true, 1_000_000)]), [0, 1_100_000]),
            (exchange(&job, 0, 1, &[(0, false, 1_000_000)]), [6_000_000, 6_100_000]),
        ];
        occurrence(number, calls, 0)
    };
    let mut messages = Messages::default();
    play(&mut messages, &job, &(0..8).map(message).collect::<Vec<_>>());
    let part = messages.finish(&job, &[], &[], &LateRanks::default());
    let row = &part.known().unwrap().rows[0];
    assert_eq!((row.lone, row.lone_error), (Some(10.0), Some(0.0)));
}

/// A ring of 8 nodes. Rank 3 is late by a tenth of a step, sends at 28 GB/s, and its neighbours' links are as others.
#[test]
fn a_late_rank_makes_its_sends_slow_and_no_link() {
    let job = job(&[0, 1, 2, 3, 4, 5, 6, 7], &[&[0, 1, 2, 3, 4, 5, 6, 7]]);
    let late = |excess_us: f64, gain_us: Option<f64>| {
        let found = vec![Straggler { gpus: vec![3], excess_us, gain_us, ..Straggler::default() }];
        LateRanks::find(&Stragglers { step_us: 1_000.0, found, ..Stragglers::default() })
    };
    let judged = |late: &LateRanks, slow: &[i32]| {
        let rate = |rank| if slow.contains(&rank) { 28_000.0 } else { 45_000.0 };
        let ring = network((0..8).map(|rank| (rank, (rank + 1) % 8, rate(rank))));
        let part = Messages::default().finish(&job, &[], &ring, late);
        let pairs = part.known().unwrap();
        let of = |is: fn(&RankPair) -> bool| pairs.rows.iter().filter(|row| is(row)).map(|row| row.rank).collect();
        let parts = pairs.slow.iter().flat_map(|part| part.gpus.clone()).collect();
        (of(|row| row.slow), of(|row| row.of_late_rank), parts)
    };
    let (none, three): (Vec<i32>, Vec<i32>) = (vec![], vec![3]);
    assert_eq!(judged(&LateRanks::default(), &[3]), (three.clone(), none.clone(), vec![3, 4]));
    assert_eq!(judged(&late(100.0, None), &[3]), (none.clone(), three.clone(), vec![]));
    // its receives, and links of others, are judged
    assert_eq!(judged(&late(100.0, None), &[2, 3, 6]), (vec![2, 6], three.clone(), vec![2, 3, 6, 7]));
    assert_eq!(judged(&late(100.0, None), &[]), (none.clone(), none.clone(), vec![]));
    // late by 1 % it does not send by that much more slowly; late in some steps, it may
    assert_eq!(judged(&late(10.0, Some(9.0)), &[3]).0, three);
    assert_eq!(judged(&late(0.0, Some(50.0)), &[3]).1, three);
}

/// An all-to-all of 8 nodes: the adapter of late rank 5 is slow both ways, and that shows in the receives.
#[test]
fn a_slow_adapter_of_a_late_rank_is_found_by_what_it_receives() {
    let job = job(&[0, 1, 2, 3, 4, 5, 6, 7], &[&[0, 1, 2, 3, 4, 5, 6, 7]]);
    let found = vec![Straggler { gpus: vec![5], excess_us: 100.0, ..Straggler::default() }];
    let late = LateRanks::find(&Stragglers { step_us: 1_000.0, found, ..Stragglers::default() });
    let rate = |(rank, peer)| (rank, peer, if [rank, peer].contains(&5) { 20_000.0 } else { 45_000.0 });
    let part = Messages::default().finish(&job, &[], &network(all_to_all(8).map(rate)), &late);
    let [part] = &part.known().unwrap().slow[..] else { panic!("one part") };
    assert_eq!((part.kind, part.name.as_str(), part.pairs, part.of), (PartKind::Adapter, "rank 5", 7, 7));
}

/// Four nodes: three pairs of ranks that are not late are no comparison, and those of late ranks are part of it.
#[test]
fn of_few_pairs_those_of_late_ranks_are_compared_with_too() {
    let job = job(&[0, 1, 2, 3], &[&[0, 1, 2, 3]]);
    let found = vec![Straggler { gpus: vec![3], excess_us: 100.0, ..Straggler::default() }];
    let late = LateRanks::find(&Stragglers { step_us: 1_000.0, found, ..Stragglers::default() });
    let ring = network(
        [45_000.0, 22_000.0, 45_000.0, 45_000.0].into_iter().zip(0..).map(|(rate, rank)| (rank, (rank + 1) % 4, rate)),
    );
    let part = Messages::default().finish(&job, &[], &ring, &late);
    let slow: Vec<i32> = part.known().unwrap().rows.iter().filter(|row| row.slow).map(|row| row.rank).collect();
    assert_eq!(slow, [1]);
}
