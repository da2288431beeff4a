//! The begin of a kernel between two CUDA events, with all that the run has shown of the GPU's clock.
//!
//! The stream comes to the event before the launch when its other work is over. That may be before the host has
//! launched the kernel. So the kernel begins shortly after the later of the two: that event, or its launch. On an
//! H200, by CUPTI, it begins 2.4 to 4.1 us after an event that had waited, and 0.3 us before to 2 us after the return
//! of a launch into an idle stream.

use super::TimelineEntry;
use crate::clock::gpu_track::GpuMapping;
use crate::launch::times::{BEHIND_EVENT, SHORTEST};

/// Nanoseconds from the return of a launch into an idle stream to the kernel's begin.
const BEHIND_LAUNCH: f64 = 900.0;

/// A kernel was over when its launch returned, if it would have begun this many nanoseconds after the last moment at
/// which it can have begun. Less is the uncertainty of the clocks.
const OVER: u64 = 5_000;

/// A begin that the events, the launch and the clocks limit to this many nanoseconds is known.
const KNOWN: u64 = 5_000;

/// When a kernel began, nanoseconds of the clock of CUDA events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KernelBegin {
    /// Most likely begin.
    pub(super) start: u64,
    /// How much earlier it may have begun, apart from the uncertainty of the clocks.
    pub(super) ahead: u64,
    /// Whether `start` is its begin. If not, the kernel began at that time or later.
    pub(super) is_known: bool,
}

impl KernelBegin {
    /// Works out the begin of an entry that events have timed.
    pub(super) fn of(entry: &TimelineEntry, mapping: &GpuMapping, nanoseconds_per_tick: f64) -> Self {
        let (first, last) = (entry.start, entry.stop);
        let waited = first.saturating_add(BEHIND_EVENT).min(last);
        let latest = last.saturating_sub(SHORTEST).max(waited);
        // the launch on the clock of events, if the event before it happened at `at`
        let launched = |at: u64| {
            let ticks = i128::from(entry.launched()) - i128::from(at);
            first.saturating_add_signed((ticks as f64 * nanoseconds_per_tick + BEHIND_LAUNCH) as i64)
        };
        let likely = launched(mapping.ticks(first)).max(waited);
        if likely <= latest.saturating_add(OVER) {
            let start = likely.min(latest);
            return Self { start, ahead: start - first, is_known: true };
        }
        // the clocks are off by more than the kernel is long, or it was over when its launch returned
        let [most, least] = mapping.bounds(first).map_or([0, u64::MAX], |bounds| bounds.map(launched));
        let may_have_waited = least <= waited;
        let until = if may_have_waited { most.clamp(waited, latest) } else { latest };
        Self { start: waited, ahead: waited - first, is_known: until - waited <= KNOWN }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::gpu_track::GpuTrack;
    use crate::event::name::NcclName;
    use crate::figures::timeline::NO_ROOT;
    use crate::operation::TimeSource;

    /// By how much the events' clock is ahead, nanoseconds. A tick is half a nanosecond.
    const AHEAD: u64 = 5_000_000_000;
    const NANOSECONDS_PER_TICK: f64 = 0.5;
    /// The event before the launch, on Score-P's clock in nanoseconds.
    const FIRST: u64 = 50_000_000;

    /// Returns the mapping of a GPU whose events happen `waited` after their records, and are known `late` after they
    /// have happened.
    fn mapping(waited: u64, late: u64) -> GpuMapping {
        let mut track = GpuTrack::of_events();
        for time in (1..100).map(|number| number * 1_000_000) {
            track.enqueued((time - waited) * 2, time + AHEAD);
            track.told((time + late) * 2, time + AHEAD);
        }
        track.mapping(NANOSECONDS_PER_TICK).unwrap().settled(30_000.0, false)
    }

    /// Returns the begin of a kernel between events that are `length` apart, launched that long after the first one:
    /// its distance from the first one, and whether it is known.
    fn begin(mapping: &GpuMapping, length: u64, launched: i64) -> (u64, bool) {
        let [function, algorithm, protocol] = [NcclName::default(); 3];
        let entry = TimelineEntry {
            start: FIRST + AHEAD,
            stop: FIRST + AHEAD + length,
            bytes: 1,
            sequence: 9,
            peer: -1,
            root: NO_ROOT,
            place: 0,
            order: 0,
            launched: FIRST.saturating_add_signed(launched) * 2,
            function,
            algorithm,
            protocol,
            source: TimeSource::Events,
            alone: true,
        };
        let begin = KernelBegin::of(&entry, mapping, NANOSECONDS_PER_TICK);
        assert_eq!(begin.ahead, begin.start - entry.start);
        (begin.ahead, begin.is_known)
    }

    #[test]
    fn a_kernel_begins_behind_the_event_or_behind_its_launch() {
        let close = mapping(4_000, 4_000);
        assert_eq!(begin(&close, 100_000, -8_000_000), (3_200, true), "the stream had other work to do");
        assert_eq!(begin(&close, 100_000, 20_000), (19_400, true), "the host took its time");
        assert_eq!(begin(&close, 25_000, 26_000), (23_000, true), "a short kernel, and clocks that may be off by more");
        assert_eq!(begin(&close, 2_000, 0), (2_000, true), "no kernel begins behind its last event");
    }

    #[test]
    fn a_kernel_that_was_over_when_its_launch_returned_began_at_any_time() {
        let close = mapping(4_000, 4_000);
        assert_eq!(begin(&close, 100_000, 110_000), (3_200, false));
        assert_eq!(begin(&close, 9_000, 110_000), (3_200, true), "any time within 5 us");
        assert_eq!(begin(&close, 100_000, 20_000_000), (3_200, false));
    }

    /// All streams had other work to do, so events seem to happen long after their records.
    #[test]
    fn clocks_that_are_not_known_leave_a_begin_open() {
        let open = mapping(600_000, 3_000_000);
        // it was launched right at the event, or long before
        assert_eq!(begin(&open, 100_000, -20_000), (3_200, false));
        assert_eq!(begin(&open, 100_000, -4_000_000), (3_200, true), "long before in any case");
    }
}
