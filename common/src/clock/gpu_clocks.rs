//! The two clocks that time a GPU's operations: that of NCCL's stamps, and that of CUDA's events.
//!
//! Both are times of the GPU's one timer, with epochs of their own. Kernels that have both times show how far apart the
//! epochs are: a kernel's stamps lie between its events, a few microseconds from each. So the callbacks of stamps place
//! the events, too, even if only a few kernels have both, at the begin of the run.
//!
//! The clock of the events is the harder one to place. The library asks for events now and then, any time after they
//! have happened, and an event happens long after its record where the stream has other work to do. But an event in a
//! free stream happens 3.5 us after its record or some more, and the best callbacks of stamps come up to 3 us late
//! (H200s, by CUPTI's kernels; 12 us on a GPU that ranks share). So where both are there, the events' clock is placed
//! where both are possible. Records that lie farther from the callbacks have waited for other work: then the callbacks
//! alone count ([`GpuMapping::settled`]).
//!
//! Anchors bring both sides of the events' clock close together, whatever the launches and the callbacks do.
//! Where there are any, they also show how the clocks drift ([`GpuTrack::mappings`]), and whether the callbacks of stamps
//! all come late ([`GpuMapping::beside`]).

use super::gpu_track::{GpuMapping, GpuTrack};

/// Most nanoseconds from the best records to the best callbacks, if neither has waited.
const LATE: f64 = 30_000.0;

/// Nanoseconds from a kernel's last stamp to the event behind it, on H200s.
const BEHIND_END: u64 = 1_700;

/// Pairs known of one GPU's clocks.
#[derive(Debug, Clone)]
pub struct GpuClocks {
    /// The stamps' clock.
    pub stamps: GpuTrack,
    /// The events' clock.
    pub events: GpuTrack,
    /// The events' clock against the stamps' clock.
    between: GpuTrack,
    /// Whether `between` has a kernel whose last stamp is its end.
    has_ends: bool,
    /// Ticks between the times of the host around the most closely enclosed anchor.
    enclosed: Option<u64>,
}

impl Default for GpuClocks {
    fn default() -> Self {
        Self {
            stamps: GpuTrack::default(),
            events: GpuTrack::of_events(),
            between: GpuTrack::of_one_timer(),
            has_ends: false,
            enclosed: None,
        }
    }
}

impl GpuClocks {
    /// Adds an anchor: an event at `time`, between two times of the host in ticks.
    pub fn anchored(&mut self, [from, until]: [u64; 2], time: u64) {
        self.events.enqueued(from, time);
        self.events.told(until, time);
        self.enclosed = self.enclosed.into_iter().chain([until.saturating_sub(from)]).min();
    }

    /// Adds a kernel with both times: two of its stamps, the earlier one first, and the events before and after it.
    /// `is_whole` says whether the stamps are the kernel's begin and end.
    pub fn both(&mut self, (start, stop): (u64, u64), (first, last): (u64, u64), is_whole: bool) {
        self.has_ends |= is_whole;
        self.between.told(start, first);
        self.between.enqueued(stop, last);
    }

    /// Returns the mappings of the stamps and of the events, as [`GpuTrack::mapping`] does.
    pub fn mappings(&self, nanoseconds_per_tick: f64) -> [Option<GpuMapping>; 2] {
        let is_close = self.enclosed.is_some_and(|ticks| ticks as f64 * nanoseconds_per_tick < LATE);
        let tracks = [&self.stamps, &self.events];
        let [stamps, events] = if is_close {
            GpuTrack::mappings(tracks, LATE, nanoseconds_per_tick)
        } else {
            tracks.map(|track| track.mapping(nanoseconds_per_tick))
        };
        let between = self.between.mapping(1.0).filter(|between| !between.is_contradictory());
        let by_stamps = events.clone().zip(between).zip(stamps.clone());
        let behind = self.has_ends.then_some(BEHIND_END);
        let by_stamps = by_stamps.map(|((events, between), stamps)| events.by_way_of(between, stamps, behind));
        let events = by_stamps.filter(GpuMapping::agrees).or(events).map(|events| events.settled(LATE, is_close));
        let to_events = (self.has_ends && is_close).then(|| self.between.reversed().mapping(1.0)).flatten();
        let to_events = to_events.filter(|to_events| !to_events.is_contradictory());
        let stamps = match (stamps, &events, to_events) {
            (Some(stamps), Some(events), Some(to_events)) => Some(stamps.beside(to_events, events, BEHIND_END, LATE)),
            (stamps, ..) => stamps,
        };
        [stamps, events]
    }

    /// Joins what several communicators know of the same GPU.
    pub fn of_all<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut joint = Self::default();
        for clocks in all {
            joint.has_ends |= clocks.has_ends;
            joint.enclosed = joint.enclosed.into_iter().chain(clocks.enclosed).min();
            for (joint, track) in joint.tracks().into_iter().zip([&clocks.stamps, &clocks.events, &clocks.between]) {
                joint.join(track);
            }
        }
        joint
    }

    /// Takes the tracks of `later`, unless they are empty.
    pub fn update(&mut self, later: Self) {
        let Self { stamps, events, between, has_ends, enclosed } = later;
        self.has_ends |= has_ends;
        self.enclosed = self.enclosed.into_iter().chain(enclosed).min();
        for (known, track) in self.tracks().into_iter().zip([stamps, events, between]) {
            if !track.is_empty() {
                *known = track;
            }
        }
    }

    fn tracks(&mut self) -> [&mut GpuTrack; 3] {
        [&mut self.stamps, &mut self.events, &mut self.between]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nanoseconds by which the stamps' clock and the events' clock are ahead of Score-P's, whose tick is a nanosecond.
    const AHEAD: [u64; 2] = [7_000_000_000, 3_000_000];

    /// A GPU with a kernel of 100 us in each millisecond. Callbacks report stamps 2 us late. Each launch waits for
    /// other work, `waits` of the moment; the library learns of events after 3 ms. Every tenth kernel has both times.
    fn clocks(waits: impl Fn(u64) -> u64) -> GpuClocks {
        let mut clocks = GpuClocks::default();
        let [stamps, events] = AHEAD;
        for (number, begin) in (1..2000).map(|number| (number, number * 1_000_000)) {
            let (end, before) = (begin + 100_000, begin - waits(begin));
            clocks.events.told(end + 3_000_000, end + 1_000 + events);
            clocks.events.enqueued(before, begin - 2_000 + events);
            if number % 10 == 0 {
                clocks.stamps.told(end + 2_000, end + stamps);
                clocks.stamps.enqueued(before, begin + stamps);
                clocks.both((begin + stamps, end + stamps), (begin - 2_000 + events, end + 1_000 + events), true);
            }
        }
        clocks
    }

    #[test]
    fn events_are_placed_by_kernels_that_have_stamps_as_well() {
        // launches that wait ever longer look like a drift of the clocks
        let clocks = clocks(|begin| 200_000 + begin / 10_000);
        let [stamps, events] = clocks.mappings(1.0).map(Option::unwrap);
        for time in [5_000_000, 500_500_000, 1_990_000_000] {
            let [at_stamps, at_events] = AHEAD.map(|ahead| time + ahead);
            assert!((0..=3_000).contains(&stamps.ticks(at_stamps).abs_diff(time)), "{time}");
            let off = events.ticks(at_events).abs_diff(time);
            assert!(off <= 4_000, "{time}: {off} ns");
            let [least, most] = events.bounds(at_events).unwrap();
            assert!(least <= time && time <= most && most - time <= 6_000, "{time}: {least} to {most}");
        }
        let alone = GpuClocks { between: GpuTrack::default(), ..clocks }.mappings(1.0)[1].clone().unwrap();
        assert!(alone.ticks(500_500_000 + AHEAD[1]).abs_diff(500_500_000) > 100_000, "by their launches alone");
    }

    #[test]
    fn launches_that_place_events_after_their_callbacks_have_waited() {
        let mut clocks = clocks(|_| 20_000);
        let whole = clocks.between.clone();
        clocks.between = GpuTrack::of_one_timer();
        clocks.events = GpuTrack::of_events();
        let [stamps, events] = AHEAD;
        for begin in (1..2000).map(|number| number * 1_000_000) {
            // ever less of 25 us, in the first quarter: as if the clocks drifted apart
            if begin < 500_000_000 {
                clocks.events.enqueued(begin - 25_000 + begin / 25_000, begin + events);
            }
            clocks.events.told(begin + 3_000_000, begin + events);
            if begin < 50_000_000 {
                clocks.both(
                    (begin + stamps, begin + 100_000 + stamps),
                    (begin - 2_000 + events, begin + 101_000 + events),
                    true,
                );
            }
        }
        let place = |clocks: &GpuClocks| {
            let [_, events] = clocks.mappings(1.0).map(Option::unwrap);
            [100_000_000, 1_900_000_000].map(|time| events.ticks(time + AHEAD[1]) as i64 - time as i64)
        };
        let by_launches = place(&GpuClocks { between: GpuTrack::default(), ..clocks.clone() });
        assert!(by_launches[1] > 30_000, "{by_launches:?}");
        let by_callbacks = place(&clocks);
        assert!(by_callbacks.iter().all(|off| (0..=4_000).contains(off)), "{by_callbacks:?}");
        // kernels with both times throughout the run say the same
        assert_eq!(place(&GpuClocks { between: whole, ..clocks }), by_callbacks);
    }

    /// Anchors place both clocks, also of a short run, however late callbacks come and launches wait.
    #[test]
    fn anchors_place_both_clocks() {
        let [stamps, events] = AHEAD;
        for count in [100, 3000] {
            let mut clocks = GpuClocks::default();
            // the GPU's timer gains 8 ppm
            let at = |time: u64| time + time / 125_000;
            for (number, begin) in (1..count).map(|number| (number, number * 1_000_000)) {
                let (end, before) = (begin + 100_000, begin - 40_000);
                clocks.events.told(end + 3_000_000, at(end + 1_000) + events);
                clocks.events.enqueued(before, at(begin - 2_000) + events);
                clocks.stamps.told(end + 13_000 + number % 7 * 1_000, at(end) + stamps);
                clocks.stamps.enqueued(before, at(begin) + stamps);
                let kernel = (at(begin) + stamps, at(end) + stamps);
                clocks.both(kernel, (at(begin - 2_000) + events, at(end + 1_000) + events), true);
                if number % 20 == 0 {
                    let (from, until) = (begin + 500_000 - 3_000, begin + 500_000 + 6_000 + number % 3 * 1_000);
                    clocks.anchored([from, until], at(begin + 500_000) + events);
                }
            }
            let [of_stamps, of_events] = clocks.mappings(1.0).map(Option::unwrap);
            for time in [5_000_000, count * 500_000, count * 990_000] {
                for (mapping, ahead) in [(&of_stamps, stamps), (&of_events, events)] {
                    let off = mapping.ticks(at(time) + ahead) as i64 - time as i64;
                    assert!(off.abs() <= 2_500, "{count}: {off} ns at {time}");
                    let [least, most] = mapping.bounds(at(time) + ahead).unwrap();
                    assert!(least <= time && time <= most, "{time}: {least} to {most}");
                }
            }
            for (mapping, ahead) in [(&of_stamps, stamps), (&of_events, events)] {
                let ticks: Vec<u64> = (0..count * 10).map(|time| mapping.ticks(ahead + time * 100_000)).collect();
                assert!(ticks.is_sorted(), "{count}");
            }
            // callbacks alone come 13 us late
            let alone = clocks.stamps.mapping(1.0).unwrap().ticks(at(count * 500_000) + stamps);
            assert!(alone > count * 500_000 + 8_000, "{alone}");
        }
    }

    /// Anchors of the first second say nothing of the drift an hour later, which changes.
    #[test]
    fn anchors_show_the_drift_of_their_time_alone() {
        let [stamps, events] = AHEAD;
        let mut clocks = GpuClocks::default();
        // 37 to 43 ppm too fast
        let at = |time: u64| time + (time as f64 * (37e-6 + 3e-6 * time as f64 / 3.6e12)) as u64;
        for (number, begin) in (1..36_000).map(|number: u64| (number, number * 100_000_000)) {
            let (end, before) = (begin + 100_000, begin - 40_000);
            clocks.stamps.told(end + 1_000 + number % 7 * 1_000, at(end) + stamps);
            clocks.stamps.enqueued(before - 10_000_000, at(begin) + stamps);
            if begin <= 1_000_000_000 {
                clocks.events.told(end + 3_000_000, at(end + 1_000) + events);
                clocks.events.enqueued(before, at(begin - 2_000) + events);
                let kernel = (at(begin) + stamps, at(end) + stamps);
                clocks.both(kernel, (at(begin - 2_000) + events, at(end + 1_000) + events), true);
                clocks.anchored([begin + 500_000 - 3_000, begin + 506_000], at(begin + 500_000) + events);
            }
        }
        let [of_stamps, _] = clocks.mappings(1.0).map(Option::unwrap);
        for time in (1..360).map(|number| number * 10_000_000_000) {
            let off = of_stamps.ticks(at(time) + stamps) as i64 - time as i64;
            assert!((-2_000..=20_000).contains(&off), "{off} ns at {time}");
        }
    }

    #[test]
    fn stamps_outside_their_events_are_no_stamps_of_theirs() {
        let mut clocks = clocks(|_| 20_000);
        let [_, before] = clocks.mappings(1.0).map(Option::unwrap);
        clocks.both((AHEAD[0], AHEAD[0] + 9), (900_000_000 + AHEAD[1], 900_000_010 + AHEAD[1]), true);
        let own = GpuClocks { between: GpuTrack::default(), ..clocks.clone() }.mappings(1.0)[1].clone().unwrap();
        let [_, events] = clocks.mappings(1.0).map(Option::unwrap);
        let at = 500_500_000 + AHEAD[1];
        assert_eq!(events.ticks(at), own.ticks(at));
        assert_ne!(events.bounds(at), before.bounds(at));
    }

    #[test]
    fn communicators_of_a_gpu_share_its_clocks() {
        let whole = clocks(|_| 200_000);
        let parts = [
            GpuClocks { events: GpuTrack::of_events(), ..whole.clone() },
            GpuClocks { events: whole.events.clone(), ..GpuClocks::default() },
        ];
        let [_, joint] = GpuClocks::of_all(&parts).mappings(1.0).map(Option::unwrap);
        let [_, events] = whole.mappings(1.0).map(Option::unwrap);
        let at = 1_234_567_890 + AHEAD[1];
        assert_eq!((joint.ticks(at), joint.bounds(at)), (events.ticks(at), events.bounds(at)));
        let mut updated = whole;
        updated.update(GpuClocks::default());
        assert!(updated.mappings(1.0).iter().all(Option::is_some), "what is empty replaces nothing");
    }
}
