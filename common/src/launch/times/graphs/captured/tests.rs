//! Which replay times belong to, and that they are never another one's.

use super::*;
use crate::launch::{LaunchSource, Recorded, Starts};

/// By how much the events' clock is ahead of the host's, nanoseconds. A tick is a nanosecond.
const AHEAD: u64 = 70_000_000;

fn captured() -> Captured {
    let recorded = Recorded { first: 0, begin: None, last: 0, learnt: 0, at: 0, anchor: None };
    let launch = Box::new(Launch { starts: Starts::InGraph, ..Launch::new(LaunchSource::Recording(recorded)) });
    let (readings, replays) = (VecDeque::new(), VecDeque::new());
    let events = [CudaEvent::of_tests(1), CudaEvent::of_tests(2)];
    Captured { launch, clock: (0, 0), events, last: None, read: 0, readings, replays, reported: 0 }
}

/// Replays reported at these times.
fn reported(captured: &mut Captured, times: &[u64]) {
    captured.replays.extend(times.iter().map(|&reported| Replay { call: 5, first: reported, reported, number: 0 }));
}

/// Bounds that leave the clocks' relation open by so many nanoseconds either way.
fn known_to(slack: u64) -> Bounds {
    let mut bounds = Bounds::default();
    bounds.happened_after(1_000_000, 1_000_000 + AHEAD + slack, 1.0);
    bounds.happened_before(1_000_000, 1_000_000 + AHEAD - slack, 1.0);
    bounds
}

/// A reading of these times of the host's clock, with the time before the last reading that had other times.
fn reading(from: u64, until: u64, since: u64, times: Option<(u64, u64)>) -> GraphReading {
    let times = times.map(|(first, last)| (first + AHEAD, last + AHEAD));
    GraphReading { from, until, since, times, hopeless_before: 0 }
}

/// Takes in a reading. Returns the replays of which something was decided, each with whether it has the time.
fn take(captured: &mut Captured, bounds: &mut Bounds, reading: GraphReading) -> Vec<(u64, bool)> {
    let mut decided = Vec::new();
    captured.take(reading, bounds, 1.0, &mut |replay, time| decided.push((replay.reported, time.is_some())));
    decided
}

#[test]
fn times_are_those_of_the_replay_that_was_reported_before_them() {
    let mut captured = captured();
    reported(&mut captured, &[1_000_000, 2_000_000, 3_000_000]);
    let mut bounds = known_to(50_000);
    let times = (2_100_000, 2_200_000);
    assert_eq!(
        take(&mut captured, &mut bounds, reading(3_010_000, 3_020_000, 0, Some(times))),
        [(1_000_000, false), (2_000_000, true)]
    );
    // the same again, and nothing known of the third
    assert_eq!(take(&mut captured, &mut bounds, reading(3_500_000, 3_510_000, 3_010_000, None)), []);
    assert_eq!(
        take(&mut captured, &mut bounds, reading(4_000_000, 4_010_000, 3_500_000, Some((3_600_000, 3_700_000)))),
        [(3_000_000, true)]
    );
}

#[test]
fn times_that_may_be_of_either_of_two_replays_are_nobodys() {
    let close = (2_020_000, 2_040_000);
    for (slack, decided) in [(5_000, true), (50_000, false)] {
        let mut captured = captured();
        reported(&mut captured, &[1_000_000, 2_000_000]);
        assert_eq!(
            take(&mut captured, &mut known_to(slack), reading(2_100_000, 2_110_000, 0, Some(close))),
            [(1_000_000, false), (2_000_000, decided)]
        );
    }
    // unless the events were read with other times after the report
    let mut captured = captured();
    reported(&mut captured, &[1_000_000, 2_000_000]);
    let later = reading(2_100_000, 2_110_000, 2_005_000, Some(close));
    assert_eq!(take(&mut captured, &mut Bounds::default(), later), [(1_000_000, false), (2_000_000, true)]);
}

#[test]
fn a_replay_that_another_one_followed_before_a_reading_without_its_times_has_none() {
    let mut captured = captured();
    reported(&mut captured, &[1_000_000, 2_000_000, 3_000_000]);
    let mut bounds = known_to(1_000);
    assert_eq!(take(&mut captured, &mut bounds, reading(1_900_000, 2_500_000, 0, None)), []);
    assert_eq!(take(&mut captured, &mut bounds, reading(2_900_000, 3_500_000, 0, None)), [(1_000_000, false)]);
    // one that was reported while an event to measure from was looked for is read once more
    let hopeless = GraphReading { hopeless_before: 2_000_000, ..reading(2_950_000, 2_960_000, 0, None) };
    assert_eq!(take(&mut captured, &mut bounds, hopeless), []);
    let hopeless = GraphReading { hopeless_before: 2_000_001, ..hopeless };
    assert_eq!(take(&mut captured, &mut bounds, hopeless), [(2_000_000, false)]);
    assert_eq!(captured.replays.len(), 1);
}

/// Replays of all paces, read at any time, on clocks that drift and whose relation is known to any error: no replay
/// has another one's times, and where the clocks are known well, most of what can be read is used.
#[test]
fn no_replay_has_the_times_of_another() {
    let mut state = 1_u64;
    let mut random = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most.max(1)
    };
    for (run, slack) in (0..600).zip([0, 2_000, 20_000, 200_000].into_iter().cycle()) {
        let mut captured = captured();
        let mut bounds = known_to(slack);
        let pace = [30_000, 300_000, 3_000_000][run % 3];
        // 20 ppm too fast or too slow, and right when the bounds were known
        let drift = |time: u64| {
            let off = time.saturating_sub(1_000_000) / 50_000;
            if run % 2 == 0 { time + off } else { time - off }
        };
        // report, first event, last event of each replay
        let (mut now, mut replays) = (2_000_000, Vec::new());
        for _ in 0..200 {
            let first = now + 3_000 + random(pace / 2);
            let last = first + 5_000 + random(pace / 2);
            replays.push((now, first, last));
            now = last + 1_000 + random(pace / 2);
        }
        let (mut heard, mut since, mut before, mut at, mut timed, mut read) = (0, 0, None, 2_000_000, 0, 0);
        while at < now {
            at += random(4 * pace);
            let times = replays.iter().rev().find(|replay| replay.2 < at).map(|replay| (replay.1, replay.2));
            let is_torn = replays.iter().any(|replay| replay.1 < at && at <= replay.2);
            let until = at + random(2_000);
            let new = times.filter(|_| !is_torn && times != before);
            let reading = reading(at, until, since, new.map(|(first, last)| (drift(first), drift(last))));
            if new.is_some() {
                before = times;
                read += 1;
            }
            if !is_torn {
                since = at;
            }
            let known = replays.iter().filter(|replay| replay.0 < until).count();
            let new_reports: Vec<u64> = replays[heard..known].iter().map(|replay| replay.0).collect();
            reported(&mut captured, &new_reports);
            heard = known;
            captured.take(reading, &mut bounds, 1.0, &mut |replay, time| {
                if let Some(KernelTime { first, stop, .. }) = time {
                    let of = replays.iter().find(|of| of.0 == replay.reported);
                    let of = of.map(|of| (drift(of.1) + AHEAD, drift(of.2) + AHEAD));
                    assert_eq!(of, Some((first, stop)));
                    timed += 1;
                }
            });
        }
        assert!(captured.replays.len() <= 2, "nothing waits for long");
        assert!(slack > 2_000 || pace < 100_000 || timed * 10 >= read * 9, "{timed} of {read}, {slack}, {pace}");
    }
}
