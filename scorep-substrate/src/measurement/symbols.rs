//! The functions of Score-P's measurement library that write lanes, by name.

use crate::sys::measurement::*;
use std::ffi::{CStr, c_void};

/// Score-P's function that returns the page manager of all definitions (8), and its variable that holds it (8 and 9).
const DEFINITION_PAGES: [&CStr; 2] =
    [c"SCOREP_Memory_GetLocalDefinitionPageManager", c"scorep_definitions_page_manager"];

macro_rules! symbols {
    ($($field:ident: $type:ty = $name:literal;)*) => {
        /// Names of the symbols that every release has; [`lacking`] knows the others.
        pub const NAMES: &[&CStr] = &[$($name),*];

        /// All functions.
        #[derive(Debug, Clone, Copy)]
        pub(super) struct Symbols {
            $(pub(super) $field: $type,)*
            pages: DefinitionPages,
        }

        impl Symbols {
            /// Looks all of them up.
            ///
            /// # Errors
            /// The name of the first one that is missing.
            ///
            /// # Safety
            /// For each name, `find` returns Score-P's symbol of that name. Where another release may have changed a type,
            /// [`super::trial`] calls the function first, or the user forces it.
            pub(super) unsafe fn find(find: impl Fn(&CStr) -> Option<*mut c_void>) -> Result<Self, String> {
                let wanted = |name: &CStr| find(name).ok_or_else(|| name.to_string_lossy().into_owned());
                Ok(Self {
                    $($field: {
                        let symbol = wanted($name)?;
                        // SAFETY: the caller guarantees the type.
                        unsafe { std::mem::transmute::<*mut c_void, $type>(symbol) }
                    },)*
                    // SAFETY: as above.
                    pages: unsafe { DefinitionPages::find(wanted)? },
                })
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
    record: SwitchRecording = c"SCOREP_EnableRecording";
    record_no_more: SwitchRecording = c"SCOREP_DisableRecording";
    page_size: MemoryGetPageSize = c"SCOREP_Memory_GetPageSize";
    most_pages: AllocatorGetMaxNumberOfPages = c"SCOREP_Allocator_GetMaxNumberOfPages";
    memory_use: AllocatorGetStats = c"SCOREP_Allocator_GetStats";
    new_pages: AllocatorCreatePageManager = c"SCOREP_Allocator_CreatePageManager";
    take: AllocatorAlloc = c"SCOREP_Allocator_Alloc";
    delete_pages: AllocatorDeletePageManager = c"SCOREP_Allocator_DeletePageManager";
}

/// Where the page manager of all definitions is found.
#[derive(Debug, Clone, Copy)]
enum DefinitionPages {
    Function(MemoryGetLocalDefinitionPageManager),
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
            return Ok(Self::Function(unsafe {
                std::mem::transmute::<*mut c_void, MemoryGetLocalDefinitionPageManager>(function)
            }));
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
