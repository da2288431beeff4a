//! Score-P's measurement library in this process: the functions with which its own adapters create locations, regions
//! and counters, looked up by name at run time.
//!
//! If one symbol is missing, or the library is not one for which these types are known, no function of it is called.

use crate::stand_ins;
use crate::sys::measurement::*;
use crate::sys::*;
use std::ffi::{CStr, CString, c_void};
use std::ptr;

/// File name of the measurement library whose symbols have these types: Score-P 8.
pub const KNOWN: &str = "libscorep_measurement.so.11";

/// Bytes of a location's first buffer, if Score-P writes a trace.
pub const BUFFER_BYTES: u64 = 1 << 20;
/// Further bytes of a location, and the least number of pages: its part of the profile, and Score-P's other data.
const PROFILE_BYTES: u64 = 64 << 10;
const PROFILE_PAGES: u64 = 8;
/// Bytes left to Score-P for the end of the measurement, and the least number of pages: definitions, and the profile's
/// last nodes.
pub const LEFT_BYTES: u64 = 2 << 20;
const LEFT_PAGES: u64 = 32;
/// Most pages that a region takes in a location's profile: twice the need of its node and its counters.
const REGION_PAGES: u64 = 4;

macro_rules! symbols {
    ($($field:ident: $type:ty = $name:literal;)*) => {
        /// Names of all symbols.
        pub const NAMES: &[&CStr] = &[$($name),*];

        /// All functions.
        #[derive(Debug, Clone, Copy)]
        struct Symbols { $($field: $type),* }

        impl Symbols {
            /// # Safety
            ///
            /// For each name, `find` returns Score-P's function of that name, or one of the same type.
            unsafe fn find(find: impl Fn(&CStr) -> Result<*mut c_void, String>) -> Result<Self, String> {
                Ok(Self { $($field: {
                    let symbol = find($name)?;
                    // SAFETY: the caller guarantees the type.
                    unsafe { std::mem::transmute::<*mut c_void, $type>(symbol) }
                }),* })
            }
        }
    };
}

symbols! {
    new_string: DefinitionsNewString = c"SCOREP_Definitions_NewString";
    new_region: DefinitionsNewRegion = c"SCOREP_Definitions_NewRegion";
    new_metric: DefinitionsNewMetric = c"SCOREP_Definitions_NewMetric";
    new_sampling_set: DefinitionsNewSamplingSet = c"SCOREP_Definitions_NewSamplingSet";
    new_attribute: DefinitionsNewAttribute = c"SCOREP_Definitions_NewAttribute";
    process_group: GetProcessLocationGroup = c"SCOREP_GetProcessLocationGroup";
    new_location: LocationCreateNonCPULocation = c"SCOREP_Location_CreateNonCPULocation";
    enter: LocationEnterRegion = c"SCOREP_Location_EnterRegion";
    exit: LocationExitRegion = c"SCOREP_Location_ExitRegion";
    counter: LocationTriggerCounterUint64 = c"SCOREP_Location_TriggerCounterUint64";
    attribute: LocationAddAttribute = c"SCOREP_Location_AddAttribute";
    set_name: LocationSetName = c"SCOREP_Location_SetName";
    does_tracing: EnvDoTracing = c"SCOREP_Env_DoTracing";
    does_profiling: EnvDoProfiling = c"SCOREP_Env_DoProfiling";
    has_flushed: StatusHasOtf2Flushed = c"SCOREP_Status_HasOtf2Flushed";
    total_memory: EnvGetTotalMemory = c"SCOREP_Env_GetTotalMemory";
    begin: GetBeginEpoch = c"SCOREP_GetBeginEpoch";
    is_recording: RecordingEnabled = c"SCOREP_RecordingEnabled";
    page_manager: MemoryGetLocalDefinitionPageManager = c"SCOREP_Memory_GetLocalDefinitionPageManager";
    page_size: MemoryGetPageSize = c"SCOREP_Memory_GetPageSize";
    most_pages: AllocatorGetMaxNumberOfPages = c"SCOREP_Allocator_GetMaxNumberOfPages";
    memory_use: AllocatorGetStats = c"SCOREP_Allocator_GetStats";
    new_pages: AllocatorCreatePageManager = c"SCOREP_Allocator_CreatePageManager";
    take: AllocatorAlloc = c"SCOREP_Allocator_Alloc";
    delete_pages: AllocatorDeletePageManager = c"SCOREP_Allocator_DeletePageManager";
}

/// A location of the library's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lane(*mut Location);

// SAFETY: Score-P lets one thread after another write to locations other than threads.
unsafe impl Send for Lane {}

/// Score-P's measurement, as this library uses it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measurement(Symbols);

/// Returns the address of a symbol in any loaded library.
pub(crate) fn address(name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: dlsym with the default handle only searches the loaded libraries.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if address.is_null() {
        Err(format!("Score-P's library does not export {}", name.to_string_lossy()))
    } else {
        Ok(address)
    }
}

/// Checks that the symbols of the loaded measurement library are known.
///
/// # Errors
/// The reason why they are not used, in words.
fn check_library() -> Result<(), String> {
    let Some(address) = NAMES.iter().find_map(|name| address(name).ok()) else {
        return Err(
            "Score-P is not linked as a shared library (scorep --dynamic, or a Score-P built with --enable-shared)"
                .into(),
        );
    };
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr fills in `found`, or returns 0 and leaves zeros, which are valid.
    let (known, found) = unsafe { (libc::dladdr(address, found.as_mut_ptr()) != 0, found.assume_init()) };
    let path = if known && !found.dli_fname.is_null() {
        // SAFETY: the loader's string, which lives as long as the library.
        unsafe { CStr::from_ptr(found.dli_fname) }.to_string_lossy().into_owned()
    } else {
        String::new()
    };
    // Score-P's Python bindings load the library by the link without a version, which linkers use
    let linked = std::fs::canonicalize(&path).map(|file| file.to_string_lossy().into_owned()).unwrap_or_default();
    let is_known = |path: &str| {
        let rest = path.rsplit('/').next().and_then(|name| name.strip_prefix(KNOWN));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    if is_known(&path) || is_known(&linked) {
        Ok(())
    } else {
        Err(format!("Score-P's library is {path}; those known are {KNOWN} (Score-P 8)"))
    }
}

fn text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

impl Measurement {
    /// Looks up all symbols.
    ///
    /// # Errors
    /// The reason why they are not used, in words.
    pub(crate) fn find() -> Result<Self, String> {
        if stand_ins::are_there() {
            // SAFETY: the program that passed the stand-ins guarantees their types.
            return unsafe { Symbols::find(stand_ins::find) }.map(Self);
        }
        check_library()?;
        // SAFETY: `check_library` has checked that the symbols of this library have these types.
        unsafe { Symbols::find(address) }.map(Self)
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

    /// Returns whether Score-P writes a trace.
    pub(crate) fn is_tracing(&self) -> bool {
        // SAFETY: the function takes nothing and reads a variable.
        unsafe { (self.0.does_tracing)() }
    }

    /// Returns `SCOREP_TOTAL_MEMORY` in bytes, and the bytes of it that a location takes.
    pub(crate) fn memory(&self) -> (u64, u64) {
        // SAFETY: the function takes nothing and reads a variable.
        let total = unsafe { (self.0.total_memory)() };
        let page = self.page();
        let buffer = if self.is_tracing() { BUFFER_BYTES.next_multiple_of(page) + page } else { 0 };
        (total, buffer + PROFILE_BYTES.max(PROFILE_PAGES * page))
    }

    /// Returns the bytes of a page (`SCOREP_PAGE_SIZE`), never 0.
    fn page(&self) -> u64 {
        // SAFETY: the function takes nothing and reads a variable.
        unsafe { (self.0.page_size)() }.max(1)
    }

    /// Returns the bytes that are left to Score-P.
    fn left(&self) -> u64 {
        LEFT_BYTES.max(LEFT_PAGES * self.page())
    }

    /// Returns the allocator of all of Score-P's memory.
    fn allocator(&self) -> *mut Allocator {
        // SAFETY: the function takes nothing. The page manager of all definitions exists before plugins are loaded and
        // until the end. It begins with a pointer to the allocator in Score-P 8, which `find` has checked.
        unsafe { *(self.0.page_manager)() }
    }

    /// Returns whether Score-P ran out of memory and wrote its trace to the file.
    fn has_flushed(&self) -> bool {
        // SAFETY: the function takes nothing and reads a variable.
        unsafe { (self.0.has_flushed)() }
    }

    /// Returns the bytes that are free now. The result is right only until the first write of the trace to its file:
    /// Score-P counts pages as used that it was asked for but did not have.
    fn free_memory(&self) -> u64 {
        let (mut pages, mut maintenance) = (MemoryUse::default(), MemoryUse::default());
        // SAFETY: the allocator is Score-P's own; both structures are zero and of the type that it fills in.
        let most = unsafe {
            (self.0.memory_use)(self.allocator(), &raw mut pages, &raw mut maintenance);
            (self.0.most_pages)(self.allocator())
        };
        u64::from(most.saturating_sub(pages.pages_used)) * self.page()
    }

    /// Returns whether Score-P has memory for pieces of these sizes. It allocates the pieces and gives them back.
    fn has_pieces(&self, pieces: &[u64]) -> bool {
        // SAFETY: the allocator is Score-P's own; this function owns the page manager.
        let pages = unsafe { (self.0.new_pages)(self.allocator()) };
        if pages.is_null() {
            return false;
        }
        // SAFETY: as above; the memory is never written to.
        let has = pieces.iter().all(|&bytes| !unsafe { (self.0.take)(pages, bytes as usize) }.is_null());
        // SAFETY: as above; nothing points into the memory.
        unsafe { (self.0.delete_pages)(pages) };
        has
    }

    /// Estimates how many more locations Score-P has memory for. Creating one without memory makes Score-P abort the
    /// application.
    pub(crate) fn room(&self) -> usize {
        let (_, each) = self.memory();
        if self.has_flushed() {
            // now known for one location at a time only
            return usize::from(self.has_pieces(&[each, self.left()]));
        }
        usize::try_from(self.free_memory().saturating_sub(self.left()) / each).unwrap_or(usize::MAX)
    }

    /// Returns whether a location has memory for one more region.
    pub(crate) fn has_room_for_region(&self) -> bool {
        let bytes = REGION_PAGES * self.page();
        if self.has_flushed() { self.has_pieces(&[bytes]) } else { self.free_memory() >= bytes }
    }

    /// Returns whether it is safe to create locations. It is not once the trace has been written to its file while
    /// Score-P makes a profile: the profile would begin in used memory, which Score-P 8.4 takes for fresh.
    pub(crate) fn can_make_locations(&self) -> bool {
        // SAFETY: the function takes nothing and reads a variable.
        let is_profiling = unsafe { (self.0.does_profiling)() };
        !(self.has_flushed() && is_profiling)
    }

    /// Creates a location of this process. The caller has checked [`Measurement::room`].
    pub(crate) fn lane(&self, name: &str) -> Lane {
        let name = text(name);
        // SAFETY: called on the thread that begins or ends the measurement, before the measurement is over; the name is
        // copied.
        Lane(unsafe {
            let group = (self.0.process_group)();
            (self.0.new_location)(ptr::null_mut(), LOCATION_TYPE_GPU, PARADIGM_CUDA, name.as_ptr(), group)
        })
    }

    /// Renames a location.
    pub(crate) fn rename(&self, lane: Lane, name: &str) {
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
    pub(crate) fn enter(&self, lane: Lane, time: u64, region: RegionHandle) {
        // SAFETY: location and region are Score-P's own; the caller keeps to times and nesting.
        unsafe { (self.0.enter)(lane.0, time, region) }
    }

    /// Exits the region that was entered last.
    pub(crate) fn exit(&self, lane: Lane, time: u64, region: RegionHandle) {
        // SAFETY: as in `enter`.
        unsafe { (self.0.exit)(lane.0, time, region) }
    }

    /// Writes a value of a counter.
    pub(crate) fn count(&self, lane: Lane, time: u64, counter: SamplingSetHandle, value: u64) {
        // SAFETY: as in `enter`; the sampling set has one metric.
        unsafe { (self.0.counter)(lane.0, time, counter, value) }
    }

    /// Adds a number to the location's next event.
    pub(crate) fn say_number(&self, lane: Lane, attribute: AttributeHandle, value: u64) {
        // SAFETY: as in `enter`; the attribute was made for numbers, and the value is copied.
        unsafe { (self.0.attribute)(lane.0, attribute, (&raw const value).cast()) }
    }

    /// Adds a string to the location's next event.
    pub(crate) fn say(&self, lane: Lane, attribute: AttributeHandle, value: StringHandle) {
        // SAFETY: as in `enter`; the attribute was made for strings, and the handle is copied.
        unsafe { (self.0.attribute)(lane.0, attribute, (&raw const value).cast()) }
    }
}
