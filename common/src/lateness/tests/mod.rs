//! How late ranks are, which operations count, and the bandwidth of those that wait for nobody.

mod causality;

use super::*;
use crate::event::name::NcclName;
use crate::figures::arrivals::{Arrival, ArrivalShare, Collective, KnownTime, RankArrivals};
use crate::lateness::clock_tree::{ClockOffset, ParentLink};
use crate::sums::run_sums::CommunicatorRank;
use crate::sums::run_sums::hexadecimal;

fn reduce() -> NcclName {
    NcclName::of(Some(c"AllReduce"))
}

/// Returns an operation that began at `time`, known to `error` ticks, and lasted long.
fn collective(function: NcclName, sequence: u64, time: u64, error: u64) -> Collective {
    let arrival = Arrival { time, length: 1 << 50, clock: [error; 2], ..Arrival::default() };
    Collective { function, sequence, order: 0, arrival }
}

/// Returns the arrival at an operation that the GPU has not timed.
fn nothing() -> Arrival {
    Arrival { known: KnownTime::Nothing, ..Arrival::default() }
}

/// Returns a rank with arrivals of (sequence number, ticks).
fn rank(comm: u64, rank: i32, error: u64, times: impl IntoIterator<Item = (u64, u64)>) -> RankArrivals {
    let collectives = times.into_iter().map(|(sequence, time)| collective(reduce(), sequence, time, error));
    RankArrivals::new(CommunicatorRank { comm, rank }, collectives.collect())
}

fn process(ranks: Vec<RankArrivals>) -> Arrivals {
    Arrivals { ranks, ..Arrivals::default() }
}

fn one_clock(processes: usize) -> ClockTree {
    let link = ParentLink { parent: 0, begin: None, end: ClockOffset { own: 0, parents: 0, error: 0 } };
    ClockTree::new(&vec![Some(link); processes])
}

/// Returns a link of a clock that is `ahead` ticks ahead of its parent's, compared to `error` ticks.
fn compared(parent: u32, ahead: u64, error: u64) -> Option<ParentLink> {
    let meeting = |parents| ClockOffset { own: parents + ahead, parents, error };
    Some(ParentLink { parent, begin: Some(meeting(0)), end: meeting(1 << 40) })
}

#[test]
fn lateness_is_measured_from_the_first() {
    let times = [[0, 1000, 2000, 3000], [500, 1000, 2400, 3050], [100, 1900, 2000, 3000]];
    let ranks = times.iter().zip(0..).map(|(times, number)| rank(0xabc, number, 25, (0..).zip(times.iter().copied())));
    // two ranks of one process, ticks of 2 ns
    let ranks: Vec<_> = ranks.collect();
    let rows = lateness(vec![process(ranks[..2].to_vec()), process(ranks[2..].to_vec())], &one_clock(2), 2.0, &[]).0;
    assert!(rows.iter().all(|row| row.comm == "0000000000000abc" && (row.operations, row.resolved) == (4, 3)));
    // 1.0 and 0.8 us; 0.1 us is not above the bound
    let told: Vec<_> = rows.iter().map(|row| (row.rank, row.mean_us, row.p99_us, row.last)).collect();
    assert_eq!(told, [(0, None, None, 0), (1, Some(0.45), Some(1.0), 2), (2, Some(0.5), Some(1.8), 1)]);
    assert!(rows.iter().all(|row| row.estimated_error_us <= row.error_us && row.error_us <= 0.1001), "{rows:?}");
}

/// A begin that anchors have placed is likely off by less.
#[test]
fn anchors_make_the_likely_error_smaller() {
    for (anchored, likely) in [([false, false], 50_f64), ([true, false], 34.0), ([true, true], 18.0)] {
        let of = |rank: usize| {
            let arrival = Arrival { time: 1 << 30, length: 100_000, clock: [40_000; 2], ..Arrival::default() };
            let arrival = Arrival { is_anchored: anchored[rank], ..arrival };
            let collective = Collective { function: reduce(), sequence: 0, order: 0, arrival };
            process(vec![RankArrivals::new(CommunicatorRank { comm: 1, rank: rank as i32 }, vec![collective])])
        };
        matched(vec![of(0), of(1)], &one_clock(2), 1.0, |operation| {
            assert_eq!(operation.ranks[1].likely.round(), (likely * 1e6).sqrt().round(), "{anchored:?}");
        });
    }
}

#[test]
fn the_last_is_later_than_every_other_by_more_than_the_bound() {
    let late = |late: u64, count: u64| (0..count).map(move |at| (at, at * 1000 + late));
    let rows = |times: [u64; 3], error: u64| {
        let ranks = times.iter().zip(0..).map(|(&time, number)| rank(1, number, error, late(time, 10)));
        lateness(vec![process(ranks.collect())], &one_clock(1), 1.0, &[]).0
    };
    for (times, latest) in [([0, 300, 350], 2), ([0, 350, 300], 1), ([350, 0, 300], 0), ([350, 300, 0], 0)] {
        for (place, row) in rows(times, 20).iter().enumerate() {
            assert_eq!(row.last, if place == latest { 10 } else { 0 }, "{times:?}");
        }
        assert!(
            rows(times, 30).iter().all(|row| row.last == 0 && row.mean_us.is_some() == (times[row.rank as usize] > 0))
        );
    }
}

#[test]
fn the_99th_percentile_counts_operations_without_lateness() {
    for (late, p99) in [(1, Some(0.0)), (2, Some(0.0)), (3, Some(1.0)), (200, Some(198.0)), (0, None)] {
        let first = rank(1, 0, 0, (0..200).map(|at| (at, at * 1_000_000)));
        let second =
            rank(1, 1, 0, (0..200).map(|at| (at, at * 1_000_000 + if at < late { (at + 1) * 1000 } else { 0 })));
        let rows = lateness(vec![process(vec![first, second])], &one_clock(1), 1.0, &[]).0;
        assert_eq!((rows[1].p99_us, rows[1].operations, rows[1].last), (p99, 200, late), "{late}");
    }
}

/// The first operations of a run are slow: their mean alone is the mean of the warm-up.
#[test]
fn a_mean_is_of_nearly_all_operations_or_not_there() {
    for (timed, mean) in [(10, Some(1.0)), (9, Some(1.0)), (8, None)] {
        let of = |number: u64| {
            let collective = |at: u64| Collective {
                order: at as u32,
                // only the second rank's clock is unknown at the last operation
                arrival: match at {
                    _ if at < timed => collective(reduce(), 0, at * 1_000_000 + number * 1000, 0).arrival,
                    9 if number == 1 => Arrival { known: KnownTime::Length, length: 5, ..nothing() },
                    9 => collective(reduce(), 0, at * 1_000_000, 0).arrival,
                    _ => nothing(),
                },
                ..collective(reduce(), at, 0, 0)
            };
            RankArrivals::new(CommunicatorRank { comm: 1, rank: number as i32 }, (0..10).map(collective).collect())
        };
        let row = lateness(vec![process(vec![of(0), of(1)])], &one_clock(1), 1.0, &[]).0.remove(1);
        assert_eq!((row.count, row.timed, row.operations), (10, (timed + 1).min(10), timed));
        assert_eq!((row.mean_us, row.p99_us, row.last), (mean, mean, timed));
    }
}

#[test]
fn operations_count_that_every_member_has_once() {
    let at = |numbers: &'static [u64]| numbers.iter().map(|&number| (number, number * 10));
    // 1: missing from one rank. 3: three times in one. 4: replayed in both. 9: beyond the end of one
    let ranks = vec![rank(7, 0, 0, at(&[0, 1, 2, 3, 4, 4])), rank(7, 1, 0, at(&[0, 2, 3, 3, 3, 4, 4, 9]))];
    // a communicator without a second rank, and one with a rank without operations
    let others = vec![rank(8, 0, 0, at(&[0])), rank(9, 0, 0, at(&[0])), rank(9, 1, 0, at(&[]))];
    let rows = lateness(vec![process(ranks), process(others)], &one_clock(2), 1.0, &[]).0;
    let rows: Vec<_> = rows.iter().map(|row| (row.comm.as_str(), row.rank, row.operations)).collect();
    assert_eq!(rows, [("0000000000000007", 0, 5), ("0000000000000007", 1, 5)]);
    // a rank that two processes report: its operations cannot be distinguished
    let twice = || process(vec![rank(7, 0, 0, at(&[0, 1]))]);
    let other = process(vec![rank(7, 1, 0, at(&[0, 1]))]);
    assert_eq!(lateness(vec![twice(), other, twice()], &one_clock(3), 1.0, &[]).0, []);
}

#[test]
fn functions_are_matched_by_what_they_are() {
    let gather = NcclName::of(Some(c"AllGather"));
    let of = |number, function| {
        RankArrivals::new(
            CommunicatorRank { comm: 1, rank: number },
            vec![collective(function, 0, 5, 0), collective(reduce(), 1, 10, 0)],
        )
    };
    let rows = lateness(vec![process(vec![of(0, reduce())]), process(vec![of(1, gather)])], &one_clock(2), 1.0, &[]).0;
    assert_eq!(rows.iter().map(|row| row.operations).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn clocks_are_made_one_and_bound_what_is_late() {
    let links = [None, compared(0, 1000, 40), compared(1, 5_000, 70), compared(1, 9_000, 10)];
    let clocks = ClockTree::new(&links);
    let ahead = [0, 1000, 6_000, 10_000];
    // process 2 is late by 100, process 3 by 200
    let of = |process: usize, comm, error| {
        let late = process.saturating_sub(1) as u64 * 100;
        rank(comm, process as i32, error, (0..50).map(|at| (at, at * 1000 + late + ahead[process])))
    };
    let processes = (0..4).map(|number| {
        let all = of(number, 1, 3);
        process(if number >= 2 { vec![all, of(number, 2, 0)] } else { vec![all] })
    });
    let rows = lateness(processes.collect(), &clocks, 1.0, &[]).0;
    // over all ranks, processes 1 and 2 are known worst: 40 and 40 + 70, and 3 each; between 2 and 3 alone, their
    // common way from 1 to 0 does not matter
    assert!(rows.iter().all(|row| row.error_us <= if row.comm.ends_with('1') { 0.1562 } else { 0.0801 }), "{rows:?}");
    let rows: Vec<_> = rows.iter().map(|row| (row.rank, row.mean_us, row.last)).collect();
    let all = [(0, None, 0), (1, None, 0), (2, None, 0), (3, Some(0.2), 0)];
    assert_eq!(rows, [&all[..], &[(2, None, 0), (3, Some(0.1), 50)]].concat());
}

#[test]
fn each_operation_has_its_own_bound() {
    // neither rank is in process 0, and both are least certain at their last arrival
    let once = |own| Some(ParentLink { parent: 0, begin: None, end: ClockOffset { own, parents: 0, error: 40 } });
    let clocks = ClockTree::new(&[None, once(1), once(2)]);
    let of = |number| process(vec![rank(1, number, 1, [(0, 10), (1, 1_000_001)])]);
    let mut errors = Vec::new();
    matched(vec![of(0), of(1), of(2)], &clocks, 1.0, |operation| errors.push(operation.ranks[1].error.round()));
    assert!((50.0..=82.0).contains(&errors[0]) && errors[1] == 282.0, "{errors:?}");
}

#[test]
fn what_cannot_be_compared_is_left_out() {
    let clocks = ClockTree::new(&[None, None, compared(0, 0, 1)]);
    let of = |comm, number| rank(comm, number, 0, [(0, 0)]);
    let unknown = RankArrivals::new(
        CommunicatorRank { comm: 3, rank: 0 },
        vec![Collective { arrival: nothing(), ..collective(reduce(), 0, 0, 0) }],
    );
    let processes =
        vec![process(vec![of(1, 0), of(2, 0), unknown]), process(vec![of(1, 1)]), process(vec![of(2, 1), of(3, 1)])];
    let comms: Vec<_> = lateness(processes, &clocks, 1.0, &[]).0.into_iter().map(|row| row.comm).collect();
    assert_eq!(comms, ["0000000000000002", "0000000000000002"]);
    assert_eq!(lateness(vec![], &clocks, 1.0, &[]).0, []);
}

#[test]
fn what_one_process_has_left_out_all_leave_out() {
    let of = |number, one_in| {
        let mut arrivals = process(vec![rank(5, number, 0, (0..1000).map(|at| (at, at * 1000 + 100 * number as u64)))]);
        arrivals.thin(ArrivalShare::of_operations(one_in));
        Arrivals::decode(&arrivals.encode()).unwrap()
    };
    let kept = of(0, 8).ranks[0].arrivals.len() as u64;
    // another communicator's share is its own
    let mut other = process(vec![rank(6, 0, 0, [(0, 0)])]);
    other.thin(ArrivalShare::of_operations(64));
    let rows = lateness(vec![of(0, 1), of(1, 8), of(2, 2), other], &one_clock(4), 1.0, &[]).0;
    assert_eq!(rows.len(), 3);
    for (row, number) in rows.iter().zip(0..) {
        assert_eq!((row.rank, row.operations, row.one_in), (number, kept, 8));
    }
    assert_eq!((rows[1].mean_us, rows[2].mean_us, rows[2].last), (Some(0.1), Some(0.2), kept));
}

/// Two ranks reduce 1 MB and 1.5 MB in 20 us and 25 us, from the begin of the second rank, for which the first one
/// waits.
#[test]
fn bandwidth_is_by_the_rank_that_waits_for_nobody() {
    let collective = |function: NcclName, sequence: u64, number: u64, bytes: u64| {
        let (late, lasts) = (number * 300_000, 20_000 + sequence % 2 * 5_000);
        let time = sequence * 10_000_000 + late;
        let arrival = Arrival { time, length: 300_000 - late + lasts, bytes, clock: [50; 2], ..Arrival::default() };
        Collective { function, sequence, order: sequence as u32, arrival }
    };
    let of_rank = |number: u64| {
        let reduces = (0..10).map(|at| collective(reduce(), at, number, 1_000_000 + at % 2 * 500_000));
        // without known bytes, with other bytes on the other rank, and of a function without a bus bandwidth
        let others = [collective(reduce(), 10, number, 0), collective(reduce(), 11, number, 4096 + number)];
        let foreign = collective(NcclName::of(Some(c"Permute")), 0, number, 4096);
        RankArrivals::new(
            CommunicatorRank { comm: 5, rank: number as i32 },
            reduces.chain(others).chain([foreign]).collect(),
        )
    };
    let rows = |nranks| {
        let communicator =
            SummaryCommunicator { comm: hexadecimal(5), nranks, nnodes: 1, name: String::new(), ranks: vec![] };
        lateness(vec![process(vec![of_rank(0), of_rank(1)])], &one_clock(1), 1.0, &[communicator]).1
    };
    let told: Vec<_> = rows(2).iter().map(|row| (row.from_bytes, row.operations, row.bytes, row.least_us)).collect();
    assert_eq!(told, [(1 << 19, 5, 5_000_000, 100.0), (1 << 20, 5, 7_500_000, 125.0)]);
    // n = 2: as many bytes on the bus as in the buffer
    assert_eq!(rows(2).iter().map(|row| row.busbw_gb_s).collect::<Vec<_>>(), [Some(50.0), Some(60.0)]);
    assert_eq!((rows(3), rows(0)), (vec![], vec![]), "the third rank may have waited for nobody");
}
