//! Declarations of Score-P's plugin interfaces: types and constants only.
//!
//! If Score-P is installed, the declarations are generated from its headers at build time; otherwise the hand-written
//! ones are used. Both have the same names, fields and values, which the tests of this module compare if there are
//! headers. So the code above works with either, and a library built without Score-P works with it. Rustdoc shows the
//! hand-written declarations if it runs without the headers.
//!
//! A constant has Score-P's name without `SCOREP_METRIC_`, `SCOREP_SUBSTRATES_` or else `SCOREP_`.
//!
//! # Who owns what
//!
//! | memory | made by | freed by |
//! |---|---|---|
//! | [`MetricProperties`] array of `get_event_info` | plugin, with C's `malloc` | Score-P, unless it begins with the end entry |
//! | its `name`s | plugin, with C's `malloc` | Score-P |
//! | its `description`s and `unit`s | plugin | nobody |
//! | [`TimeValuePair`] list of `get_all_values` | plugin, with C's `malloc` | Score-P |
//! | `token`, `metric_name` | Score-P | Score-P; valid during the call |
//! | table of `get_event_functions` | plugin | nobody; used until the end |
//! | [`SubstratePluginCallbacks`] | Score-P | nobody; valid until the end |
//! | `FILE` and paths of `dump_manifest` | Score-P | Score-P; valid during the call |

pub mod measurement;

#[cfg(any(not(scorep_headers), test))]
#[cfg_attr(scorep_headers, expect(unreachable_pub, reason = "only compared with the generated ones"))]
mod plain;

#[cfg(scorep_headers)]
mod generated {
    #![allow(
        missing_docs,
        unreachable_pub,
        dead_code,
        nonstandard_style,
        clippy::all,
        clippy::allow_attributes_without_reason,
        reason = "made by bindgen, read by nobody; documented in plain"
    )]
    include!(concat!(env!("OUT_DIR"), "/scorep.rs"));
}

#[cfg(test)]
#[path = "../../tests/layout/mod.rs"]
mod layout;

#[cfg(scorep_headers)]
use generated as declared;
#[cfg(not(scorep_headers))]
use plain as declared;

pub use declared::{
    ASYNC, ASYNC_EVENT, AnyHandle, BASE_BINARY, BASE_DECIMAL, CallingContextHandle, EVENT_PROGRAM_END, ExitStatus,
    HandleType, INVALID_LINE_NO, INVALID_METRIC, INVALID_REGION, INVALID_SAMPLING_SET, INVALID_SOURCE_FILE, IPC_BAND,
    IPC_BOR, IPC_BYTE, IPC_CHAR, IPC_DOUBLE, IPC_INT, IPC_INT32_T, IPC_INT64_T, IPC_MAX, IPC_MIN, IPC_SUM,
    IPC_UINT32_T, IPC_UINT64_T, IPC_UNSIGNED, IPC_UNSIGNED_CHAR, IpcDatatype, IpcOperation, LOCATION_TYPE_CPU_THREAD,
    LOCATION_TYPE_GPU, LOCATION_TYPE_METRIC, LineNo, Location, LocationGroupHandle, LocationType, MODE_ABSOLUTE_LAST,
    MODE_ABSOLUTE_NEXT, MODE_ABSOLUTE_POINT, MODE_ACCUMULATED_LAST, MODE_ACCUMULATED_NEXT, MODE_ACCUMULATED_POINT,
    MODE_ACCUMULATED_START, MODE_RELATIVE_LAST, MODE_RELATIVE_NEXT, MODE_RELATIVE_POINT, MetricBase, MetricHandle,
    MetricMode, MetricOccurrence, MetricPer, MetricPluginInfo, MetricProfilingType, MetricProperties, MetricScope,
    MetricSourceType, MetricSynchronicity, MetricValueType, NUM_EVENTS, OCCURRENCE_ASYNCHRONOUS,
    OCCURRENCE_SYNCHRONOUS, OCCURRENCE_SYNCHRONOUS_STRICT, ONCE, PARADIGM_CUDA, PARADIGM_USER, PER_HOST, PER_PROCESS,
    PER_THREAD, PLUGIN_VERSION, PROFILING_TYPE_EXCLUSIVE, PROFILING_TYPE_INCLUSIVE, ParadigmClass, ParadigmHandle,
    ParadigmType, ParameterHandle, ParameterType, ProgramEndFunction, RECORDING_DISABLED, RECORDING_ENABLED,
    REGION_ARTIFICIAL, REGION_COLL_ALL2ALL, REGION_COLL_ALL2ONE, REGION_COLL_ONE2ALL, REGION_COLL_OTHER,
    REGION_FUNCTION, REGION_POINT2POINT, REQUIREMENT_CREATE_EXPERIMENT_DIRECTORY, REQUIREMENT_PREVENT_ASYNC_METRICS,
    REQUIREMENT_PREVENT_PER_HOST_AND_ONCE_METRICS, RegionHandle, RegionType, SAMPLING_SET_ABSTRACT, SAMPLING_SET_CPU,
    SAMPLING_SET_GPU, SOURCE_TYPE_OTHER, STRICTLY_SYNC, SUBSTRATE_PLUGIN_VERSION, SYNC, SYNCHRONIZATION_MODE_BEGIN,
    SYNCHRONIZATION_MODE_BEGIN_MPP, SYNCHRONIZATION_MODE_END, SamplingSetClass, SamplingSetHandle, SourceFileHandle,
    StringHandle, SubstrateEvent, SubstrateEventFunction, SubstrateMode, SubstratePluginCallbacks, SubstratePluginInfo,
    SubstrateRequirement, SynchronizationMode, Task, TaskHandle, TimeValuePair, VALUE_DOUBLE, VALUE_INT64,
    VALUE_UINT64, WriteMetricsFunction,
};

impl MetricPluginInfo {
    /// Returns a table without callbacks and with all numbers zero, to complete with `..MetricPluginInfo::zeroed()`.
    ///
    /// The reserved space has to be zero, and so has every field that only a newer Score-P knows.
    #[must_use]
    pub const fn zeroed() -> Self {
        // SAFETY: the hand-written and the generated struct consist of integers and optional function pointers, for
        // which zero is a value.
        unsafe { std::mem::zeroed() }
    }
}

impl SubstratePluginInfo {
    /// Returns a table in which everything is zero, to complete with `..SubstratePluginInfo::zeroed()`.
    ///
    /// The undeclared fields have to be zero, and so has every function that the plugin lacks.
    #[must_use]
    pub const fn zeroed() -> Self {
        // SAFETY: the hand-written and the generated struct consist of an integer and optional function pointers, for
        // which zero is a value.
        unsafe { std::mem::zeroed() }
    }
}

impl MetricProperties {
    /// Returns the entry that ends a list: Score-P stops where `name` is NULL.
    #[must_use]
    pub const fn end() -> Self {
        // SAFETY: the struct consists of integers and raw pointers, for which zero is a value.
        unsafe { std::mem::zeroed() }
    }
}
