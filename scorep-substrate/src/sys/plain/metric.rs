//! The metric plugin interface, version 1, written by hand from its behaviour.

use std::ffi::c_char;

/// The version of this interface, for [`MetricPluginInfo::plugin_version`].
///
/// Score-P accepts a plugin with version 0, but never calls its `synchronize`.
pub const PLUGIN_VERSION: u32 = 1;

/// Meaning of a metric's values, and the period that a value describes.
///
/// The first part of a name is the meaning: `ACCUMULATED` counts from the start of the run, `ABSOLUTE` stands by
/// itself, `RELATIVE` is the change since the previous value. The second part is the period: `START` from the start of
/// the run, `POINT` the instant only, `LAST` since the previous value, `NEXT` until the next value. A trace keeps the
/// mode; a profile ignores it.
pub type MetricMode = u32;
/// Counted since the start of the run.
pub const MODE_ACCUMULATED_START: MetricMode = 0;
/// Counted, for the instant only.
pub const MODE_ACCUMULATED_POINT: MetricMode = 1;
/// Counted, for the time since the previous value.
pub const MODE_ACCUMULATED_LAST: MetricMode = 2;
/// Counted, for the time until the next value.
pub const MODE_ACCUMULATED_NEXT: MetricMode = 3;
/// Measured at the instant.
pub const MODE_ABSOLUTE_POINT: MetricMode = 4;
/// Measured over the time since the previous value.
pub const MODE_ABSOLUTE_LAST: MetricMode = 5;
/// Holds from now until the next value.
pub const MODE_ABSOLUTE_NEXT: MetricMode = 6;
/// A change at the instant.
pub const MODE_RELATIVE_POINT: MetricMode = 7;
/// A change over the time since the previous value.
pub const MODE_RELATIVE_LAST: MetricMode = 8;
/// A change over the time until the next value.
pub const MODE_RELATIVE_NEXT: MetricMode = 9;

/// Type of the 64 bits of a value.
pub type MetricValueType = u32;
/// Signed integer.
pub const VALUE_INT64: MetricValueType = 0;
/// Unsigned integer.
pub const VALUE_UINT64: MetricValueType = 1;
/// Floating point: the bits of a double, as [`f64::to_bits`] returns them.
pub const VALUE_DOUBLE: MetricValueType = 2;

/// Base of [`MetricProperties::exponent`].
pub type MetricBase = u32;
/// Powers of two.
pub const BASE_BINARY: MetricBase = 0;
/// Powers of ten.
pub const BASE_DECIMAL: MetricBase = 1;

/// Threads that Score-P asks for values.
pub type MetricPer = u32;
/// Every thread of every process.
pub const PER_THREAD: MetricPer = 0;
/// The first thread of every process.
pub const PER_PROCESS: MetricPer = 1;
/// One thread of every node.
pub const PER_HOST: MetricPer = 2;
/// One thread of the whole run.
pub const ONCE: MetricPer = 3;

/// When Score-P asks for values, and so which callback it needs.
pub type MetricSynchronicity = u32;
/// At every event, with `get_current_value`, which must return a value. Requires [`PER_THREAD`].
pub const STRICTLY_SYNC: MetricSynchronicity = 0;
/// At every event, with `get_optional_value`, which may return no value.
pub const SYNC: MetricSynchronicity = 1;
/// At events, with `get_all_values`, which returns the values since the previous event. Score-P 8.4 crashes on it.
pub const ASYNC_EVENT: MetricSynchronicity = 2;
/// Once at the end, with `get_all_values`, which returns all values with their times. Dropped if Score-P makes a
/// profile.
pub const ASYNC: MetricSynchronicity = 3;

/// The moment at which `synchronize` is called.
pub type SynchronizationMode = u32;
/// The measurement begins, in a program without MPI: before `main`.
pub const SYNCHRONIZATION_MODE_BEGIN: SynchronizationMode = 0;
/// The measurement begins, in a program with MPI: inside `MPI_Init`. It replaces [`SYNCHRONIZATION_MODE_BEGIN`].
pub const SYNCHRONIZATION_MODE_BEGIN_MPP: SynchronizationMode = 1;
/// The measurement ends: in an exit handler, when handlers registered later have already run.
pub const SYNCHRONIZATION_MODE_END: SynchronizationMode = 2;

/// A metric, as `get_event_info` describes it. An array of metrics ends with an entry without a name.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MetricProperties {
    /// NUL-terminated; letters, digits and underscores. From `malloc`: Score-P frees it at the end.
    pub name: *mut c_char,
    /// NUL-terminated, or NULL for none. Used until the end of the process and never freed.
    pub description: *mut c_char,
    /// Meaning of the values.
    pub mode: MetricMode,
    /// Type of the values.
    pub value_type: MetricValueType,
    /// Base of the scale.
    pub base: MetricBase,
    /// A value is in units of `base` to the power of `exponent`.
    pub exponent: i64,
    /// NUL-terminated, or NULL for a number without a unit. Used until the end of the process and never freed.
    pub unit: *mut c_char,
}

/// A value of an asynchronous metric.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TimeValuePair {
    /// Ticks of Score-P's clock. They must not fall within a list: Score-P silently drops an older value.
    pub timestamp: u64,
    /// Bits of the value.
    pub value: u64,
}

/// The table of a metric plugin, returned by value from `SCOREP_MetricPlugin_<name>_get_info`.
///
/// Score-P copies it. It calls the callbacks on the application's threads, and none may unwind.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MetricPluginInfo {
    /// [`PLUGIN_VERSION`].
    pub plugin_version: u32,
    /// Threads that are asked for values.
    pub run_per: MetricPer,
    /// When they are asked for values.
    pub sync: MetricSynchronicity,
    /// Least number of ticks between two readings of a [`SYNC`] metric; other kinds ignore it.
    pub delta_t: u64,
    /// Called once, first after the clock has been set. On a result other than 0 the plugin is not used, but still
    /// finalized.
    pub initialize: Option<unsafe extern "C" fn() -> i32>,
    /// Called once, last, just before the library is closed.
    pub finalize: Option<unsafe extern "C" fn()>,
    /// Called once for each token of the user's. Returns the metrics that it stands for, never NULL: Score-P aborts on
    /// NULL. Score-P owns the array from then on.
    pub get_event_info: Option<unsafe extern "C" fn(token: *mut c_char) -> *mut MetricProperties>,
    /// Called for each metric on each thread that is asked for values. Returns the metric's number from then on, or a
    /// negative number on failure. A strictly synchronous metric must not fail.
    pub add_counter: Option<unsafe extern "C" fn(metric_name: *mut c_char) -> i32>,
    /// Returns the bits of the current value; required by [`STRICTLY_SYNC`].
    pub get_current_value: Option<unsafe extern "C" fn(id: i32) -> u64>,
    /// Writes the bits of the current value and returns true, or returns false; required by [`SYNC`].
    pub get_optional_value: Option<unsafe extern "C" fn(id: i32, value: *mut u64) -> bool>,
    /// Passes the function that reads Score-P's clock, once, before `initialize`; required by [`ASYNC`].
    pub set_clock_function: Option<unsafe extern "C" fn(clock_time: Option<unsafe extern "C" fn() -> u64>)>,
    /// Writes a list of values and returns their number; required by [`ASYNC`]. Score-P frees the list; NULL with 0 is
    /// allowed.
    pub get_all_values: Option<unsafe extern "C" fn(id: i32, time_value_list: *mut *mut TimeValuePair) -> u64>,
    /// Called once at the begin and once at the end, if the plugin has any metric.
    pub synchronize: Option<unsafe extern "C" fn(is_responsible: bool, sync_mode: SynchronizationMode)>,
    /// Zero.
    pub reserved: [u64; 92],
}
