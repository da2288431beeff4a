//! A profiler plugin as NCCL uses it: the table of functions that a library exports for a version of the interface.

use super::{HostError, open, symbol};
use libloading::os::unix::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;

/// Oldest version of the interface that the stand-in can speak.
pub(crate) const OLDEST: u32 = 1;
/// Newest version of the interface that the stand-in can speak.
pub(crate) const NEWEST: u32 = 7;
/// Versions of the interface that the stand-in can speak, in clap's type.
pub(crate) const INTERFACES: std::ops::RangeInclusive<i64> = OLDEST as i64..=NEWEST as i64;

/// The functions of a table: six pointers in every version.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableFunctions {
    pub(crate) name: *const c_char,
    pub(crate) init: *const c_void,
    pub(crate) start: unsafe extern "C" fn(*mut c_void, *mut *mut c_void, *const u8) -> c_int,
    pub(crate) stop: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub(crate) state: unsafe extern "C" fn(*mut c_void, c_int, *const u64) -> c_int,
    pub(crate) finalize: unsafe extern "C" fn(*mut c_void) -> c_int,
}

// SAFETY: the raw pointers are constants of a loaded library, which any thread may use.
unsafe impl Send for TableFunctions {}

pub(crate) type InitV1 = unsafe extern "C" fn(*mut *mut c_void, *mut c_int) -> c_int;
pub(crate) type InitV4 =
    unsafe extern "C" fn(*mut *mut c_void, *mut c_int, *const c_char, u64, c_int, c_int, c_int, *const c_void) -> c_int;
pub(crate) type InitV5 =
    unsafe extern "C" fn(*mut *mut c_void, u64, *mut c_int, *const c_char, c_int, c_int, c_int, *const c_void) -> c_int;

/// A table and its version of the interface.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InterfaceTable {
    pub(crate) api: u32,
    pub(crate) functions: TableFunctions,
}

impl InterfaceTable {
    /// Opens a library and looks up its tables, newest first.
    ///
    /// # Errors
    /// When the library cannot be loaded, or exports none of the versions.
    pub(crate) fn load(path: &Path, versions: std::ops::RangeInclusive<u32>) -> Result<(Library, Self), HostError> {
        let library = open(path)?;
        for api in versions.clone().rev() {
            let name = format!("ncclProfiler_v{api}");
            // SAFETY: a symbol of this name is a table of that version: six pointers.
            let found = unsafe { symbol::<*const TableFunctions>(&library, path, &name) };
            if let Ok(symbol) = found {
                // SAFETY: as above; the caller keeps the library open as long as it uses the table.
                let functions = unsafe { **symbol };
                return Ok((library, Self { api, functions }));
            }
        }
        let what = format!("none of ncclProfiler_v{} to _v{} is exported", versions.start(), versions.end());
        Err(HostError::Refused { path: path.into(), what })
    }

    /// Introduces a communicator to the plugin and returns its context. `shape` is the number of nodes, the number of
    /// ranks, and this process' rank.
    ///
    /// # Errors
    /// In words, when the plugin gives an answer with which NCCL would not go on.
    pub(crate) fn init(&self, comm: u64, name: Option<&CStr>, shape: [i32; 3]) -> Result<u64, String> {
        let [nnodes, nranks, rank] = shape;
        let (name, logger) = (name.map_or(std::ptr::null(), CStr::as_ptr), std::ptr::null());
        let (mut context, mut mask) = (std::ptr::null_mut(), 0);
        let (context_place, mask_place) = (&raw mut context, &raw mut mask);
        let init = self.functions.init;
        let result = if self.api <= 3 {
            // SAFETY: NCCL's interface gives init this type up to v3.
            let init = unsafe { std::mem::transmute::<*const c_void, InitV1>(init) };
            // SAFETY: both pointers point to locals.
            unsafe { init(context_place, mask_place) }
        } else if self.api == 4 {
            // SAFETY: NCCL's interface gives init this type in v4.
            let init = unsafe { std::mem::transmute::<*const c_void, InitV4>(init) };
            // SAFETY: all pointers point to locals, or to data that the caller keeps alive.
            unsafe { init(context_place, mask_place, name, comm, nnodes, nranks, rank, logger) }
        } else {
            // SAFETY: NCCL's interface gives init this type from v5 on.
            let init = unsafe { std::mem::transmute::<*const c_void, InitV5>(init) };
            // SAFETY: all pointers point to locals, or to data that the caller keeps alive.
            unsafe { init(context_place, comm, mask_place, name, nnodes, nranks, rank, logger) }
        };
        if result != 0 || context.is_null() {
            return Err(format!("init of interface v{} gave result {result} and context {context:?}", self.api));
        }
        Ok(context as u64)
    }
}
