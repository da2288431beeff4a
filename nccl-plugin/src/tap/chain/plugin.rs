//! The second plugin's table: looked up, and called in its own version of the interface.

use super::library::LoadedLibrary;
use crate::interface::descriptor::Descriptor;
use crate::interface::introduction::Introduction;
use crate::interface::version::{V4, V5, V6, V7, Version};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::NonNull;

/// Supported versions, newest first, as NCCL looks them up.
const SUPPORTED_VERSIONS: [(u32, &CStr); 4] =
    [(7, c"ncclProfiler_v7"), (6, c"ncclProfiler_v6"), (5, c"ncclProfiler_v5"), (4, c"ncclProfiler_v4")];
/// Versions that are too old: their init does not describe the communicator.
const TOO_OLD: [&CStr; 3] = [c"ncclProfiler_v3", c"ncclProfiler_v2", c"ncclProfiler_v1"];

/// The type of init in v4.
type NamedInit =
    unsafe extern "C" fn(*mut *mut c_void, *mut c_int, *const c_char, u64, c_int, c_int, c_int, *const c_void) -> c_int;
/// The type of init since v5.
type Init =
    unsafe extern "C" fn(*mut *mut c_void, u64, *mut c_int, *const c_char, c_int, c_int, c_int, *const c_void) -> c_int;

/// A table in the plugin's memory: six pointers in every version.
#[repr(C)]
#[derive(Clone, Copy)]
struct PluginTable {
    name: *const c_char,
    init: Option<NonNull<c_void>>,
    start: Option<unsafe extern "C" fn(*mut c_void, *mut *mut c_void, *const c_void) -> c_int>,
    stop: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
    state: Option<unsafe extern "C" fn(*mut c_void, c_int, *mut u64) -> c_int>,
    finalize: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
}

/// The second plugin. The user, who chose it, answers for its functions, as when NCCL calls them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plugin {
    version: u32,
    init: NonNull<c_void>,
    start: unsafe extern "C" fn(*mut c_void, *mut *mut c_void, *const c_void) -> c_int,
    stop: unsafe extern "C" fn(*mut c_void) -> c_int,
    state: unsafe extern "C" fn(*mut c_void, c_int, *mut u64) -> c_int,
    finalize: unsafe extern "C" fn(*mut c_void) -> c_int,
}

// SAFETY: the functions are constants of a library that is never unloaded; plugins of NCCL are called from any thread.
unsafe impl Send for Plugin {}
// SAFETY: as for Send.
unsafe impl Sync for Plugin {}

impl Plugin {
    /// Looks up the newest supported table of a library.
    ///
    /// # Errors
    /// The reason, in words, if there is none.
    pub(super) fn find(library: &LoadedLibrary) -> Result<Self, String> {
        let found = SUPPORTED_VERSIONS.iter().find_map(|(version, symbol)| Some((*version, library.symbol(symbol)?)));
        let Some((version, table)) = found else {
            let is_old = TOO_OLD.iter().any(|symbol| library.symbol(symbol).is_some());
            return Err(if is_old {
                "its profiler interface is older than v4"
            } else {
                "it has no table ncclProfiler_v4 or later"
            }
            .into());
        };
        // SAFETY: NCCL defines a table of this name as six pointers; the library is never unloaded.
        let table = unsafe { table.cast::<PluginTable>().read() };
        let (Some(init), Some(start), Some(stop), Some(state), Some(finalize)) =
            (table.init, table.start, table.stop, table.state, table.finalize)
        else {
            return Err(format!("its table ncclProfiler_v{version} lacks a function"));
        };
        Ok(Self { version, init, start, stop, state, finalize })
    }

    /// Returns the version of the second plugin's interface.
    pub(super) fn version(&self) -> u32 {
        self.version
    }

    /// Calls init and returns the plugin's context.
    ///
    /// # Errors
    /// The result of init, if it is not 0 or there is no context.
    ///
    /// # Safety
    /// `mask` is writable as long as the process lives; the logger is NULL or NCCL's.
    pub(super) unsafe fn init(
        &self,
        mask: *mut c_int,
        introduction: &Introduction<'_>,
    ) -> Result<NonNull<c_void>, c_int> {
        let Introduction { id, name, nodes, ranks, rank, logger } = *introduction;
        let name = name.map_or(std::ptr::null(), CStr::as_ptr);
        let mut context = std::ptr::null_mut();
        let place = &raw mut context;
        let init = self.init.as_ptr();
        let result = if self.version == 4 {
            // SAFETY: the table is v4's, whose init has this type.
            let init = unsafe { std::mem::transmute::<*mut c_void, NamedInit>(init) };
            // SAFETY: the caller upholds the conditions, and `place` is a local.
            unsafe { init(place, mask, name, id, nodes, ranks, rank, logger) }
        } else {
            // SAFETY: the table is v5's or later, whose init has this type.
            let init = unsafe { std::mem::transmute::<*mut c_void, Init>(init) };
            // SAFETY: the caller upholds the conditions, and `place` is a local.
            unsafe { init(place, id, mask, name, nodes, ranks, rank, logger) }
        };
        NonNull::new(context).filter(|_| result == 0).ok_or(result)
    }

    /// Starts an event. Returns the plugin's handle, or 0 if it gave none or its version lacks the event's type.
    ///
    /// # Errors
    /// The result of the plugin, if it is not 0.
    pub(super) fn start(&self, context: u64, descriptor: &Descriptor<'_>) -> Result<u64, c_int> {
        match self.version {
            4 => self.start_as::<V4>(context, descriptor),
            5 => self.start_as::<V5>(context, descriptor),
            6 => self.start_as::<V6>(context, descriptor),
            _ => self.start_as::<V7>(context, descriptor),
        }
    }

    fn start_as<V: Version>(&self, context: u64, descriptor: &Descriptor<'_>) -> Result<u64, c_int> {
        let Some(raw) = V::encode(descriptor) else { return Ok(0) };
        let mut handle = std::ptr::null_mut();
        // SAFETY: the context is the plugin's own. The descriptor is of its version, with NCCL's strings, alive during
        // the callback.
        let result = unsafe { (self.start)(context as *mut c_void, &raw mut handle, (&raw const raw).cast()) };
        if result == 0 { Ok(handle as u64) } else { Err(result) }
    }

    /// Passes on a state change.
    pub(super) fn state(&self, handle: u64, state: c_int, value: Option<u64>) -> c_int {
        let mut value = value;
        let arguments = value.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
        // SAFETY: the handle is the plugin's own and not stopped. The arguments are NULL or 64 bits, the size of NCCL's
        // union.
        unsafe { (self.state)(handle as *mut c_void, state, arguments) }
    }

    /// Stops an event.
    pub(super) fn stop(&self, handle: u64) -> c_int {
        // SAFETY: the handle is the plugin's own; `ChainEvents::end` returns it to one caller only.
        unsafe { (self.stop)(handle as *mut c_void) }
    }

    /// Ends a communicator.
    pub(super) fn finalize(&self, context: u64) -> c_int {
        // SAFETY: the context is the plugin's own; `Contexts::end` returns it to one caller only.
        unsafe { (self.finalize)(context as *mut c_void) }
    }
}
