use super::*;
use fastrand::Rng;

fn meeting(own: u64, parents: u64, error: u64) -> ClockOffset {
    ClockOffset { own, parents, error }
}

fn link(parent: u32, begin: ClockOffset, end: ClockOffset) -> Option<ParentLink> {
    Some(ParentLink { parent, begin: Some(begin), end })
}

/// Returns a link of two processes that read one clock.
fn shared(parent: u32) -> Option<ParentLink> {
    Some(ParentLink { parent, begin: None, end: meeting(77, 77, 0) })
}

#[test]
fn the_root_and_who_shares_its_clock_have_its_ticks() {
    let tree = ClockTree::new(&[shared(0), shared(0), shared(1)]);
    for process in 0..3 {
        for ticks in [0, 5, 1 << 62, u64::MAX] {
            assert_eq!(tree.to_root(process, ticks), Some((ticks, 0)));
        }
    }
    assert_eq!(tree.to_root(3, 5), None);
    // process 0 is the root, whatever its link says
    let tree = ClockTree::new(&[None, shared(0)]);
    assert_eq!((tree.to_root(0, 5), tree.to_root(1, 6)), (Some((5, 0)), Some((6, 0))));
    assert_eq!(ClockTree::new(&[]).to_root(0, 5), None);
}

#[test]
fn between_two_meetings_ticks_are_interpolated_and_errors_are_the_larger() {
    // 1000 own ticks are 2500 of the parent's
    let tree = ClockTree::new(&[None, link(0, meeting(1000, 50_000, 30), meeting(2000, 52_500, 10))]);
    for (own, roots) in [(1000, (50_000, 30)), (1500, (51_250, 31)), (2000, (52_500, 30))] {
        assert_eq!(tree.to_root(1, own), Some(roots));
    }
    // outside, both errors grow with the distance; a change of drift adds a fraction of a tick
    assert_eq!(tree.to_root(1, 3000), Some((55_000, 2 * 10 + 30 + 1)));
    assert_eq!(tree.to_root(1, 0), Some((47_500, 2 * 30 + 10 + 1)));
}

#[test]
fn errors_add_up_along_the_path_in_ticks_of_the_root() {
    let tree = ClockTree::new(&[
        None,
        link(0, meeting(0, 0, 4), meeting(1000, 3000, 5)),
        link(1, meeting(0, 500, 7), meeting(1000, 1500, 2)),
        shared(2),
    ]);
    assert_eq!(tree.to_root(1, 500), Some((1500, 6)));
    // 7 ticks of process 1 are 21 of the root
    for process in [2, 3] {
        assert_eq!(tree.to_root(process, 100), Some((1800, 27)));
    }
}

#[test]
fn what_two_ways_have_in_common_leaves_their_difference_certain() {
    let compared = |parent, error| link(parent, meeting(0, 100, error), meeting(1000, 1100, error));
    let tree =
        ClockTree::new(&[None, compared(0, 5), compared(1, 7), compared(1, 11), shared(2), compared(0, 2), None]);
    let ways = [0, 1, 2, 3, 4, 5].map(|process| tree.way(process));
    assert_eq!(ways, [vec![], vec![1], vec![2, 1], vec![3, 1], vec![2, 1], vec![5]].map(Some));
    assert_eq!((tree.way(6), tree.way(9)), (None, None));
    let own = |process, in_common: &[u32]| tree.to_root_beside(process, 500, in_common).unwrap().1.error().round();
    assert_eq!([own(2, &[1]), own(3, &[1]), own(4, &[1]), own(4, &[2, 1])], [7.0, 11.0, 7.0, 0.0]);
    assert_eq!([own(0, &[]), own(1, &[]), own(2, &[]), own(5, &[])], [0.0, 5.0, 12.0, 2.0]);
}

/// Nanoseconds of an hour.
const HOUR: u64 = 3_600_000_000_000;

#[test]
fn drift_that_changes_between_two_comparisons_is_granted() {
    // 0.5 ppm slower at the begin, 0.5 ppm faster at the end: 450 us apart from a straight line in the middle
    let own = |time: u64| {
        let part = time as f64 / HOUR as f64;
        (time as f64 - 0.5e-6 * HOUR as f64 * part * (1.0 - part)).round() as u64
    };
    let met = |time| meeting(own(time), time, 5);
    let tree = ClockTree::new(&[None, link(0, met(0), met(HOUR))]);
    for time in (0..=10).map(|tenth| HOUR / 10 * tenth) {
        let (ticks, error) = tree.to_root(1, own(time)).unwrap();
        assert!(ticks.abs_diff(time) <= error, "{time}: {ticks} {error}");
    }
    let (ticks, error) = tree.to_root(1, own(HOUR / 2)).unwrap();
    assert!(ticks.abs_diff(HOUR / 2) > 440_000 && error < 2_000_000, "{ticks} {error}");
    // nothing is added at a comparison
    assert!([0, HOUR].iter().all(|&time| tree.to_root(1, own(time)).unwrap().1 <= 6));
}

#[test]
fn nodes_are_those_with_a_clock_of_their_own() {
    assert_eq!(ClockTree::new(&[None, shared(0), shared(0)]).clocks(1.0), None);
    let tree = ClockTree::new(&[
        None,
        shared(0),
        link(0, meeting(0, 100, 2000), meeting(1000, 2100, 500)),
        link(2, meeting(0, 100, 500), meeting(1000, 1100, 1500)),
        shared(3),
        link(6, meeting(0, 0, 90_000), meeting(1, 1, 90_000)),
        None,
    ]);
    // 1500 ticks of process 2 are 3000 of the root
    assert_eq!(tree.clocks(0.5), Some(ClockComparison { nodes: 3, error_us: 1.5 }));
}

#[test]
fn one_meeting_alone_leaves_drift_open() {
    let tree =
        ClockTree::new(&[None, Some(ParentLink { parent: 0, begin: None, end: meeting(1_000_000, 9_000_000, 20) })]);
    assert_eq!(tree.to_root(1, 1_000_000), Some((9_000_000, 20)));
    assert_eq!(tree.to_root(1, 900_000), Some((8_900_000, 30)));
    // a begin at the end or after it counts as none
    for begin in [meeting(1_000_000, 8_000_000, 25), meeting(500_000, 9_000_000, 25), meeting(2_000_000, 9_500_000, 25)]
    {
        let tree = ClockTree::new(&[None, link(0, begin, meeting(1_000_000, 9_000_000, 20))]);
        assert_eq!(tree.to_root(1, 900_000), Some((8_900_000, 35)));
    }
}

#[test]
fn circles_and_what_hangs_nowhere_are_not_connected() {
    let tree = ClockTree::new(&[
        shared(0),
        shared(2),
        shared(3),
        shared(1),
        shared(4),
        None,
        shared(5),
        shared(99),
        shared(1),
        shared(0),
    ]);
    for process in 1..9 {
        assert_eq!(tree.to_root(process, 5), None, "{process}");
    }
    assert_eq!(tree.to_root(9, 5), Some((5, 0)));
}

#[test]
fn any_numbers_are_survived() {
    let mut random = Rng::with_seed(2);
    for _ in 0..500 {
        let mut any = || if random.bool() { random.u64(..) } else { u64::MAX - random.u64(..3) };
        let mut links = vec![None];
        for parent in 0..20 {
            let [begin, end] = [(); 2].map(|()| meeting(any(), any(), any()));
            links.push(link(parent, begin, end));
        }
        let tree = ClockTree::new(&links);
        let ticks: Vec<u64> =
            [0, any(), u64::MAX].into_iter().map(|ticks| tree.to_root(20, ticks).unwrap().0).collect();
        assert!(ticks.is_sorted(), "{ticks:?}");
        assert!(tree.to_root_beside(20, any(), &[]).unwrap().1.error() >= 0.0);
    }
}

#[test]
fn the_shortest_round_counts() {
    let rounds = [(100, 5000, 200), (300, 5160, 321), (400, 5300, 399), (500, 5400, 530)];
    assert_eq!(ClockOffset::measured_by_parent(rounds), Some(meeting(5160, 310, 11)));
    assert_eq!(ClockOffset::measured_by_parent([(400, 5300, 399)]), None);
    assert_eq!(ClockOffset::measured_by_parent([]), None);
    assert_eq!(ClockOffset::measured_by_parent([(0, 1, u64::MAX)]), Some(meeting(1, u64::MAX / 2, u64::MAX / 2 + 1)));
}

/// Two clocks 3 ms apart, one 30 ppm faster, and messages that take 2 to 40 us, differently each way: the result is
/// right within its stated error.
#[test]
fn the_error_holds_what_messages_leave_open() {
    let mut random = Rng::with_seed(4);
    let childs = |time: f64| (time * (1.0 + 30e-6) + 3e6) as u64;
    let mut meet = |from: f64| {
        let mut time = from;
        let rounds: Vec<_> = (0..50)
            .map(|_| {
                let mut way = || 2e3 + random.f64() * 38e3;
                let (sent, read) = (time, time + way());
                time = read + way();
                (sent as u64, childs(read), time as u64)
            })
            .collect();
        ClockOffset::measured_by_parent(rounds)
    };
    let (begin, end) = (meet(1e9).unwrap(), meet(61e9).unwrap());
    let tree = ClockTree::new(&[None, link(0, begin, end)]);
    for time in (0..80).map(|second| f64::from(second) * 1e9) {
        let (ticks, error) = tree.to_root(1, childs(time)).unwrap();
        // what messages leave open, and 1 ppm of the time to the nearest comparison
        assert!(ticks.abs_diff(time as u64) <= error && error < 20_000 + 30_000, "{time}: {ticks} {error}");
    }
}

#[test]
fn a_binomial_tree_reaches_everyone_once_in_few_steps() {
    for count in (1..70).chain([1000, 1024, 4097]) {
        let mut reached = vec![0_u32; count];
        for place in 0..count {
            let (parent, children) = binomial(place, count);
            assert_eq!(parent.is_none(), place == 0);
            for &child in &children {
                reached[child] += 1;
                assert_eq!(binomial(child, count).0, Some(place));
            }
            let steps = std::iter::successors(Some(place), |&place| binomial(place, count).0).count() - 1;
            assert!(steps <= count.next_power_of_two().ilog2() as usize);
        }
        assert!(reached[0] == 0 && reached[1..].iter().all(|&times| times == 1), "{count}");
    }
    assert_eq!((binomial(0, 0), binomial(6, 8), binomial(9, 8)), ((None, vec![]), (Some(4), vec![7]), (None, vec![])));
}

#[test]
fn an_estimate_stays_within_what_is_certain() {
    // the link leaves 100 ticks open, the estimate says 60 more, and later 300 more
    let estimate = |moments: &[(u64, u64)], likely| {
        Estimate::new(moments.iter().map(|&(own, parents)| MomentOnBoth { own, parents }).collect(), likely)
            .map(Arc::new)
    };
    let certain = ParentLink { parent: 0, begin: Some(meeting(0, 1000, 100)), end: meeting(4_000_000, 4_001_000, 100) };
    let known = estimate(&[(0, 1060), (2_000_000, 2_001_060), (4_000_000, 4_001_300)], 7.0);
    let tree = |parent, known| {
        let link = ParentLink { parent, ..certain };
        ClockTree::estimated(vec![None, Some(Estimated { link, estimate: known })])
    };
    let at = |own| tree(0, known.clone()).to_root_beside(1, own, &[]).unwrap();
    assert_eq!(at(0), (1060, Uncertainty { certain: [160.0, 40.0], likely: 7.0 }));
    let (ticks, uncertainty) = at(4_000_000);
    // 200 beside the bounds, so it is off by that at least
    assert_eq!((ticks, uncertainty), (4_001_100, Uncertainty { certain: [200.0, 0.0], likely: 200.0 }));
    assert_eq!(tree(0, known.clone()).to_root(1, 0), Some((1060, 160)));
    // seen from the other side
    let turned = Estimated { link: certain, estimate: known }.reversed(0);
    let turned = ClockTree::estimated(vec![None, Some(turned)]);
    assert_eq!(turned.to_root_beside(1, 1060, &[]).unwrap().0, 0);
    // moments that no two clocks show
    assert!(estimate(&[(0, 0), (1000, 1010)], 1.0).is_none() && estimate(&[(5, 0), (5, 1)], 1.0).is_none());
    assert!(estimate(&[], 1.0).is_none());
}
