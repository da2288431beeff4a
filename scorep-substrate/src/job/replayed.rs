//! Functions for programs that replay recorded callbacks: lanes without Score-P, the arrivals and the operations of the
//! process, and whether its figures were exported. The recorder's own functions for them are those of
//! `nccl-plugin/src/replayed.rs`.

use crate::run;
use crate::stand_ins::{self, Lookup};
use common::guard::guard;
use common::{log, process, timeline};
use std::ffi::{CStr, OsStr, c_char, c_int};
use std::io;
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
        // SAFETY: the caller upholds the condition.
        let Some(path) = (unsafe { named(path) }) else { return 0 };
        let Some(arrivals) = run::take_arrivals() else { return 0 };
        told(path, std::fs::write(path, arrivals.encode()))
    })
}

/// Keeps the operations of the process in a file instead of memory, which must not exist yet, so that the length of a
/// recording does not matter. Then there are neither lanes nor arrivals. Call this before the measurement begins.
///
/// # Safety
/// `path` is NULL or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scorep_nccl_keep_operations(path: *const c_char) {
    guard("scorep_nccl_keep_operations", (), || {
        // SAFETY: the caller upholds the condition.
        if let Some(path) = unsafe { named(path) } {
            timeline::spool_into(path.to_owned());
        }
    });
}

/// Writes the operations of the ended measurement to a file, with their times on the clock of the process
/// (`common::timeline::Settled`). Returns 1 if they were written, 0 otherwise, also if they were not kept
/// ([`scorep_nccl_keep_operations`]).
///
/// # Safety
/// `path` is NULL or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scorep_nccl_operations(path: *const c_char) -> c_int {
    guard("scorep_nccl_operations", 0, || {
        // SAFETY: the caller upholds the condition.
        let Some(path) = (unsafe { named(path) }) else { return 0 };
        let Some(mut timeline) = run::take_spooled() else { return 0 };
        told(path, timeline.write_settled(path))
    })
}

/// Returns 1 if figures were not exported as the settings ask: an exporter could not begin, or its last export failed.
/// Returns 0 otherwise. Call this after the end of the measurement.
#[unsafe(no_mangle)]
pub extern "C" fn scorep_nccl_exports_failed() -> c_int {
    guard("scorep_nccl_exports_failed", 1, || c_int::from(process::exports_failed()))
}

/// Returns the path that a caller names; `None` for NULL.
///
/// # Safety
/// `path` is NULL or a string that lives as long as `'a`.
unsafe fn named<'a>(path: *const c_char) -> Option<&'a Path> {
    if path.is_null() {
        return None;
    }
    // SAFETY: the caller upholds the condition.
    let path = unsafe { CStr::from_ptr(path) };
    Some(Path::new(OsStr::from_bytes(path.to_bytes())))
}

/// Returns 1 if a file was written; otherwise 0, with a warning.
fn told(path: &Path, written: io::Result<()>) -> c_int {
    if let Err(error) = &written {
        log::warn(&format!("{}: {error}", path.display()));
    }
    c_int::from(written.is_ok())
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
