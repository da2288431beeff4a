mod lags;

use super::*;
use fastrand::Rng;

/// A GPU's clock, Score-P's clock, and the callbacks that report stamps.
#[derive(Debug, Clone, Copy)]
struct Run {
    seconds: f64,
    /// Seconds between stamps.
    every: f64,
    /// Nanoseconds by which the GPU's clock is ahead of Score-P's.
    offset: i64,
    /// Relative amount by which the GPU's clock runs faster.
    drift: f64,
    nanoseconds_per_tick: f64,
    /// Resolution of the GPU's stamps, nanoseconds.
    step: f64,
    /// Lateness of callbacks, nanoseconds: `(least, one_in, most)`. One callback in `one_in` has the least, the others
    /// anything between.
    late: (f64, usize, f64),
    /// Begin and end of a stretch without stamps, seconds.
    quiet: (f64, f64),
}

/// The default run: 10 s of callbacks every millisecond, 30 us to 5 ms late, one in twenty with the least lateness.
const RUN: Run = Run {
    seconds: 10.0,
    every: 1e-3,
    offset: 0,
    drift: 0.0,
    nanoseconds_per_tick: 1.0,
    step: 1.0,
    late: (30e3, 20, 5e6),
    quiet: (0.0, 0.0),
};

/// Readings of both clocks when a run begins, nanoseconds. One counts from the boot, the other from 1970.
const HOST: f64 = 3.6e12;
const GPU: f64 = 1.795e18;

impl Run {
    fn tick(&self, time: f64) -> u64 {
        (HOST / self.nanoseconds_per_tick) as u64 + (time / self.nanoseconds_per_tick) as u64
    }

    fn stamp(&self, time: f64) -> u64 {
        let since = time * (1.0 + self.drift);
        ((GPU / self.step) as u64 + ((since + self.offset as f64 + 1e12) / self.step) as u64) * self.step as u64
    }

    /// Lists the times of the stamps, nanoseconds since the run's begin.
    fn times(&self) -> impl Iterator<Item = f64> + use<> {
        let Self { seconds, every, quiet, .. } = *self;
        let times = (0..(seconds / every) as u64).map(move |number| number as f64 * every);
        times.filter(move |time| !(quiet.0..quiet.1).contains(time)).map(|time| time * 1e9)
    }

    fn track(&self) -> GpuTrack {
        let mut random = Rng::with_seed(7);
        let mut track = GpuTrack::default();
        let (least, one_in, most) = self.late;
        for time in self.times() {
            let late = if random.usize(..one_in) == 0 { least } else { least + random.f64() * (most - least) };
            track.told(self.tick(time + late), self.stamp(time));
            track.enqueued(self.tick(time - 10e3 - random.f64() * 1e6), self.stamp(time));
        }
        track
    }

    /// Returns by how many nanoseconds the mapping puts stamps too late: the least and the most.
    fn too_late(&self, mapping: &GpuMapping) -> (f64, f64) {
        let too_late = |time: f64| {
            let ticks = mapping.ticks(self.stamp(time)) as i64 - self.tick(time) as i64;
            ticks as f64 * self.nanoseconds_per_tick
        };
        self.times().map(too_late).fold((f64::MAX, f64::MIN), |(least, most), late| (late.min(least), late.max(most)))
    }

    /// Returns the mapping, after checks that hold for every run.
    fn mapping(&self) -> GpuMapping {
        let mapping = self.track().mapping(self.nanoseconds_per_tick).unwrap();
        let unit = self.nanoseconds_per_tick.max(self.step);
        let (least, _) = self.too_late(&mapping);
        assert!(least >= -2.0 * unit - 1e3, "{self:?}: {least}");
        let length = 20e6;
        for time in self.times() {
            let [begin, end] = [time, time + length].map(|time| mapping.ticks(self.stamp(time)));
            let stamps = (self.stamp(time + length) - self.stamp(time)) as f64;
            let off = (end - begin) as f64 * self.nanoseconds_per_tick - stamps;
            assert!(off.abs() <= 2e3 + 2.0 * unit, "{self:?}: {off} at {time}");
            let error = mapping.error(self.stamp(time)).unwrap();
            let late = mapping.ticks(self.stamp(time)) as f64 - self.tick(time) as f64;
            assert!(late * self.nanoseconds_per_tick <= error + 2.0 * unit + 1e3, "{self:?}: {late} {error}");
        }
        mapping
    }

    /// Checks the mapping, and that it puts stamps at most so many nanoseconds too late.
    fn keeps_within(&self, nanoseconds: f64) {
        let mapping = self.mapping();
        let (_, most) = self.too_late(&mapping);
        assert!(most <= nanoseconds, "{self:?}: {most}");
    }
}

#[test]
fn offsets_do_not_matter() {
    for offset in [-2_000_000, -900_000, 0, 2_000_000, 3_600_000_000_000] {
        Run { offset, ..RUN }.keeps_within(33e3);
    }
    // hours apart: both clocks may begin anywhere
    let mut track = GpuTrack::default();
    (0..100).for_each(|time| track.told(time * 1_000_000 + 5_000, 7_200_000_000_000 + time * 1_000_000));
    assert_eq!(track.mapping(1.0).unwrap().ticks(7_200_000_000_000), 5_000);
}

#[test]
fn drift_is_followed_in_long_and_short_runs() {
    for drift in [-90e-6, -50e-6, 50e-6, 90e-6] {
        Run { seconds: 100.0, every: 5e-3, drift, ..RUN }.keeps_within(32e3);
        Run { seconds: 100.0, every: 5e-3, drift, late: (30e3, 1, 30e3), ..RUN }.keeps_within(32e3);
    }
    for drift in [-50e-6, 50e-6] {
        // too short to separate drift from lateness: the next good callback is 20 ms away, or a few times that
        Run { seconds: 1.0, drift, ..RUN }.keeps_within(50e3);
        Run { seconds: 1.0, every: 1e-4, drift, late: (1e3, 20, 5e6), ..RUN }.keeps_within(4e3);
    }
}

#[test]
fn any_ticks_and_stamps_in_steps_of_ten_nanoseconds() {
    for nanoseconds_per_tick in [0.3, 0.385, 1.0, 10.0, 1000.0] {
        for step in [1.0, 10.0] {
            for seconds in [0.2, 10.0] {
                let run = Run { seconds, drift: 50e-6, nanoseconds_per_tick, step, offset: -900_000, ..RUN };
                run.keeps_within(70e3 + 2.0 * nanoseconds_per_tick);
            }
        }
    }
}

#[test]
fn quiet_stretches_are_bridged() {
    for drift in [-50e-6, 50e-6] {
        Run { seconds: 100.0, every: 5e-3, drift, quiet: (1.0, 99.0), ..RUN }.keeps_within(34e3);
        Run { seconds: 100.0, every: 5e-3, drift, quiet: (10.0, 90.0), late: (30e3, 100, 5e6), ..RUN }
            .keeps_within(34e3);
    }
    // stamps in the quiet stretch are a little less certain
    let run = Run { seconds: 100.0, every: 5e-3, drift: 50e-6, quiet: (10.0, 90.0), ..RUN };
    let mapping = run.mapping();
    let late = mapping.ticks(run.stamp(50e9)) as i64 - run.tick(50e9) as i64;
    assert!((0..300_000).contains(&late), "{late}");
    assert!(mapping.error(run.stamp(50e9)).unwrap() > 2.0 * mapping.error(run.stamp(5e9)).unwrap());
}

#[test]
fn whole_ticks_do_not_tell_the_slope() {
    for nanoseconds_per_tick in [1.0, 1000.0] {
        let run = Run { seconds: 10e-6, every: 100e-9, nanoseconds_per_tick, late: (1e3, 1, 1e3), ..RUN };
        let mapping = run.mapping();
        let late = mapping.ticks(run.stamp(10e9)) as i64 - run.tick(10e9) as i64;
        assert!(late.unsigned_abs() as f64 * nanoseconds_per_tick < 1.01e6, "{late}");
    }
}

#[test]
fn a_day_is_followed_in_bounded_memory() {
    let run = Run { seconds: 86_400.0, every: 0.5, drift: 40e-6, late: (30e3, 5, 5e6), ..RUN };
    let track = run.track();
    for kept in [&track.told, &track.enqueued] {
        assert!((lowest::MOST / 4..=lowest::MOST).contains(&kept.anchors().len()), "{}", kept.anchors().len());
    }
    run.keeps_within(32e3);
}

#[test]
fn drift_that_changes_is_followed() {
    // 2 ppm up and down in 20 minutes
    let wave = |time: f64| 1e9 + time + 2e-6 * 2e11 * (time / 2e11).sin();
    let mut random = Rng::with_seed(3);
    let mut track = GpuTrack::default();
    let times = || (0..72_000).map(|number| f64::from(number) * 5e7);
    for time in times() {
        track.told((1e9 + time + 30e3 + random.f64() * 1e5) as u64, wave(time) as u64);
        track.enqueued((1e9 + time - 10e3 - random.f64() * 1e5) as u64, wave(time) as u64);
    }
    let mapping = track.mapping(1.0).unwrap();
    for time in times() {
        let late = mapping.ticks(wave(time) as u64) as f64 - time - 1e9;
        assert!((20e3..40e3).contains(&late), "{late} at {time}");
        let bounds = mapping.bounds(wave(time) as u64).unwrap().map(|ticks| ticks as f64 - time - 1e9);
        assert!((-60e3..=1.0).contains(&bounds[0]) && (-1.0..=80e3).contains(&bounds[1]), "{bounds:?} at {time}");
    }
}

#[test]
fn the_error_is_what_enqueues_and_callbacks_leave_open() {
    let mut track = GpuTrack::default();
    track.told(10_000, 5_000);
    assert_eq!(track.mapping(1.0).unwrap().error(5_000), None);
    track.enqueued(8_000, 5_000);
    let mapping = track.mapping(0.5).unwrap();
    assert_eq!(mapping.error(5_000), Some(1_000.0));
    let far = mapping.error(5_000 + 1_000_000_000).unwrap();
    assert!((far - 101_000.0).abs() < 2.0, "{far}");
}

#[test]
fn what_two_clocks_tell_contradicts_itself() {
    let track = |offset: u64| {
        let mut track = GpuTrack::default();
        for time in (1..100).map(|number| number * 1_000_000) {
            track.told(time + 5_000, time + offset);
            track.enqueued(time - 40_000, time + offset);
        }
        track
    };
    let both = |offset| {
        let mut both = track(1_000_000);
        both.join(&track(offset));
        both.mapping(1.0).unwrap()
    };
    assert!(
        both(900_000).is_contradictory() && !both(1_000_000).is_contradictory() && !both(1_010_000).is_contradictory()
    );
    assert_eq!(both(900_000).error(50_000_000), None);
}

#[test]
fn nothing_comes_of_nothing() {
    let mut track = GpuTrack::default();
    assert!(track.mapping(1.0).is_none());
    track.enqueued(1, 1);
    assert!(track.mapping(1.0).is_none());
    track.told(1, 1);
    assert!([0.0, -1.0, f64::NAN, f64::INFINITY].iter().all(|&scale| track.mapping(scale).is_none()));
    assert_eq!(track.mapping(1.0).unwrap().ticks(1), 1);
}

/// Returns a stamp or tick by a seed: at the ends of the range, or anywhere in it.
fn arbitrary(random: &mut Rng) -> u64 {
    match random.u8(..4) {
        0 => random.u64(..1000),
        1 => u64::MAX - random.u64(..1000),
        2 => (1 << 60) + random.u64(..1_000_000_000),
        _ => random.u64(..),
    }
}

#[test]
fn whatever_is_told_ticks_never_fall() {
    for seed in 0..60 {
        let mut random = Rng::with_seed(seed);
        let mut track = GpuTrack::default();
        let wild = seed % 3 == 0;
        for number in 0..random.u64(1..5000) {
            let (ticks, stamp) = match wild {
                true => (arbitrary(&mut random), arbitrary(&mut random)),
                // out of order as well
                false => (
                    (1 << 60) + number * 1000 + random.u64(..1_000_000),
                    (1 << 50) + number * 1000 + random.u64(..100_000),
                ),
            };
            track.told(ticks, stamp);
            track.enqueued(ticks.wrapping_sub(random.u64(..10_000)), stamp);
        }
        assert!(track.told.anchors().len() <= lowest::MOST && track.enqueued.anchors().len() <= lowest::MOST);
        for scale in [1e-300, 0.3, 1.0, 1000.0, 1e300] {
            let Some(mapping) = track.mapping(scale) else { continue };
            let mut stamps: Vec<u64> = (0..3000).map(|_| arbitrary(&mut random)).collect();
            stamps.extend(
                track
                    .told
                    .anchors()
                    .iter()
                    .flat_map(|anchor| [anchor.stamp.saturating_sub(1), anchor.stamp, anchor.stamp.saturating_add(1)]),
            );
            stamps.extend((0..3000).map(|number| (1 << 50) + number * 7));
            stamps.sort_unstable();
            let settled = [false, true].map(|is_enclosed| mapping.clone().settled(30_000.0, is_enclosed));
            for mapping in settled.iter().chain([&mapping]) {
                let ticks: Vec<u64> = stamps.iter().map(|&stamp| mapping.ticks(stamp)).collect();
                assert!(ticks.is_sorted(), "seed {seed}");
            }
            assert!(stamps.iter().all(|&stamp| mapping.error(stamp).is_none_or(|error| error >= 0.0)));
        }
    }
}

#[test]
fn the_bound_is_the_least_of_all_anchors() {
    let mut random = Rng::with_seed(1);
    let anchors: Vec<LowestPoint> =
        (0..300).map(|at| LowestPoint { stamp: at * 1000, ticks: at * 1000 + random.u64(..2000) }).collect();
    let bound = Bound::new(&anchors, [0.9, 1.1]);
    for stamp in (0..310_000).step_by(37) {
        let least = anchors.iter().map(|anchor| {
            let stamps = stamp as f64 - anchor.stamp as f64;
            (anchor.ticks as f64 + (stamps * if stamps < 0.0 { 0.9 } else { 1.1 }).floor()).max(0.0) as u64
        });
        assert_eq!(bound.most(stamp), least.min());
    }
}
