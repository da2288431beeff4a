//! Tests of the store. The wanted series belong to the whole process, so each test has numbers of its own.

use super::*;
use crate::figures::metric::series;

fn token(name: &str, of: Of) -> SeriesName {
    SeriesName { series: series(name).unwrap(), of }
}

fn sent(bytes: u64) -> WindowTotals {
    WindowTotals { bytes, active: 1000, latency_us: Some(2.0), ..WindowTotals::default() }
}

fn times_and_values(points: Vec<Point>) -> Vec<(u64, f64)> {
    points.into_iter().map(|point| (point.time, point.value)).collect()
}

/// Makes communicators up to `number`. Returns where the last one's windows go.
fn communicators_up_to(store: &mut SeriesStore, number: u32) -> Option<SeriesTarget> {
    (store.made..=number).map(|_| store.open(2)).last().flatten()
}

#[test]
fn each_communicator_and_peer_has_a_series_of_its_own_with_points_at_the_ends_of_windows() {
    let mut store = SeriesStore::default();
    [Of::Communicator(10), Of::Communicator(11), Of::Peer(11, 3)].into_iter().for_each(want);
    let first = communicators_up_to(&mut store, 10).unwrap();
    assert_eq!(store.open(1), None, "of a single rank");
    let second = store.open(4).unwrap();
    assert_eq!([first, second], [SeriesTarget::Own(10), SeriesTarget::Own(11)]);
    for (place, opened) in [(first, 100), (second, 100), (first, 500), (second, 900)] {
        store.window(place, opened);
    }
    // sums of the second window arrive before those of the first
    store.add(first, 500, None, &sent(9000));
    store.add(first, 100, None, &sent(5000));
    store.add(second, 100, None, &sent(7000));
    store.add(second, 100, Some(3), &sent(4000));
    store.add(second, 100, Some(5), &sent(3000));
    // collectives settle one by one; each counts in the window in which it was enqueued
    for (time, nanoseconds) in [(499, 1000), (500, 3000), (100, 2000)] {
        store.add(
            first,
            time,
            None,
            &WindowTotals { collectives: 1, timed: 1, nanoseconds, ..WindowTotals::default() },
        );
    }
    store.end(first, 700);
    let points = |name, of| times_and_values(store.points(token(name, of), 1.0));
    let [rate, time] = ["nccl_window_transfer_rate", "nccl_window_collective_time"];
    assert_eq!(points(rate, Of::Communicator(10)), [(500, 5e9), (700, 9e9)]);
    assert_eq!(points(time, Of::Communicator(10)), [(500, 1500.0), (700, 3000.0)]);
    assert_eq!(points("nccl_window_transfer_latency", Of::Communicator(10)), [(500, 2000.0), (700, 2000.0)]);
    assert_eq!(points(rate, Of::Communicator(11)), [(900, 7e9)]);
    assert_eq!([points(rate, Of::Peer(11, 3)), points(rate, Of::Peer(11, 5))], [vec![(900, 4e9)], vec![]]);
    assert_eq!(points("nccl_window_effective_busbw", Of::Communicator(11)), []);
}

#[test]
fn communicators_without_a_series_are_summed_up_by_stretches_of_time() {
    let mut store = SeriesStore::default();
    want(Of::Other);
    store.set_stretch(1000);
    store.set_stretch(7);
    let places = [communicators_up_to(&mut store, 20).unwrap(), store.open(0).unwrap()];
    assert_eq!(places, [SeriesTarget::Other; 2]);
    for (place, opened, bytes) in [(places[0], 1100, 3000), (places[1], 1900, 5000), (places[0], 2000, 6000)] {
        store.window(place, opened);
        store.add(place, opened, None, &sent(bytes));
        store.add(place, opened, Some(1), &sent(bytes));
    }
    let points = |name| times_and_values(store.points(token(name, Of::Other), 1.0));
    assert_eq!(points("nccl_window_transfer_rate"), [(2000, 4e9), (3000, 6e9)]);
    assert_eq!(points("nccl_window_transfer_latency"), []);
}

#[test]
fn a_communicator_with_a_series_is_called_as_its_lane() {
    let mut store = SeriesStore::default();
    want(Of::Communicator(30));
    let place = communicators_up_to(&mut store, 30).unwrap();
    assert!(store.names().is_empty() && store.name_of(Of::Communicator(30)).is_none());
    store.name(place, CommunicatorRank { comm: 0x1a2b, rank: 3 });
    assert_eq!(store.name_of(Of::Peer(30, 1)).as_deref(), Some("NCCL 0000000000001a2b rank 3"));
    assert_eq!(
        store.names().into_iter().collect::<Vec<_>>(),
        [("#30".to_owned(), "NCCL 0000000000001a2b rank 3".to_owned())]
    );
}

#[test]
fn memory_is_bounded() {
    let mut store = SeriesStore::default();
    want(Of::Communicator(40));
    let place = communicators_up_to(&mut store, 40).unwrap();
    for time in 0..MOST_ENTRIES as u64 {
        store.window(place, time);
        store.add(place, time, None, &sent(1));
    }
    // half of the entries are windows, half are openings, and one more opening ends the last window that is kept
    assert_eq!((store.count, store.left_out()), (MOST_ENTRIES + 1, MOST_ENTRIES as u64 / 2));
    let points = store.points(token("nccl_window_transfer_rate", Of::Communicator(40)), 1.0);
    assert_eq!(
        (points.len(), points.last().map(|point| point.time)),
        (MOST_ENTRIES / 2, Some(MOST_ENTRIES as u64 / 2))
    );
}
