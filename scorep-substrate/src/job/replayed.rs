//! Functions for programs that replay recorded callbacks: lanes without Score-P, and the arrivals of the process.

use crate::run;
use crate::stand_ins::{self, Lookup};
use common::guard::guard;
use common::log;
use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Writes the arrivals of the ended measurement to a file, in the form in which a process of a job sends them. Returns
/// 1 if they were written, 0 otherwise, also if no setting asked for a timeline.
///
/// # Safety
/// `path` is NULL or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scorep_nccl_arrivals(path: *const c_char) -> c_int {
    guard("scorep_nccl_arrivals", 0, || {
        if path.is_null() {
            return 0;
        }
        // SAFETY: the caller upholds the condition.
        let path = unsafe { CStr::from_ptr(path) };
        let path = Path::new(OsStr::from_bytes(path.to_bytes()));
        let Some(arrivals) = run::take_arrivals() else { return 0 };
        let written = std::fs::write(path, arrivals.encode());
        if let Err(error) = &written {
            log::warn(&format!("{}: {error}", path.display()));
        }
        c_int::from(written.is_ok())
    })
}

/// Writes lanes through the caller's functions instead of Score-P's measurement library. Call this before the
/// measurement begins.
///
/// # Safety
/// `lookup` is NULL or returns, for the name of a function of Score-P 8.4's measurement library, NULL or a function of
/// the same type that is never unloaded.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scorep_nccl_stand_ins(lookup: Option<Lookup>) {
    guard("scorep_nccl_stand_ins", (), || {
        if let Some(lookup) = lookup {
            // SAFETY: the caller upholds the condition.
            unsafe { stand_ins::take(lookup) };
        }
    });
}
