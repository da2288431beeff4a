//! Callbacks that come late and enqueues that come early, all the time or for a while, must not look like drift.

use super::*;

#[test]
fn late_callbacks_of_a_short_run_are_no_drift() {
    // two operations a millisecond apart, the second reported 5 ms late
    let mut track = GpuTrack::default();
    track.told(1_001_000, 1_000_000);
    track.told(7_000_000, 2_000_000);
    let mapping = track.mapping(1.0).unwrap();
    assert_eq!((mapping.ticks(1_000_000), mapping.ticks(2_000_000)), (1_001_000, 2_001_000));
}

#[test]
fn callbacks_that_come_ever_later_are_no_drift() {
    let mut track = GpuTrack::default();
    // the GPU goes on, and the reporting thread falls behind by a second in five
    (0..5000).for_each(|time| track.told(time * 1_200_000, time * 1_000_000));
    let mapping = track.mapping(1.0).unwrap();
    let length = mapping.ticks(4_020_000_000) - mapping.ticks(4_000_000_000);
    assert!(length.abs_diff(20_000_000) <= 2_000, "{length}");
}

#[test]
fn lags_that_grow_or_shrink_steadily_leave_the_bounds_true() {
    // callbacks that fall behind and catch up, enqueues that run ahead and are caught up with, and both at once; lags
    // in microseconds at the begin and at the end of ten seconds and of an hour
    let lags = [
        ([20.0, 320.0], [10.0, 10.0]),
        ([320.0, 20.0], [10.0, 10.0]),
        ([20.0, 20.0], [10.0, 110.0]),
        ([20.0, 20.0], [110.0, 10.0]),
        ([20.0, 320.0], [10.0, 110.0]),
        ([20.0, 320.0], [110.0, 10.0]),
    ];
    for (seconds, events) in [(10.0, false), (10.0, true), (3600.0, false), (3600.0, true)] {
        for (late, early) in lags {
            for drift in [0.0, 30e-6, -30e-6] {
                let run = Run { seconds, every: seconds / 1e4, drift, ..RUN };
                let lag = |of: [f64; 2], time: f64| 1e3 * (of[0] + (of[1] - of[0]) * time / seconds / 1e9);
                let mut track = if events { GpuTrack::of_events() } else { GpuTrack::default() };
                for time in run.times() {
                    track.told(run.tick(time + lag(late, time)), run.stamp(time));
                    track.enqueued(run.tick(time - lag(early, time)), run.stamp(time));
                }
                let mapping = track.mapping(1.0).unwrap();
                for time in run.times() {
                    let [least, most] = mapping.bounds(run.stamp(time)).unwrap();
                    let tick = run.tick(time);
                    // ticks and stamps are whole
                    let case = format!("{late:?} {early:?} {drift} {seconds} s: {least} {tick} {most} at {time}");
                    assert!(least <= tick + 2 && tick <= most + 2, "{case}");
                    // the width of the bounds is little more than the lags, because both sides limit the drift
                    assert!((most - least) as f64 <= lag(late, time) + lag(early, time) + 30e3, "{case}");
                }
            }
        }
    }
}

#[test]
fn few_callbacks_do_not_tell_how_clocks_drift() {
    // two bursts of work an hour apart; the callbacks of the first are 300 us late, and the GPU's clock is 2 ppm faster
    // in the first half
    let hour = 3.6e12;
    let stamp = |time: f64| (1e12 + time + 2e-6 * time.min(hour / 2.0)) as u64;
    let mut track = GpuTrack::default();
    let times =
        || (0..50).map(|number| f64::from(number) * 1e6).chain((0..50).map(|number| hour - f64::from(number) * 1e6));
    for time in times() {
        let late = if time < hour / 2.0 { 300e3 } else { 1e3 };
        track.told((time + 1e9 + late) as u64, stamp(time));
        track.enqueued((time + 1e9 - 20e3) as u64, stamp(time));
    }
    let mapping = track.mapping(1.0).unwrap();
    for time in times().chain([hour / 4.0, hour / 2.0]) {
        let off = mapping.ticks(stamp(time)) as f64 - time - 1e9;
        let [least, most] = mapping.bounds(stamp(time)).unwrap().map(|ticks| ticks as f64 - time - 1e9);
        assert!(least <= 2.0 && most >= -2.0, "{time}: {least} {most}");
        assert!(off.abs() <= mapping.error(stamp(time)).unwrap() + 2.0, "{time}: {off}");
    }
    // near the callbacks, the unknown drift costs little
    assert!(times().all(|time| mapping.error(stamp(time)).unwrap() < 330e3));
}
