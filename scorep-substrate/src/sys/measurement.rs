//! Functions of Score-P's measurement library that have no public header: they create locations, regions and counters,
//! and tell how much memory is left. Score-P's own adapters use them.
//!
//! This library finds them by name at run time. No header that is installed confirms their types: they follow from the
//! behaviour of Score-P 8.4 and 9.0 (`libscorep_measurement.so.11` and `.so.13`), and another release is tried first.
//! Their parameters have public types, which are compared with the headers like the rest of [`sys`](super). The
//! exceptions are [`AttributeHandle`], [`AttributeType`], [`MemoryUse`] and the phases.
//!
//! A type has the name of its symbol without `SCOREP_`. Each function aborts the application on a wrong use: times of a
//! location that fall, regions that do not nest, a lack of memory, a call before or after the measurement. Strings are
//! copied during the call.

use super::{
    AnyHandle, LineNo, Location, LocationGroupHandle, LocationType, MetricBase, MetricHandle, MetricMode,
    MetricOccurrence, MetricProfilingType, MetricSourceType, MetricValueType, ParadigmType, RegionHandle, RegionType,
    SamplingSetClass, SamplingSetHandle, SourceFileHandle, StringHandle,
};
use std::ffi::{c_char, c_int, c_void};

/// An attribute: a property of single events, in the trace only.
pub type AttributeHandle = AnyHandle;

/// The type of an attribute's values.
pub type AttributeType = u32;
/// The values are [`u64`].
pub const ATTRIBUTE_TYPE_UINT64: AttributeType = 7;
/// The values are [`StringHandle`]s.
pub const ATTRIBUTE_TYPE_STRING: AttributeType = 10;

/// `SCOREP_Definitions_NewString`: creates a string; equal strings have the same handle.
pub type DefinitionsNewString = unsafe extern "C" fn(string: *const c_char) -> StringHandle;

/// `SCOREP_Definitions_NewRegion`: creates a region. If `canonical_name` is NULL, it is the same as `name`.
pub type DefinitionsNewRegion = unsafe extern "C" fn(
    name: *const c_char,
    canonical_name: *const c_char,
    file: SourceFileHandle,
    begin_line: LineNo,
    end_line: LineNo,
    paradigm: ParadigmType,
    region_type: RegionType,
) -> RegionHandle;

/// `SCOREP_Definitions_NewMetric`: creates a metric; `exponent` as in [`MetricProperties`](super::MetricProperties).
pub type DefinitionsNewMetric = unsafe extern "C" fn(
    name: *const c_char,
    description: *const c_char,
    source: MetricSourceType,
    mode: MetricMode,
    value_type: MetricValueType,
    base: MetricBase,
    exponent: i64,
    unit: *const c_char,
    profiling_type: MetricProfilingType,
    parent: MetricHandle,
) -> MetricHandle;

/// `SCOREP_Definitions_NewSamplingSet`: creates a sampling set: metrics that are written together, under one handle.
pub type DefinitionsNewSamplingSet = unsafe extern "C" fn(
    count: u8,
    metrics: *const MetricHandle,
    occurrence: MetricOccurrence,
    class: SamplingSetClass,
) -> SamplingSetHandle;

/// `SCOREP_Definitions_NewAttribute`: creates an attribute.
pub type DefinitionsNewAttribute = unsafe extern "C" fn(
    name: *const c_char,
    description: *const c_char,
    attribute_type: AttributeType,
) -> AttributeHandle;

/// `SCOREP_GetProcessLocationGroup`: returns the location group of this process.
pub type GetProcessLocationGroup = unsafe extern "C" fn() -> LocationGroupHandle;

/// `SCOREP_Location_CreateNonCPULocation`: creates a location other than a thread, with at least one page of memory.
/// `parent` may be NULL. It lives as long as the measurement; one thread at a time may write to it.
pub type LocationCreateNonCPULocation = unsafe extern "C" fn(
    parent: *mut Location,
    location_type: LocationType,
    paradigm: ParadigmType,
    name: *const c_char,
    group: LocationGroupHandle,
) -> *mut Location;

/// `SCOREP_Location_SetName`: renames a location.
pub type LocationSetName = unsafe extern "C" fn(location: *mut Location, name: *const c_char);

/// `SCOREP_Location_EnterRegion`: enters a region on a location (NULL for the calling thread's); `timestamp` is in
/// Score-P's ticks.
pub type LocationEnterRegion = unsafe extern "C" fn(location: *mut Location, timestamp: u64, region: RegionHandle);

/// `SCOREP_Location_ExitRegion`: exits the region that was entered last.
pub type LocationExitRegion = LocationEnterRegion;

/// `SCOREP_Location_TriggerCounterUint64`: writes the value of a sampling set with one metric.
pub type LocationTriggerCounterUint64 =
    unsafe extern "C" fn(location: *mut Location, timestamp: u64, counter: SamplingSetHandle, value: u64);

/// `SCOREP_Location_AddAttribute`: adds an attribute to the location's next event. `value` points to a value of the
/// attribute's type, which is copied. Without a trace, it does nothing.
pub type LocationAddAttribute =
    unsafe extern "C" fn(location: *mut Location, attribute: AttributeHandle, value: *const c_void);

/// `SCOREP_EnterRegion` and `SCOREP_ExitRegion`: enter and exit a region on the calling thread's location, at the
/// current time.
pub type EnterRegion = unsafe extern "C" fn(region: RegionHandle);

/// `SCOREP_Env_DoTracing`: whether Score-P writes a trace.
pub type EnvDoTracing = unsafe extern "C" fn() -> bool;

/// `SCOREP_Env_DoProfiling`: whether Score-P makes a profile.
pub type EnvDoProfiling = unsafe extern "C" fn() -> bool;

/// `SCOREP_Status_HasOtf2Flushed`: whether Score-P ran out of memory and wrote the trace to its file before the end.
pub type StatusHasOtf2Flushed = unsafe extern "C" fn() -> bool;

/// `SCOREP_Env_GetTotalMemory`: `SCOREP_TOTAL_MEMORY`, in bytes.
pub type EnvGetTotalMemory = unsafe extern "C" fn() -> u64;

/// `SCOREP_GetBeginEpoch`: when the measurement began, in Score-P's ticks.
pub type GetBeginEpoch = unsafe extern "C" fn() -> u64;

/// `SCOREP_RecordingEnabled`: whether events are recorded now.
pub type RecordingEnabled = unsafe extern "C" fn() -> bool;

/// `SCOREP_EnableRecording` and `SCOREP_DisableRecording`: switch recording on and off, on a thread that Score-P knows.
pub type SwitchRecording = unsafe extern "C" fn();

/// `SCOREP_Memory_GetLocalDefinitionPageManager`: returns the page manager of the definitions; its first word is the
/// allocator of all memory. From Score-P 9 on the variable `scorep_definitions_page_manager` has it.
pub type MemoryGetLocalDefinitionPageManager = unsafe extern "C" fn() -> *const *mut Allocator;

/// `SCOREP_Memory_GetPageSize`: bytes in a page.
pub type MemoryGetPageSize = unsafe extern "C" fn() -> u64;

/// Allocator of pages; Score-P's own, and opaque.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Allocator {
    _unused: [u8; 0],
}

/// Pages of memory for one purpose; Score-P's own, and opaque.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PageManager {
    _unused: [u8; 0],
}

/// `SCOREP_Allocator_CreatePageManager`: creates a page manager without pages; returns NULL if that fails.
pub type AllocatorCreatePageManager = unsafe extern "C" fn(allocator: *mut Allocator) -> *mut PageManager;

/// `SCOREP_Allocator_Alloc`: allocates memory in one piece; returns NULL if there is none.
pub type AllocatorAlloc = unsafe extern "C" fn(pages: *mut PageManager, bytes: usize) -> *mut c_void;

/// `SCOREP_Allocator_DeletePageManager`: gives the page manager's pages back.
pub type AllocatorDeletePageManager = unsafe extern "C" fn(pages: *mut PageManager);

/// `SCOREP_Allocator_GetMaxNumberOfPages`: returns the number of all pages.
pub type AllocatorGetMaxNumberOfPages = unsafe extern "C" fn(allocator: *const Allocator) -> u32;

/// `SCOREP_Allocator_GetStats`: fills in the memory in use. Both structures must be zero before: of `pages`, only the
/// two page counts are written; to the available bytes of `maintenance`, a value is added.
pub type AllocatorGetStats =
    unsafe extern "C" fn(allocator: *mut Allocator, pages: *mut MemoryUse, maintenance: *mut MemoryUse);

/// Memory in use, from [`AllocatorGetStats`]. The pages of `maintenance` are included in those of `pages`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct MemoryUse {
    /// Greatest number of pages in use at a time.
    pub pages_allocated: u32,
    /// Number of pages in use.
    pub pages_used: u32,
    /// Bytes allocated.
    pub memory_allocated: usize,
    /// Bytes in use.
    pub memory_used: usize,
    /// Bytes available.
    pub memory_available: usize,
    /// Bytes lost to alignment.
    pub memory_alignment_loss: usize,
}

/// `scorep_measurement_phase`: the phase of the measurement. A variable, which Score-P changes.
pub type MeasurementPhase = c_int;
/// The measurement has not begun.
pub const PHASE_PRE: MeasurementPhase = -1;
/// The measurement is in progress.
pub const PHASE_WITHIN: MeasurementPhase = 0;
/// The measurement ends or has ended.
pub const PHASE_POST: MeasurementPhase = 1;

/// `scorep_get_in_measurement`: returns the calling thread's count (a `sig_atomic_t`) of how deep it is inside Score-P.
/// While it is above 0, Score-P records none of the calls that it intercepts.
pub type GetInMeasurement = unsafe extern "C" fn() -> *mut c_int;

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::MemoryUse;
    use std::mem::offset_of;

    #[test]
    fn memory_use_has_the_layout_of_score_p_8_4() {
        let offsets = [
            offset_of!(MemoryUse, pages_used),
            offset_of!(MemoryUse, memory_allocated),
            offset_of!(MemoryUse, memory_used),
            offset_of!(MemoryUse, memory_available),
            offset_of!(MemoryUse, memory_alignment_loss),
        ];
        assert_eq!((size_of::<MemoryUse>(), offsets), (40, [4, 8, 16, 24, 32]));
    }
}
