//! Score-P's measurement library in this process: the functions with which its own adapters create locations, regions
//! and counters, looked up by name at run time.
//!
//! If one symbol is missing, no function of the library is called. In a release that was not tried ([`release`]), none
//! is called before a child process has called them ([`trial`]).

mod look_up;
mod memory;
pub mod release;
mod symbols;
mod target;
mod trial;

use crate::sys::measurement::*;
use crate::sys::*;
use once_cell::sync::OnceCell;
use release::MeasurementLibrary;
use std::ffi::{CStr, CString};
use std::ptr;
use symbols::Symbols;

pub use memory::{BUFFER_BYTES, LEFT_BYTES};
pub(crate) use symbols::address;
pub use symbols::{NAMES, lacking};
pub use target::{LaneTarget, OwnLocation};

/// Score-P's measurement, as this library uses it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measurement(Symbols);

/// Returns the address of a location that Score-P has given.
fn location(lane: OwnLocation) -> *mut Location {
    lane.0 as *mut Location
}

fn text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

impl Measurement {
    /// Returns the measurement. The first call looks up all symbols. It comes when the measurement begins, on the
    /// thread that begins it: a release that was not tried is tried then.
    ///
    /// # Errors
    /// The reason why they are not used, in words.
    pub(crate) fn find() -> Result<&'static Self, String> {
        static FOUND: OnceCell<Result<Measurement, String>> = OnceCell::new();
        FOUND.get_or_init(Self::look_up).as_ref().map_err(String::clone)
    }

    /// Returns the measurement of a release that was tried, at any time.
    pub(crate) fn tried() -> Option<&'static Self> {
        if !MeasurementLibrary::loaded().is_ok_and(|library| library.was_tried()) {
            return None;
        }
        Self::find().ok()
    }

    /// Returns whether Score-P records events that are written now.
    pub(crate) fn is_recording(&self) -> bool {
        // SAFETY: the function takes nothing and reads a variable.
        unsafe { (self.0.is_recording)() }
    }
}

impl LaneTarget for Measurement {
    fn begin(&self) -> u64 {
        // SAFETY: the function takes nothing and reads a variable.
        unsafe { (self.0.begin)() }
    }

    fn is_profiling(&self) -> bool {
        // SAFETY: the function takes nothing and reads a variable.
        unsafe { (self.0.does_profiling)() }
    }

    fn is_tracing(&self) -> bool {
        // SAFETY: the function takes nothing and reads a variable.
        unsafe { (self.0.does_tracing)() }
    }

    fn while_recording(&self, may_switch: bool, write: &mut dyn FnMut()) -> bool {
        let was_off = !self.is_recording();
        if was_off && !may_switch {
            return false;
        }
        if was_off {
            // SAFETY: the function takes nothing; the caller is on a thread that Score-P knows.
            unsafe { (self.0.enable_recording)() }
        }
        let is_on = self.is_recording();
        if is_on {
            write();
        }
        if was_off && is_on {
            // SAFETY: as above.
            unsafe { (self.0.disable_recording)() }
        }
        is_on
    }

    fn memory(&self) -> (u64, u64) {
        self.memory_and_share()
    }

    fn room(&self) -> usize {
        self.locations_left()
    }

    fn has_room_for_region(&self) -> bool {
        self.has_region_left()
    }

    fn can_make_locations(&self) -> bool {
        self.takes_locations()
    }

    fn lane(&self, name: &str) -> OwnLocation {
        let name = text(name);
        // SAFETY: called on a thread that Score-P knows, between the begin of the measurement and its end; the name is
        // copied.
        let location = unsafe {
            let group = (self.0.process_group)();
            (self.0.new_location)(ptr::null_mut(), LOCATION_TYPE_GPU, PARADIGM_CUDA, name.as_ptr(), group)
        };
        OwnLocation(location as usize)
    }

    fn rename(&self, lane: OwnLocation, name: &str) {
        let name = text(name);
        // SAFETY: the location is Score-P's own; the name is copied.
        unsafe { (self.0.set_name)(location(lane), name.as_ptr()) }
    }

    fn region(&self, name: &str, kind: RegionType) -> RegionHandle {
        let name = text(name);
        let line = INVALID_LINE_NO;
        // SAFETY: the name is copied.
        unsafe { (self.0.new_region)(name.as_ptr(), ptr::null(), INVALID_SOURCE_FILE, line, line, PARADIGM_CUDA, kind) }
    }

    fn counter(&self, name: &CStr, description: &CStr, mode: MetricMode, unit: &CStr) -> SamplingSetHandle {
        let (name, description, unit) = (name.as_ptr(), description.as_ptr(), unit.as_ptr());
        // SAFETY: the strings are copied; the metric was created just before.
        unsafe {
            let metric = (self.0.new_metric)(
                name,
                description,
                SOURCE_TYPE_OTHER,
                mode,
                VALUE_UINT64,
                BASE_DECIMAL,
                0,
                unit,
                PROFILING_TYPE_EXCLUSIVE,
                INVALID_METRIC,
            );
            (self.0.new_sampling_set)(1, &raw const metric, OCCURRENCE_ASYNCHRONOUS, SAMPLING_SET_GPU)
        }
    }

    fn attribute(&self, name: &CStr, description: &CStr, kind: AttributeType) -> AttributeHandle {
        // SAFETY: the strings are copied.
        unsafe { (self.0.new_attribute)(name.as_ptr(), description.as_ptr(), kind) }
    }

    fn string(&self, string: &str) -> StringHandle {
        let string = text(string);
        // SAFETY: the string is copied.
        unsafe { (self.0.new_string)(string.as_ptr()) }
    }

    fn enter(&self, lane: OwnLocation, time: u64, region: RegionHandle) {
        // SAFETY: location and region are Score-P's own; the caller keeps to times and nesting.
        unsafe { (self.0.enter)(location(lane), time, region) }
    }

    fn exit(&self, lane: OwnLocation, time: u64, region: RegionHandle) {
        // SAFETY: as in `enter`.
        unsafe { (self.0.exit)(location(lane), time, region) }
    }

    fn count(&self, lane: OwnLocation, time: u64, counter: SamplingSetHandle, value: u64) {
        // SAFETY: as in `enter`; the sampling set has one metric.
        unsafe { (self.0.counter)(location(lane), time, counter, value) }
    }

    fn say_number(&self, lane: OwnLocation, attribute: AttributeHandle, value: u64) {
        // SAFETY: as in `enter`; the attribute was made for numbers, and the value is copied.
        unsafe { (self.0.attribute)(location(lane), attribute, (&raw const value).cast()) }
    }

    fn say(&self, lane: OwnLocation, attribute: AttributeHandle, value: StringHandle) {
        // SAFETY: as in `enter`; the attribute was made for strings, and the handle is copied.
        unsafe { (self.0.attribute)(location(lane), attribute, (&raw const value).cast()) }
    }
}
