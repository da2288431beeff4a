//! What lanes and series are written into: Score-P's measurement, or a stand-in for it that a replay brings. A stand-in
//! writes a trace, and its memory is unlimited.

use crate::sys::measurement::{AttributeHandle, AttributeType};
use crate::sys::{MetricMode, RegionHandle, RegionType, SamplingSetHandle, StringHandle};
use std::ffi::CStr;

/// A location of the library's: its address in Score-P, a number of the stand-in's in a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnLocation(pub usize);

/// What lanes and series are written into.
pub trait LaneTarget: Sync {
    /// Returns when the measurement began, in ticks.
    fn begin(&self) -> u64;

    /// Returns whether Score-P makes a profile.
    fn is_profiling(&self) -> bool {
        false
    }

    /// Returns whether Score-P writes a trace.
    fn is_tracing(&self) -> bool {
        true
    }

    /// Runs `write` while Score-P records; recording that is off is switched on for it, if it may be. Returns whether
    /// Score-P did record. Called on the thread that begins or ends the measurement.
    fn while_recording(&self, may_switch: bool, write: &mut dyn FnMut()) -> bool {
        let _ = may_switch;
        write();
        true
    }

    /// Returns `SCOREP_TOTAL_MEMORY` in bytes, and the bytes of it that a location takes.
    fn memory(&self) -> (u64, u64) {
        (0, 1 << 20)
    }

    /// Estimates how many more locations Score-P has memory for. Creating one without memory makes Score-P abort the
    /// application.
    fn room(&self) -> usize {
        usize::MAX
    }

    /// Returns whether a location has memory for one more region.
    fn has_room_for_region(&self) -> bool {
        true
    }

    /// Returns whether it is safe to create locations. It is not once the trace has been written to its file while
    /// Score-P makes a profile: the profile would begin in used memory, which Score-P 8.4 takes for fresh.
    fn can_make_locations(&self) -> bool {
        true
    }

    /// Creates a location of this process. The caller has checked [`LaneTarget::room`].
    fn lane(&self, name: &str) -> OwnLocation;

    /// Renames a location.
    fn rename(&self, lane: OwnLocation, name: &str);

    /// Creates a region.
    fn region(&self, name: &str, kind: RegionType) -> RegionHandle;

    /// Creates a counter of whole numbers with its own sampling set.
    fn counter(&self, name: &CStr, description: &CStr, mode: MetricMode, unit: &CStr) -> SamplingSetHandle;

    /// Creates an attribute.
    fn attribute(&self, name: &CStr, description: &CStr, kind: AttributeType) -> AttributeHandle;

    /// Creates a string.
    fn string(&self, string: &str) -> StringHandle;

    /// Enters a region. Times of a location must not fall, and regions must nest; otherwise Score-P aborts the
    /// application.
    fn enter(&self, lane: OwnLocation, time: u64, region: RegionHandle);

    /// Exits the region that was entered last.
    fn exit(&self, lane: OwnLocation, time: u64, region: RegionHandle);

    /// Writes a value of a counter.
    fn count(&self, lane: OwnLocation, time: u64, counter: SamplingSetHandle, value: u64);

    /// Adds a number to the location's next event.
    fn say_number(&self, lane: OwnLocation, attribute: AttributeHandle, value: u64);

    /// Adds a string to the location's next event.
    fn say(&self, lane: OwnLocation, attribute: AttributeHandle, value: StringHandle);
}
