//! A stand-in for the functions of Score-P's measurement library that the plugin writes lanes with. It keeps what is
//! written for the archive.
//!
//! A handle is a place in a list, counted from 1, since 0 is no handle. A location's pointer is such a handle, too. The
//! stand-in never runs out of memory.

use crate::trace::{Attribute, LaneEvent, LaneRecord, LaneRegion, LaneTrace, Metric, TraceLanes};
use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// `SCOREP_ATTRIBUTE_TYPE_STRING`; the only other type in use is a number of 64 bits.
const TYPE_STRING: u32 = 10;
/// Default of `SCOREP_Env_GetPageSize`, bytes.
const PAGE: u64 = 8192;

/// Everything that the plugin has written.
#[derive(Debug, Default)]
struct Written {
    lanes: TraceLanes,
    /// Attributes for the next event, by lane.
    said: Vec<Vec<(u32, u64)>>,
}

static WRITTEN: Mutex<Option<Written>> = Mutex::new(None);
static BEGIN: AtomicU64 = AtomicU64::new(0);

fn written() -> MutexGuard<'static, Option<Written>> {
    WRITTEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins a measurement at this time.
pub(super) fn begin(time: u64) {
    BEGIN.store(time, Ordering::Relaxed);
    *written() = Some(Written::default());
}

/// Ends the measurement and returns its lanes, without lanes that have no event.
pub(super) fn take() -> TraceLanes {
    let mut lanes = written().take().unwrap_or_default().lanes;
    lanes.lanes.retain(|lane| !lane.records.is_empty());
    lanes
}

/// Appends an item to a list and returns its handle.
fn handle<T>(list: &mut Vec<T>, item: T) -> u32 {
    list.push(item);
    u32::try_from(list.len()).unwrap_or(u32::MAX)
}

/// Runs `act` on the written data; returns `none` outside of a measurement.
fn with<T>(none: T, act: impl FnOnce(&mut Written) -> T) -> T {
    written().as_mut().map_or(none, act)
}

/// Copies a C string of the library; NULL becomes an empty string.
///
/// # Safety
/// `text` is NULL or a C string.
unsafe fn owned(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller guarantees a C string.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Keeps an event of a location, with the attributes that were added for it.
fn keep(location: *mut c_void, time: u64, event: LaneEvent) {
    with((), |written| {
        let place = (location as usize).wrapping_sub(1);
        let Some(lane) = written.lanes.lanes.get_mut(place) else { return };
        let attributes = written.said.get_mut(place).map(std::mem::take).unwrap_or_default();
        lane.records.push(LaneRecord { time, event, attributes });
    });
}

/// # Safety
/// `string` is NULL or a C string.
unsafe extern "C" fn new_string(string: *const c_char) -> u32 {
    // SAFETY: the caller, the library, gives a C string or NULL.
    let string = unsafe { owned(string) };
    with(0, |written| handle(&mut written.lanes.strings, string))
}

/// # Safety
/// `name` is NULL or a C string.
unsafe extern "C" fn new_region(
    name: *const c_char,
    _canonical_name: *const c_char,
    _file: u32,
    _begin_line: u32,
    _end_line: u32,
    paradigm: u32,
    kind: u32,
) -> u32 {
    // SAFETY: the caller, the library, gives a C string or NULL.
    let name = unsafe { owned(name) };
    with(0, |written| handle(&mut written.lanes.regions, LaneRegion { name, kind, paradigm }))
}

/// # Safety
/// The three texts are NULL or C strings.
unsafe extern "C" fn new_metric(
    name: *const c_char,
    description: *const c_char,
    _source: u32,
    mode: u32,
    value_type: u32,
    base: u32,
    exponent: i64,
    unit: *const c_char,
    _profiling_type: u32,
    _parent: u32,
) -> u32 {
    // SAFETY: the caller, the library, gives C strings or NULL.
    let [name, description, unit] = [name, description, unit].map(|text| unsafe { owned(text) });
    let metric = Metric { name, description, unit, mode, value_type, base, exponent };
    with(0, |written| handle(&mut written.lanes.counters, metric))
}

/// Returns the handle of the set's only metric as the handle of the sampling set.
///
/// # Safety
/// `metrics` points to at least one metric.
unsafe extern "C" fn new_sampling_set(_count: u8, metrics: *const u32, _occurrence: u32, _class: u32) -> u32 {
    // SAFETY: the caller, the library, gives a list of one metric.
    unsafe { *metrics }
}

/// # Safety
/// Both texts are NULL or C strings.
unsafe extern "C" fn new_attribute(name: *const c_char, description: *const c_char, kind: u32) -> u32 {
    // SAFETY: the caller, the library, gives C strings or NULL.
    let [name, description] = [name, description].map(|text| unsafe { owned(text) });
    with(0, |written| {
        handle(&mut written.lanes.attributes, Attribute { name, description, is_text: kind == TYPE_STRING })
    })
}

extern "C" fn process_group() -> u32 {
    1
}

/// # Safety
/// `name` is NULL or a C string.
unsafe extern "C" fn new_location(
    _parent: *mut c_void,
    _type: u32,
    _paradigm: u32,
    name: *const c_char,
    _group: u32,
) -> *mut c_void {
    // SAFETY: the caller, the library, gives a C string or NULL.
    let name = unsafe { owned(name) };
    with(std::ptr::null_mut(), |written| {
        written.said.push(Vec::new());
        handle(&mut written.lanes.lanes, LaneTrace { name, records: Vec::new() }) as usize as *mut c_void
    })
}

/// # Safety
/// `name` is NULL or a C string.
unsafe extern "C" fn set_name(location: *mut c_void, name: *const c_char) {
    // SAFETY: the caller, the library, gives a C string or NULL.
    let name = unsafe { owned(name) };
    with((), |written| {
        if let Some(lane) = written.lanes.lanes.get_mut((location as usize).wrapping_sub(1)) {
            lane.name = name;
        }
    });
}

extern "C" fn enter(location: *mut c_void, time: u64, region: u32) {
    keep(location, time, LaneEvent::Enter(region.wrapping_sub(1)));
}

extern "C" fn exit(location: *mut c_void, time: u64, region: u32) {
    keep(location, time, LaneEvent::Leave(region.wrapping_sub(1)));
}

extern "C" fn counter(location: *mut c_void, time: u64, set: u32, value: u64) {
    keep(location, time, LaneEvent::Count(set.wrapping_sub(1), value));
}

/// # Safety
/// `value` points to a string's handle for a string attribute, and to a number of 64 bits for any other attribute.
unsafe extern "C" fn add_attribute(location: *mut c_void, attribute: u32, value: *const c_void) {
    with((), |written| {
        let attribute = attribute.wrapping_sub(1);
        let Some(is_text) = written.lanes.attributes.get(attribute as usize).map(|attribute| attribute.is_text) else {
            return;
        };
        let Some(said) = written.said.get_mut((location as usize).wrapping_sub(1)) else { return };
        let value = if is_text {
            // SAFETY: the caller, the library, gives a string's handle for a string attribute.
            u64::from(unsafe { *value.cast::<u32>() }.wrapping_sub(1))
        } else {
            // SAFETY: the caller, the library, gives a number of 64 bits for any other attribute.
            unsafe { *value.cast::<u64>() }
        };
        said.push((attribute, value));
    });
}

extern "C" fn yes() -> bool {
    true
}

extern "C" fn no() -> bool {
    false
}

extern "C" fn begin_epoch() -> u64 {
    BEGIN.load(Ordering::Relaxed)
}

/// A replay records always.
extern "C" fn switch_recording() {}

/// Returns 0: there is no `SCOREP_TOTAL_MEMORY` of which a part would be set aside for lanes.
extern "C" fn total_memory() -> u64 {
    0
}

extern "C" fn page_size() -> u64 {
    PAGE
}

extern "C" fn most_pages(_allocator: *const c_void) -> u32 {
    u32::MAX
}

/// Leaves both numbers at the caller's 0: no memory is in use.
extern "C" fn memory_use(_allocator: *mut c_void, _pages: *mut c_void, _maintenance: *mut c_void) {}

/// A page manager begins with a pointer to its allocator; nothing reads that allocator.
struct PageManager(*mut c_void);
// SAFETY: the pointer is NULL, and nothing writes to it.
unsafe impl Sync for PageManager {}
static PAGE_MANAGER: PageManager = PageManager(std::ptr::null_mut());

extern "C" fn page_manager() -> *const *mut c_void {
    &raw const PAGE_MANAGER.0
}

/// Returns NULL. The plugin asks for new pages only after a flush, and the stand-in has no flush.
extern "C" fn new_pages(_allocator: *mut c_void) -> *mut c_void {
    std::ptr::null_mut()
}

extern "C" fn take_memory(_pages: *mut c_void, _bytes: usize) -> *mut c_void {
    std::ptr::null_mut()
}

extern "C" fn delete_pages(_pages: *mut c_void) {}

/// Returns the stand-in for a Score-P function of this name, or NULL where there is none.
///
/// # Safety
/// `name` is NULL or a C string.
pub(super) unsafe extern "C" fn find(name: *const c_char) -> *mut c_void {
    // SAFETY: the caller, the library, gives a C string or NULL.
    let name = unsafe { owned(name) };
    let Some(name) = name.strip_prefix("SCOREP_") else { return std::ptr::null_mut() };
    let function: *const () = match name {
        "Definitions_NewString" => new_string as *const (),
        "Definitions_NewRegion" => new_region as *const (),
        "Definitions_NewMetric" => new_metric as *const (),
        "Definitions_NewSamplingSet" => new_sampling_set as *const (),
        "Definitions_NewAttribute" => new_attribute as *const (),
        "GetProcessLocationGroup" => process_group as *const (),
        "Location_CreateNonCPULocation" => new_location as *const (),
        "Location_SetName" => set_name as *const (),
        "Location_EnterRegion" => enter as *const (),
        "Location_ExitRegion" => exit as *const (),
        "Location_TriggerCounterUint64" => counter as *const (),
        "Location_AddAttribute" => add_attribute as *const (),
        "Env_DoTracing" | "RecordingEnabled" => yes as *const (),
        "Env_DoProfiling" | "Status_HasOtf2Flushed" => no as *const (),
        "Env_GetTotalMemory" => total_memory as *const (),
        "EnableRecording" | "DisableRecording" => switch_recording as *const (),
        "GetBeginEpoch" => begin_epoch as *const (),
        "Memory_GetLocalDefinitionPageManager" => page_manager as *const (),
        "Memory_GetPageSize" => page_size as *const (),
        "Allocator_GetMaxNumberOfPages" => most_pages as *const (),
        "Allocator_GetStats" => memory_use as *const (),
        "Allocator_CreatePageManager" => new_pages as *const (),
        "Allocator_Alloc" => take_memory as *const (),
        "Allocator_DeletePageManager" => delete_pages as *const (),
        _ => std::ptr::null(),
    };
    function.cast_mut().cast()
}
