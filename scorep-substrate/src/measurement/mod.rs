//! Score-P's measurement library in this process: the functions with which its own adapters create locations, regions
//! and counters, looked up by name at run time.
//!
//! If one symbol is missing, no function of the library is called. In a release that was not tried ([`release`]), none
//! is called before a child process has called them ([`trial`]).

mod look_up;
mod memory;
pub mod release;
mod symbols;
mod trial;

use crate::stand_ins;
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

/// A location of the library's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnLocation(*mut Location);

// SAFETY: Score-P lets one thread after another write to locations other than threads.
unsafe impl Send for OwnLocation {}

/// Score-P's measurement, as this library uses it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measurement(Symbols);

fn text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

impl Measurement {
    /// Returns the measurement. The first call looks up all symbols. It comes when the measurement begins, on the
    /// thread that begins it: a release that was not tried is tried then.
    ///
    /// # Errors
    /// The reason why they are not used, in words.
    pub(crate) fn find() -> Result<Self, String> {
        static FOUND: OnceCell<Result<Measurement, String>> = OnceCell::new();
        FOUND.get_or_init(Self::look_up).clone()
    }

    /// Returns the measurement of a release that was tried, at any time.
    pub(crate) fn tried() -> Option<Self> {
        if !stand_ins::are_there() && !MeasurementLibrary::loaded().is_ok_and(|library| library.was_tried()) {
            return None;
        }
        Self::find().ok()
    }

    /// Returns when the measurement began, in ticks.
    pub(crate) fn begin(&self) -> u64 {
        // SAFETY: the function takes nothing and reads a variable.
        unsafe { (self.0.begin)() }
    }

    /// Returns whether Score-P records events that are written now.
    pub(crate) fn is_recording(&self) -> bool {
        // SAFETY: the function takes nothing and reads a variable.
        unsafe { (self.0.is_recording)() }
    }

    /// Runs `act` while Score-P records; recording that is off is switched on for it. Returns whether Score-P did record.
    /// Called on the thread that begins or ends the measurement.
    pub(crate) fn while_recording(&self, act: impl FnOnce()) -> bool {
        let was_off = !self.is_recording();
        if was_off {
            // SAFETY: the function takes nothing; the caller is on a thread that Score-P knows.
            unsafe { (self.0.record)() }
        }
        let is_on = self.is_recording();
        if is_on {
            act();
        }
        if was_off && is_on {
            // SAFETY: as above.
            unsafe { (self.0.record_no_more)() }
        }
        is_on
    }

    /// Returns whether Score-P makes a profile.
    pub(crate) fn is_profiling(&self) -> bool {
        // SAFETY: the function takes nothing and reads a variable.
        unsafe { (self.0.does_profiling)() }
    }

    /// Returns whether Score-P writes a trace.
    pub(crate) fn is_tracing(&self) -> bool {
        // SAFETY: the function takes nothing and reads a variable.
        unsafe { (self.0.does_tracing)() }
    }

    /// Creates a location of this process. The caller has checked [`Measurement::room`].
    pub(crate) fn lane(&self, name: &str) -> OwnLocation {
        let name = text(name);
        // SAFETY: called on a thread that Score-P knows, between the begin of the measurement and its end; the name is
        // copied.
        OwnLocation(unsafe {
            let group = (self.0.process_group)();
            (self.0.new_location)(ptr::null_mut(), LOCATION_TYPE_GPU, PARADIGM_CUDA, name.as_ptr(), group)
        })
    }

    /// Renames a location.
    pub(crate) fn rename(&self, lane: OwnLocation, name: &str) {
        let name = text(name);
        // SAFETY: the location is Score-P's own; the name is copied.
        unsafe { (self.0.set_name)(lane.0, name.as_ptr()) }
    }

    /// Creates a region.
    pub(crate) fn region(&self, name: &str, kind: RegionType) -> RegionHandle {
        let name = text(name);
        let line = INVALID_LINE_NO;
        // SAFETY: the name is copied.
        unsafe { (self.0.new_region)(name.as_ptr(), ptr::null(), INVALID_SOURCE_FILE, line, line, PARADIGM_CUDA, kind) }
    }

    /// Creates a counter of whole numbers with its own sampling set.
    pub(crate) fn counter(&self, name: &CStr, description: &CStr, mode: MetricMode, unit: &CStr) -> SamplingSetHandle {
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

    /// Creates an attribute.
    pub(crate) fn attribute(&self, name: &CStr, description: &CStr, kind: AttributeType) -> AttributeHandle {
        // SAFETY: the strings are copied.
        unsafe { (self.0.new_attribute)(name.as_ptr(), description.as_ptr(), kind) }
    }

    /// Creates a string.
    pub(crate) fn string(&self, string: &str) -> StringHandle {
        let string = text(string);
        // SAFETY: the string is copied.
        unsafe { (self.0.new_string)(string.as_ptr()) }
    }

    /// Enters a region. Times of a location must not fall, and regions must nest; otherwise Score-P aborts the
    /// application.
    pub(crate) fn enter(&self, lane: OwnLocation, time: u64, region: RegionHandle) {
        // SAFETY: location and region are Score-P's own; the caller keeps to times and nesting.
        unsafe { (self.0.enter)(lane.0, time, region) }
    }

    /// Exits the region that was entered last.
    pub(crate) fn exit(&self, lane: OwnLocation, time: u64, region: RegionHandle) {
        // SAFETY: as in `enter`.
        unsafe { (self.0.exit)(lane.0, time, region) }
    }

    /// Writes a value of a counter.
    pub(crate) fn count(&self, lane: OwnLocation, time: u64, counter: SamplingSetHandle, value: u64) {
        // SAFETY: as in `enter`; the sampling set has one metric.
        unsafe { (self.0.counter)(lane.0, time, counter, value) }
    }

    /// Adds a number to the location's next event.
    pub(crate) fn say_number(&self, lane: OwnLocation, attribute: AttributeHandle, value: u64) {
        // SAFETY: as in `enter`; the attribute was made for numbers, and the value is copied.
        unsafe { (self.0.attribute)(lane.0, attribute, (&raw const value).cast()) }
    }

    /// Adds a string to the location's next event.
    pub(crate) fn say(&self, lane: OwnLocation, attribute: AttributeHandle, value: StringHandle) {
        // SAFETY: as in `enter`; the attribute was made for strings, and the handle is copied.
        unsafe { (self.0.attribute)(lane.0, attribute, (&raw const value).cast()) }
    }
}
