use super::*;
use crate::event::name::NcclName;
use crate::figures::arrivals::{Arrival, Collective, KnownTime, RankArrivals};
use crate::sums::run_sums::CommunicatorRank;
use std::ffi::CStr;

/// Returns what a process' clock shows when the first one shows `time`. By the time of day, the other clocks are 5
/// ms behind; the third one drifts.
fn shown(process: usize, time: u64) -> u64 {
    const OFFSETS: [u64; 3] = [0, 3_600_000_000_000, 7_200_000_000_000];
    time + OFFSETS[process] + 5_000_000 * u64::from(process > 0) + if process == 2 { time / 50_000 } else { 0 }
}

fn told() -> Vec<Option<ParentLink>> {
    let link = |own| Some(ParentLink { parent: 0, begin: None, end: ClockOffset { own, parents: 0, error: 1 << 40 } });
    vec![link(0), link(3_600_000_000_000), link(7_200_000_000_000)]
}

/// Returns an operation from 10 us to 60 us after `time`, known to 2 us.
fn operation(process: usize, function: &CStr, sequence: u64, order: u32, time: u64) -> Collective {
    let function = NcclName::of(Some(function));
    let arrival = Arrival {
        known: KnownTime::Begin,
        time: shown(process, time + 10_000),
        length: 50_000,
        clock: [2_000; 2],
        ..Arrival::default()
    };
    Collective { function, sequence, order, arrival }
}

fn arrivals(ranks: Vec<(u64, i32, Vec<Collective>)>) -> Arrivals {
    let ranks = ranks
        .into_iter()
        .map(|(comm, rank, of_rank)| RankArrivals::new(CommunicatorRank { comm, rank }, of_rank))
        .collect();
    Arrivals { ranks, ..Arrivals::default() }
}

fn each<T>(operation: impl Fn(u64, u64) -> T) -> Vec<T> {
    (0..200).map(|number| operation(number, 1_000_000_000 + number * 10_000_000)).collect()
}

/// Returns the clocks' errors and their stated uncertainties.
fn off(tree: &ClockTree) -> [Option<(u64, u64)>; 2] {
    [1, 2].map(|process| {
        let looks = [500_000_000, 2_000_000_000, 3_500_000_000].map(|time| {
            let (ticks, error) = tree.to_root(process, shown(process as usize, time))?;
            Some((ticks.abs_diff(time), error))
        });
        let looks: Vec<(u64, u64)> = looks.into_iter().collect::<Option<_>>()?;
        assert!(looks.iter().all(|(off, error)| off <= error), "{process}: {looks:?}");
        looks.into_iter().max()
    })
}

fn spans() -> Vec<[u64; 2]> {
    (0..3).map(|process| [500_000_000, 3_500_000_000].map(|time| shown(process, time))).collect()
}

#[test]
fn collectives_bound_clocks_along_the_way() {
    let of = |process: usize| each(|number, time| operation(process, c"AllReduce", number, number as u32, time));
    let all = vec![
        arrivals(vec![(7, 0, of(0))]),
        arrivals(vec![(7, 1, of(1)), (8, 0, of(1))]),
        arrivals(vec![(8, 1, of(2))]),
    ];
    let tree = aligned(all, &told(), &spans(), 1.0);
    assert_eq!(tree.way(2), Some(vec![2, 1]));
    let [Some((_, second)), Some((_, third))] = off(&tree) else { panic!("{tree:?}") };
    assert!(second < 150_000 && third < 300_000, "{second} {third}");
}

#[test]
fn sends_both_ways_bound_clocks_and_one_way_does_not() {
    let sends = |process: usize, peer: u64, both: bool| {
        each(|number, time| {
            let is_sent = (process == 0) == (!both || number % 2 == 0);
            operation(process, if is_sent { c"Send" } else { c"Recv" }, peer, number as u32, time)
        })
    };
    let of = |both| {
        vec![arrivals(vec![(7, 0, sends(0, 1, both))]), arrivals(vec![(7, 1, sends(1, 0, both))]), arrivals(vec![])]
    };
    let [Some((_, second)), None] = off(&aligned(of(true), &told(), &spans(), 1.0)) else { panic!() };
    assert!(second < 150_000, "{second}");
    assert_eq!(off(&aligned(of(false), &told(), &spans(), 1.0)), [None, None]);
}

#[test]
fn bounds_that_contradict_each_other_are_not_believed() {
    let of = |process: usize| {
        each(|number, time| {
            operation(process, c"AllReduce", number, number as u32, time + (number % 2) * 900_000 * process as u64)
        })
    };
    let all = vec![arrivals(vec![(7, 0, of(0))]), arrivals(vec![(7, 1, of(1))]), arrivals(vec![])];
    assert_eq!(aligned(all, &told(), &spans(), 1.0).way(1), None);
}

/// Two processes reduce megabytes, which takes 1 ms, every 10 ms. The second one is late by `late`, and its clock gains
/// `gain` per tick. The ends are common to 5 us.
fn reduced(late: impl Fn(u64) -> u64, gain: f64) -> Vec<Arrivals> {
    let shown =
        |process: u64, time: u64| process * 3_600_000_000_000 + time + (process as f64 * gain * time as f64) as u64;
    let operation = |process: u64, number: u64, time: u64| {
        let (begin, end) =
            (time + process * late(number), time + late(number) + 1_000_000 + (number * 7 + process * 3) % 11 * 500);
        let [begin, end] = [begin, end].map(|time| shown(process, time));
        let arrival = Arrival { known: KnownTime::Begin, time: begin, length: end - begin, ..Arrival::default() };
        Collective { function: NcclName::of(Some(c"AllReduce")), sequence: number, order: number as u32, arrival }
    };
    let of = |process: u64| each(|number, time| operation(process, number, time));
    vec![arrivals(vec![(7, 0, of(0))]), arrivals(vec![(7, 1, of(1))])]
}

#[test]
fn a_rank_that_is_always_late_does_not_move_the_estimate() {
    for (gain, within) in [(0.0, 10_000), (30e-6, 10_000), (-90e-6, 10_000)] {
        // always, and in turns
        for late in [(|_| 3_000_000) as fn(u64) -> u64, |number| number % 3 * 1_000_000] {
            let tree = aligned(reduced(late, gain), &told()[..2], &[], 1.0);
            for time in (0..20).map(|part| 1_000_000_000 + part * 100_000_000) {
                let own = 3_600_000_000_000 + time + (gain * time as f64) as u64;
                let (ticks, uncertainty) = tree.to_root_beside(1, own, &[]).unwrap();
                assert!(ticks.abs_diff(time) <= within, "{gain}: {} off", ticks.abs_diff(time));
                // the estimate is closer than what is certain
                assert!(
                    ticks.abs_diff(time) as f64 <= uncertainty.likely && uncertainty.likely < 20_000.0,
                    "{uncertainty:?}"
                );
                assert!(uncertainty.error() > 500_000.0, "{uncertainty:?}");
                let [earlier, later] = uncertainty.certain;
                let off = time as f64 - ticks as f64;
                assert!(-earlier <= off && off <= later, "{off}: {uncertainty:?}");
            }
        }
    }
}

/// Receives end 20 us after their sends, which takes a part of the transfer's 400 us. Without messages the other way,
/// nothing bounds the clocks from the other side.
#[test]
fn messages_both_ways_end_apart_by_as_much() {
    let end = |process: usize, number: u64, time: u64| {
        let is_sent = (process == 0) == number.is_multiple_of(2);
        let function = if is_sent { c"Send" } else { c"Recv" };
        // the sender of every other message comes 2 ms late, so the receive waits
        let late = if number.is_multiple_of(2) && !is_sent { 0 } else { 2_000_000 };
        let (begin, end) = (time + late, time + 2_400_000 + if is_sent { 0 } else { 20_000 });
        let arrival = Arrival {
            known: KnownTime::Begin,
            time: shown(process, begin),
            length: shown(process, end) - shown(process, begin),
            ..Arrival::default()
        };
        let peer = 1 - process as u64;
        Collective { function: NcclName::of(Some(function)), sequence: peer, order: number as u32, arrival }
    };
    let of = |process: usize| each(|number, time| end(process, number, time));
    let tree = aligned(vec![arrivals(vec![(7, 0, of(0))]), arrivals(vec![(7, 1, of(1))])], &told()[..2], &[], 1.0);
    for time in [1_000_000_000, 2_000_000_000, 2_900_000_000] {
        let (ticks, uncertainty) = tree.to_root_beside(1, shown(1, time), &[]).unwrap();
        let off = ticks.abs_diff(time);
        assert!(off <= 2_000 && uncertainty.likely < 30_000.0, "{off} {uncertainty:?}");
        assert!(uncertainty.error() > 150_000.0, "{uncertainty:?}");
    }
}
