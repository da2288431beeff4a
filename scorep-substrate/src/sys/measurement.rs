//! What Score-P's measurement library offers to its own parts and exports without a public header: what makes
//! locations, regions and counters, and what tells how much memory is left.
//!
//! A library that finds these at run time, by name, needs their types, and no header proves them: they are written from
//! what Score-P 8.4 does (`libscorep_measurement.so.11`) and hold for that soname only. What they take and give is
//! public, and compared with the headers as the rest of [`sys`](super) is; their own are [`AttributeHandle`],
//! [`AttributeType`], [`MemoryUse`] and the phases.
//!
//! A type is called what its symbol is, less `SCOREP_`. All of these abort the application on what they do not like:
//! times that fall on a location, regions that do not nest, memory that is used up, a call before the measurement or
//! after it. Strings are copied during the call.

use super::{
    AnyHandle, LineNo, Location, LocationGroupHandle, LocationType, MetricBase, MetricHandle, MetricMode,
    MetricOccurrence, MetricProfilingType, MetricSourceType, MetricValueType, ParadigmType, RegionHandle, RegionType,
    SamplingSetClass, SamplingSetHandle, SourceFileHandle, StringHandle,
};
use std::ffi::{c_char, c_int, c_void};

/// An attribute: something said about one event, in the trace only.
pub type AttributeHandle = AnyHandle;

/// The type of an attribute's values.
pub type AttributeType = u32;
/// [`u64`].
pub const ATTRIBUTE_TYPE_UINT64: AttributeType = 7;
/// A [`StringHandle`].
pub const ATTRIBUTE_TYPE_STRING: AttributeType = 10;

/// `SCOREP_Definitions_NewString`: the string's handle; the same one for the same characters.
pub type DefinitionsNewString = unsafe extern "C" fn(string: *const c_char) -> StringHandle;

/// `SCOREP_Definitions_NewRegion`: a region. Without `canonical_name` (NULL) it is called `name` there too.
pub type DefinitionsNewRegion = unsafe extern "C" fn(
    name: *const c_char,
    canonical_name: *const c_char,
    file: SourceFileHandle,
    begin_line: LineNo,
    end_line: LineNo,
    paradigm: ParadigmType,
    region_type: RegionType,
) -> RegionHandle;

/// `SCOREP_Definitions_NewMetric`: a metric; `exponent` as in [`MetricProperties`](super::MetricProperties).
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

/// `SCOREP_Definitions_NewSamplingSet`: metrics that are written together, under one handle.
pub type DefinitionsNewSamplingSet = unsafe extern "C" fn(
    count: u8,
    metrics: *const MetricHandle,
    occurrence: MetricOccurrence,
    class: SamplingSetClass,
) -> SamplingSetHandle;

/// `SCOREP_Definitions_NewAttribute`: an attribute.
pub type DefinitionsNewAttribute = unsafe extern "C" fn(
    name: *const c_char,
    description: *const c_char,
    attribute_type: AttributeType,
) -> AttributeHandle;

/// `SCOREP_GetProcessLocationGroup`: the location group of this process.
pub type GetProcessLocationGroup = unsafe extern "C" fn() -> LocationGroupHandle;

/// `SCOREP_Location_CreateNonCPULocation`: a location that is no thread, with a page of memory of its own at least.
/// `parent` may be NULL. It lives as long as the measurement; one thread at a time writes to it.
pub type LocationCreateNonCPULocation = unsafe extern "C" fn(
    parent: *mut Location,
    location_type: LocationType,
    paradigm: ParadigmType,
    name: *const c_char,
    group: LocationGroupHandle,
) -> *mut Location;

/// `SCOREP_Location_SetName`: gives a location another name.
pub type LocationSetName = unsafe extern "C" fn(location: *mut Location, name: *const c_char);

/// `SCOREP_Location_EnterRegion`: a region begins on a location (NULL: the calling thread's); `timestamp` in Score-P's
/// ticks.
pub type LocationEnterRegion = unsafe extern "C" fn(location: *mut Location, timestamp: u64, region: RegionHandle);

/// `SCOREP_Location_ExitRegion`: the region that began last ends.
pub type LocationExitRegion = LocationEnterRegion;

/// `SCOREP_Location_TriggerCounterUint64`: writes the value of a sampling set with one metric.
pub type LocationTriggerCounterUint64 =
    unsafe extern "C" fn(location: *mut Location, timestamp: u64, counter: SamplingSetHandle, value: u64);

/// `SCOREP_Location_AddAttribute`: says something about the location's next event. `value` points to a value of the
/// attribute's type, which is copied. Does nothing where no trace is written.
pub type LocationAddAttribute =
    unsafe extern "C" fn(location: *mut Location, attribute: AttributeHandle, value: *const c_void);

/// `SCOREP_EnterRegion` and `SCOREP_ExitRegion`: on the calling thread's location, now.
pub type EnterRegion = unsafe extern "C" fn(region: RegionHandle);

/// `SCOREP_Env_DoTracing`: whether a trace is written.
pub type EnvDoTracing = unsafe extern "C" fn() -> bool;

/// `SCOREP_Env_DoProfiling`: whether a profile is made.
pub type EnvDoProfiling = unsafe extern "C" fn() -> bool;

/// `SCOREP_Status_HasOtf2Flushed`: whether the trace was written to its file before the end, for want of memory.
pub type StatusHasOtf2Flushed = unsafe extern "C" fn() -> bool;

/// `SCOREP_Env_GetTotalMemory`: `SCOREP_TOTAL_MEMORY`, in bytes.
pub type EnvGetTotalMemory = unsafe extern "C" fn() -> u64;

/// `SCOREP_GetBeginEpoch`: when the measurement began, in Score-P's ticks.
pub type GetBeginEpoch = unsafe extern "C" fn() -> u64;

/// `SCOREP_RecordingEnabled`: whether events are recorded now.
pub type RecordingEnabled = unsafe extern "C" fn() -> bool;

/// `SCOREP_Memory_GetLocalDefinitionPageManager`: what holds the definitions; its first word is the allocator of all
/// memory.
pub type MemoryGetLocalDefinitionPageManager = unsafe extern "C" fn() -> *const *mut Allocator;

/// `SCOREP_Memory_GetPageSize`: bytes in a page.
pub type MemoryGetPageSize = unsafe extern "C" fn() -> u64;

/// What hands out pages; Score-P's own, and opaque.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Allocator {
    _unused: [u8; 0],
}

/// Pages of memory that are used for one thing; Score-P's own, and opaque.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PageManager {
    _unused: [u8; 0],
}

/// `SCOREP_Allocator_CreatePageManager`: a page manager without pages, or NULL.
pub type AllocatorCreatePageManager = unsafe extern "C" fn(allocator: *mut Allocator) -> *mut PageManager;

/// `SCOREP_Allocator_Alloc`: memory in one piece, or NULL when there is none.
pub type AllocatorAlloc = unsafe extern "C" fn(pages: *mut PageManager, bytes: usize) -> *mut c_void;

/// `SCOREP_Allocator_DeletePageManager`: gives its pages back.
pub type AllocatorDeletePageManager = unsafe extern "C" fn(pages: *mut PageManager);

/// `SCOREP_Allocator_GetMaxNumberOfPages`: pages in all.
pub type AllocatorGetMaxNumberOfPages = unsafe extern "C" fn(allocator: *const Allocator) -> u32;

/// `SCOREP_Allocator_GetStats`: what of it is in use. Both have to be zero before: of the pages only the two counts are
/// written, and the maintenance's room is added to.
pub type AllocatorGetStats =
    unsafe extern "C" fn(allocator: *mut Allocator, pages: *mut MemoryUse, maintenance: *mut MemoryUse);

/// Memory in use, as [`AllocatorGetStats`] tells it. The maintenance's pages are among those of `pages`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct MemoryUse {
    /// The most pages that were in use at a time.
    pub pages_allocated: u32,
    /// Pages in use.
    pub pages_used: u32,
    /// Bytes.
    pub memory_allocated: usize,
    /// Bytes.
    pub memory_used: usize,
    /// Bytes.
    pub memory_available: usize,
    /// Bytes that only keep the rest aligned.
    pub memory_alignment_loss: usize,
}

/// `scorep_measurement_phase`: how far the measurement is. A variable, which Score-P changes.
pub type MeasurementPhase = c_int;
/// It has not begun.
pub const PHASE_PRE: MeasurementPhase = -1;
/// It is under way.
pub const PHASE_WITHIN: MeasurementPhase = 0;
/// It is over, or ends.
pub const PHASE_POST: MeasurementPhase = 1;

/// `scorep_get_in_measurement`: the calling thread's count (a `sig_atomic_t`) of how deep it is in Score-P. Above 0
/// Score-P records nothing that it intercepts.
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
