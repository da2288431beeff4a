//! What the operations themselves say of the clocks: no rank ends a collective before all have begun it, unless it is
//! the root of a broadcast or a reduction. Long operations must not look like drift.

use super::*;

/// Returns arrivals of ranks 0 and 1. Both clocks are uncertain by 50 us, and the second rank's times are 30 us too
/// early. An operation ends for both ranks 10 us after the last one began it.
fn causal(late: impl Fn(u64) -> u64, by_events: bool) -> Vec<Arrivals> {
    let collective = |at: u64, number: u64| {
        let (begin, end) = (at * 1_000_000 + number * late(at), at * 1_000_000 + late(at) + 10_000);
        let shown = begin + 1_000_000 - 30_000 * number;
        let arrival = Arrival { time: shown, length: end - begin, clock: [50_000; 2], by_events, ..Arrival::default() };
        Collective { function: reduce(), sequence: at, order: at as u32, arrival }
    };
    let of = |number| {
        RankArrivals::new(
            CommunicatorRank { comm: 1, rank: number as i32 },
            (0..200).map(|at| collective(at, number)).collect(),
        )
    };
    vec![process(vec![of(0)]), process(vec![of(1)])]
}

#[test]
fn nobody_ends_an_all_reduce_before_all_have_begun_it() {
    let late = |at: u64| if at % 4 == 3 { 25_000 } else { 0 };
    let mut told = 0;
    matched(causal(late, false), &one_clock(2), 1.0, |operation| {
        let late = late(operation.operation.1) as f64;
        let [first, second] = operation.ranks[..] else { unreachable!("two ranks") };
        // 10 us either way if both begin at once, and the drift of clocks over some milliseconds
        assert!((second.late - late).abs() <= second.error && second.error <= 20_500.0, "{second:?}");
        assert!((second.late - late).abs() <= 10_500.0 && first.late <= first.error, "{second:?}");
        assert_eq!(operation.last, (late > 0.0).then_some(1));
        told += u64::from(late > 0.0);
    });
    assert_eq!(told, 50);
}

/// Returns arrivals of two ranks on one clock. They begin all-reduces together, one a millisecond for `seconds`.
/// Durations grow as in a sweep of sizes, from `first` to `last` microseconds. Each begin is known to 40 us.
fn growing(seconds: u64, [first, last]: [f64; 2]) -> Vec<Arrivals> {
    let count = seconds * 1000;
    let collective = |at: u64| {
        let length = (1e3 * (first + (last - first) * at as f64 / count as f64)) as u64;
        let arrival = Arrival { time: 1_000_000 * (at + 1), length, clock: [40_000; 2], ..Arrival::default() };
        Collective { function: reduce(), sequence: at, order: at as u32, arrival }
    };
    let of = |number| {
        process(vec![RankArrivals::new(
            CommunicatorRank { comm: 1, rank: number },
            (0..count).map(collective).collect(),
        )])
    };
    vec![of(0), of(1)]
}

#[test]
fn operations_that_last_ever_longer_are_no_drift() {
    for (seconds, lengths) in [(10, [20.0, 120.0]), (10, [120.0, 20.0]), (10, [20.0, 220.0]), (200, [20.0, 800.0])] {
        matched(growing(seconds, lengths), &one_clock(2), 1.0, |operation| {
            assert!(operation.ranks.iter().all(|rank| rank.late <= rank.error), "{lengths:?}: {operation:?}");
            assert_eq!(operation.last, None, "{lengths:?}: {operation:?}");
        });
    }
}

#[test]
fn a_kernel_that_events_time_begins_before_its_end() {
    matched(causal(|_| 0, true), &one_clock(2), 1.0, |operation| {
        let [_, second] = operation.ranks[..] else { unreachable!("two ranks") };
        // 10 us more than with stamps
        assert!(second.late <= second.error && (14_500.0..=40_500.0).contains(&second.error), "{second:?}");
    });
}

/// The root of a broadcast is done once its data is on its way: it may end before another rank has begun.
#[test]
fn the_root_of_a_broadcast_may_end_before_the_others_have_begun() {
    for function in [c"Broadcast", c"Reduce"] {
        let of = |number: u64| {
            let collective = |at: u64| {
                // the other rank begins 60 us after the root, which takes 20 us
                let time = (at + 1) * 1_000_000 + 60_000 * number;
                let arrival = Arrival { time, length: 20_000, clock: [50_000; 2], ..Arrival::default() };
                Collective { function: NcclName::of(Some(function)), sequence: at, order: at as u32, arrival }
            };
            process(vec![RankArrivals::new(
                CommunicatorRank { comm: 1, rank: number as i32 },
                (0..100).map(collective).collect(),
            )])
        };
        matched(vec![of(0), of(1)], &one_clock(2), 1.0, |operation| {
            let second = operation.ranks[1];
            assert_eq!((second.late, operation.last), (60_000.0, Some(1)), "{operation:?}");
        });
    }
}

/// Both ranks begin every operation at once, on one clock. Events leave one rank's begin of an all-reduce open by 20
/// us, and the true begin lies 18 us before the likely one; the other rank has ended by then. Begins of broadcasts,
/// which bound no clocks, are known to 2 us.
#[test]
fn clocks_are_bounded_by_where_a_begin_may_lie() {
    let of = |first: bool, number: i32| {
        let collective = |at: u64| {
            let begin = (at + 1) * 1_000_000;
            let (function, time, length, ahead) = match (at % 2, first) {
                (0, true) => (reduce(), begin + 18_000, 7_000, 20_000),
                (0, false) => (reduce(), begin, 5_000, 0),
                _ => (NcclName::of(Some(c"Broadcast")), begin, 2_000, 0),
            };
            let arrival = Arrival { time, length, clock: [50_000; 2], ahead, by_events: true, ..Arrival::default() };
            Collective { function, sequence: at, order: at as u32, arrival }
        };
        process(vec![RankArrivals::new(CommunicatorRank { comm: 1, rank: number }, (0..100).map(collective).collect())])
    };
    for first in [true, false] {
        matched(vec![of(first, 0), of(!first, 1)], &one_clock(2), 1.0, |operation| {
            assert!(operation.ranks.iter().all(|rank| rank.late <= rank.error), "{operation:?}");
        });
    }
}
