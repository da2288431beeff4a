//! The functions of Score-P's measurement library that write lanes, by name.
//!
//! Each function aborts the application on a wrong use: times of a location that fall, regions that do not nest, a lack
//! of memory, a call before or after the measurement. Strings are copied during the call. Times are in Score-P's ticks.

use crate::sys::measurement::*;
use crate::sys::*;
use std::ffi::{CStr, c_char, c_void};

/// Score-P's function that returns the page manager of all definitions (8), and its variable that holds it (8 and 9).
const DEFINITION_PAGES: [&CStr; 2] =
    [c"SCOREP_Memory_GetLocalDefinitionPageManager", c"scorep_definitions_page_manager"];

macro_rules! symbols {
    ($($(#[$doc:meta])* $field:ident = $name:literal ($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        /// Names of the symbols that every release has; [`lacking`] knows the others.
        pub const NAMES: &[&CStr] = &[$($name),*];

        /// All functions.
        #[derive(Debug, Clone, Copy)]
        pub(super) struct Symbols {
            $($(#[$doc])* pub(super) $field: unsafe extern "C" fn($($type),*) $(-> $result)?,)*
            pages: DefinitionPages,
        }

        impl Symbols {
            /// Looks all of them up.
            ///
            /// # Errors
            /// The name of the first one that is missing.
            ///
            /// # Safety
            /// For each name, `find` returns Score-P's symbol of that name. Where another release may have changed a
            /// type, [`super::trial`] calls the function first, or the user forces it.
            pub(super) unsafe fn find(find: impl Fn(&CStr) -> Option<*mut c_void>) -> Result<Self, String> {
                let wanted = |name: &CStr| find(name).ok_or_else(|| name.to_string_lossy().into_owned());
                Ok(Self {
                    $($field: {
                        type Function = unsafe extern "C" fn($($type),*) $(-> $result)?;
                        let symbol = wanted($name)?;
                        // SAFETY: the caller guarantees the type.
                        unsafe { std::mem::transmute::<*mut c_void, Function>(symbol) }
                    },)*
                    // SAFETY: as above.
                    pages: unsafe { DefinitionPages::find(wanted)? },
                })
            }
        }
    };
}

symbols! {
    /// Creates a string; equal strings have the same handle.
    new_string = c"SCOREP_Definitions_NewString" (string: *const c_char) -> StringHandle;
    /// Creates a region. If `canonical_name` is NULL, it is the same as `name`.
    new_region = c"SCOREP_Definitions_NewRegion" (
        name: *const c_char, canonical_name: *const c_char, file: SourceFileHandle, begin_line: LineNo,
        end_line: LineNo, paradigm: ParadigmType, region_type: RegionType,
    ) -> RegionHandle;
    /// Creates a metric; `exponent` as in [`MetricProperties`].
    new_metric = c"SCOREP_Definitions_NewMetric" (
        name: *const c_char, description: *const c_char, source: MetricSourceType, mode: MetricMode,
        value_type: MetricValueType, base: MetricBase, exponent: i64, unit: *const c_char,
        profiling_type: MetricProfilingType, parent: MetricHandle,
    ) -> MetricHandle;
    /// Creates a sampling set: metrics that are written together, under one handle.
    new_sampling_set = c"SCOREP_Definitions_NewSamplingSet" (
        count: u8, metrics: *const MetricHandle, occurrence: MetricOccurrence, class: SamplingSetClass,
    ) -> SamplingSetHandle;
    /// Creates an attribute.
    new_attribute = c"SCOREP_Definitions_NewAttribute" (
        name: *const c_char, description: *const c_char, attribute_type: AttributeType,
    ) -> AttributeHandle;
    /// Returns the location group of this process.
    process_group = c"SCOREP_GetProcessLocationGroup" () -> LocationGroupHandle;
    /// Creates a location other than a thread, with at least one page of memory. `parent` may be NULL. It lives as long
    /// as the measurement; one thread at a time may write to it.
    new_location = c"SCOREP_Location_CreateNonCPULocation" (
        parent: *mut Location, location_type: LocationType, paradigm: ParadigmType, name: *const c_char,
        group: LocationGroupHandle,
    ) -> *mut Location;
    /// Enters a region on a location (NULL for the calling thread's).
    enter = c"SCOREP_Location_EnterRegion" (location: *mut Location, timestamp: u64, region: RegionHandle);
    /// Exits the region that was entered last.
    exit = c"SCOREP_Location_ExitRegion" (location: *mut Location, timestamp: u64, region: RegionHandle);
    /// Writes the value of a sampling set with one metric.
    counter = c"SCOREP_Location_TriggerCounterUint64" (
        location: *mut Location, timestamp: u64, counter: SamplingSetHandle, value: u64,
    );
    /// Adds an attribute to the location's next event. `value` points to a value of the attribute's type, which is
    /// copied. Without a trace, it does nothing.
    attribute = c"SCOREP_Location_AddAttribute" (
        location: *mut Location, attribute: AttributeHandle, value: *const c_void,
    );
    /// Renames a location.
    set_name = c"SCOREP_Location_SetName" (location: *mut Location, name: *const c_char);
    /// Returns whether Score-P writes a trace.
    does_tracing = c"SCOREP_Env_DoTracing" () -> bool;
    /// Returns whether Score-P makes a profile.
    does_profiling = c"SCOREP_Env_DoProfiling" () -> bool;
    /// Returns whether Score-P ran out of memory and wrote the trace to its file before the end.
    has_flushed = c"SCOREP_Status_HasOtf2Flushed" () -> bool;
    /// Returns `SCOREP_TOTAL_MEMORY`, in bytes.
    total_memory = c"SCOREP_Env_GetTotalMemory" () -> u64;
    /// Returns when the measurement began.
    begin = c"SCOREP_GetBeginEpoch" () -> u64;
    /// Returns whether events are recorded now.
    is_recording = c"SCOREP_RecordingEnabled" () -> bool;
    /// Switches recording on, on a thread that Score-P knows.
    enable_recording = c"SCOREP_EnableRecording" ();
    /// Switches recording off, on a thread that Score-P knows.
    disable_recording = c"SCOREP_DisableRecording" ();
    /// Returns the bytes in a page.
    page_size = c"SCOREP_Memory_GetPageSize" () -> u64;
    /// Returns the number of all pages.
    page_count = c"SCOREP_Allocator_GetMaxNumberOfPages" (allocator: *const Allocator) -> u32;
    /// Fills in the memory in use. Both structures must be zero before: of `pages`, only the two page counts are
    /// written; to the available bytes of `maintenance`, a value is added.
    memory_use = c"SCOREP_Allocator_GetStats" (
        allocator: *mut Allocator, pages: *mut MemoryUse, maintenance: *mut MemoryUse,
    );
    /// Creates a page manager without pages; returns NULL if that fails.
    new_pages = c"SCOREP_Allocator_CreatePageManager" (allocator: *mut Allocator) -> *mut PageManager;
    /// Allocates memory in one piece; returns NULL if there is none.
    allocate = c"SCOREP_Allocator_Alloc" (pages: *mut PageManager, bytes: usize) -> *mut c_void;
    /// Gives the page manager's pages back.
    delete_pages = c"SCOREP_Allocator_DeletePageManager" (pages: *mut PageManager);
}

/// Returns the page manager of the definitions; its first word is the allocator of all memory.
type GetDefinitionPages = unsafe extern "C" fn() -> *const *mut Allocator;

/// Where the page manager of all definitions is found.
#[derive(Debug, Clone, Copy)]
enum DefinitionPages {
    Function(GetDefinitionPages),
    Variable(*const *const *mut Allocator),
}

// SAFETY: the variable is Score-P's, lives as long as the process, and changes before and after the measurement alone.
unsafe impl Send for DefinitionPages {}
// SAFETY: as for Send.
unsafe impl Sync for DefinitionPages {}

impl DefinitionPages {
    /// # Safety
    /// As of [`Symbols::find`].
    unsafe fn find(find: impl Fn(&CStr) -> Result<*mut c_void, String>) -> Result<Self, String> {
        let [function, variable] = DEFINITION_PAGES;
        if let Ok(function) = find(function) {
            // SAFETY: the caller guarantees the type.
            return Ok(Self::Function(unsafe { std::mem::transmute::<*mut c_void, GetDefinitionPages>(function) }));
        }
        find(variable).map(|variable| Self::Variable(variable.cast_const().cast()))
    }
}

impl Symbols {
    /// Returns the page manager of all definitions, whose first word is the allocator of all memory.
    pub(super) fn definition_pages(&self) -> *const *mut Allocator {
        match self.pages {
            // SAFETY: the function takes nothing and returns a variable.
            DefinitionPages::Function(function) => unsafe { function() },
            // SAFETY: a variable of Score-P's, which lives as long as the process.
            DefinitionPages::Variable(variable) => unsafe { variable.read_volatile() },
        }
    }
}

/// Returns the first symbol that lanes need and a library with these exports does not have.
pub fn lacking(is_exported: impl Fn(&str) -> bool) -> Option<String> {
    let has = |name: &&CStr| is_exported(&name.to_string_lossy());
    let name = match NAMES.iter().find(|name| !has(name)) {
        Some(name) => name,
        None if DEFINITION_PAGES.iter().any(has) => return None,
        None => &DEFINITION_PAGES[1],
    };
    Some(name.to_string_lossy().into_owned())
}

/// Returns the address of a symbol in any loaded library.
pub(crate) fn address(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: dlsym with the default handle only searches the loaded libraries.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}
