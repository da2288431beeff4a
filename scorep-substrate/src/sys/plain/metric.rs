//! The metric plugin interface, version 1, written by hand from what it does.

use std::ffi::c_char;

/// The interface version that this is, for [`MetricPluginInfo::plugin_version`].
///
/// Score-P accepts a plugin that says 0, but then never calls `synchronize`.
pub const PLUGIN_VERSION: u32 = 1;

/// What a metric's values mean, and for which stretch of time.
///
/// First part of a name: `ACCUMULATED` counts from the start of the run, `ABSOLUTE` stands by
/// itself, `RELATIVE` is the change since the value before. Second part, the time that a value
/// describes: `START` from the start of the run, `POINT` the instant only, `LAST` since the value
/// before, `NEXT` up to the value after. A trace keeps the mode; a profile takes no notice of it.
pub type MetricMode = u32;
/// Counted since the start of the run.
pub const MODE_ACCUMULATED_START: MetricMode = 0;
/// Counted, known at the instant only.
pub const MODE_ACCUMULATED_POINT: MetricMode = 1;
/// Counted, describes the time since the value before.
pub const MODE_ACCUMULATED_LAST: MetricMode = 2;
/// Counted, describes the time up to the value after.
pub const MODE_ACCUMULATED_NEXT: MetricMode = 3;
/// Measured at the instant.
pub const MODE_ABSOLUTE_POINT: MetricMode = 4;
/// Measured over the time since the value before.
pub const MODE_ABSOLUTE_LAST: MetricMode = 5;
/// Holds from now until the value after.
pub const MODE_ABSOLUTE_NEXT: MetricMode = 6;
/// A change at the instant.
pub const MODE_RELATIVE_POINT: MetricMode = 7;
/// A change over the time since the value before.
pub const MODE_RELATIVE_LAST: MetricMode = 8;
/// A change over the time up to the value after.
pub const MODE_RELATIVE_NEXT: MetricMode = 9;

/// How the 64 bits of a value are to be read.
pub type MetricValueType = u32;
/// Signed integer.
pub const VALUE_INT64: MetricValueType = 0;
/// Unsigned integer.
pub const VALUE_UINT64: MetricValueType = 1;
/// Floating point: the bits of a double, as [`f64::to_bits`] gives them.
pub const VALUE_DOUBLE: MetricValueType = 2;

/// The base that [`MetricProperties::exponent`] belongs to.
pub type MetricBase = u32;
/// Powers of two.
pub const BASE_BINARY: MetricBase = 0;
/// Powers of ten.
pub const BASE_DECIMAL: MetricBase = 1;

/// Who is asked for values.
pub type MetricPer = u32;
/// Every thread of every process.
pub const PER_THREAD: MetricPer = 0;
/// The first thread of every process.
pub const PER_PROCESS: MetricPer = 1;
/// One thread of every node.
pub const PER_HOST: MetricPer = 2;
/// One thread of the whole run.
pub const ONCE: MetricPer = 3;

/// When Score-P asks for values, hence which callback it needs.
pub type MetricSynchronicity = u32;
/// At every event, and there must be an answer: `get_current_value`. Together with [`PER_THREAD`]
/// only.
pub const STRICTLY_SYNC: MetricSynchronicity = 0;
/// At every event, with an answer or none: `get_optional_value`.
pub const SYNC: MetricSynchronicity = 1;
/// At events, for all that was measured in between: `get_all_values`. Score-P 8.4 crashes on it.
pub const ASYNC_EVENT: MetricSynchronicity = 2;
/// Once at the end, for all values with their times: `get_all_values`. Dropped where a profile is
/// made.
pub const ASYNC: MetricSynchronicity = 3;

/// The moment at which `synchronize` is called.
pub type SynchronizationMode = u32;
/// The measurement begins, in a program without MPI: before `main`.
pub const SYNCHRONIZATION_MODE_BEGIN: SynchronizationMode = 0;
/// The measurement begins, in a program with MPI: inside `MPI_Init`. Comes instead of the former.
pub const SYNCHRONIZATION_MODE_BEGIN_MPP: SynchronizationMode = 1;
/// The measurement ends: in an exit handler, after what was registered later has been torn down.
pub const SYNCHRONIZATION_MODE_END: SynchronizationMode = 2;

/// One metric, as `get_event_info` describes it; an array of these ends with an entry without a
/// name.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MetricProperties {
    /// NUL-terminated; letters, digits and underscores. From `malloc`: Score-P frees it at the end.
    pub name: *mut c_char,
    /// NUL-terminated, or NULL for none. Used until the end of the process and never freed.
    pub description: *mut c_char,
    /// What the values mean.
    pub mode: MetricMode,
    /// How the bits of a value are read.
    pub value_type: MetricValueType,
    /// Base of the scale.
    pub base: MetricBase,
    /// A value counts `base` to the power of this many `unit`s.
    pub exponent: i64,
    /// NUL-terminated, or NULL for a mere number. Used until the end of the process and never
    /// freed.
    pub unit: *mut c_char,
}

/// One value of an asynchronous metric.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TimeValuePair {
    /// Ticks of Score-P's clock. They must not fall within a list: an older value is dropped
    /// silently.
    pub timestamp: u64,
    /// The value's bits.
    pub value: u64,
}

/// What a metric plugin hands to Score-P: returned by value from
/// `SCOREP_MetricPlugin_<name>_get_info`.
///
/// Score-P copies it. Callbacks are called from the application's threads, and none may unwind.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MetricPluginInfo {
    /// [`PLUGIN_VERSION`].
    pub plugin_version: u32,
    /// Who is asked for values.
    pub run_per: MetricPer,
    /// When values are asked for.
    pub sync: MetricSynchronicity,
    /// The fewest ticks between two readings of a [`SYNC`] metric; other kinds take no notice of
    /// it.
    pub delta_t: u64,
    /// Called once, first after the clock has been set. Other than 0: the plugin is not used, yet
    /// finalized.
    pub initialize: Option<unsafe extern "C" fn() -> i32>,
    /// Called once, last, just before the library is closed.
    pub finalize: Option<unsafe extern "C" fn()>,
    /// Called once for each token that the user asked for; the metrics that it stands for, never
    /// NULL. Score-P aborts on NULL. The array is its own from then on.
    pub get_event_info: Option<unsafe extern "C" fn(token: *mut c_char) -> *mut MetricProperties>,
    /// Called for each metric by each thread that is asked for values; gives the number by which it
    /// is known from then on, or a negative one on failure. A strictly synchronous metric must not
    /// fail.
    pub add_counter: Option<unsafe extern "C" fn(metric_name: *mut c_char) -> i32>,
    /// The bits of the current value; needed by [`STRICTLY_SYNC`].
    pub get_current_value: Option<unsafe extern "C" fn(id: i32) -> u64>,
    /// Writes the bits of the current value and gives true, or gives false; needed by [`SYNC`].
    pub get_optional_value: Option<unsafe extern "C" fn(id: i32, value: *mut u64) -> bool>,
    /// Brings the function that reads Score-P's clock, once, before `initialize`; needed by
    /// [`ASYNC`].
    pub set_clock_function: Option<unsafe extern "C" fn(clock_time: Option<unsafe extern "C" fn() -> u64>)>,
    /// Writes a list of values and gives their number; needed by [`ASYNC`]. Score-P frees the list;
    /// NULL with 0 is allowed.
    pub get_all_values: Option<unsafe extern "C" fn(id: i32, time_value_list: *mut *mut TimeValuePair) -> u64>,
    /// Called once at the beginning and once at the end, if the plugin has a metric at all.
    pub synchronize: Option<unsafe extern "C" fn(is_responsible: bool, sync_mode: SynchronizationMode)>,
    /// Zero.
    pub reserved: [u64; 92],
}
