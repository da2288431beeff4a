//! What a program that replays recorded callbacks has of the library besides what Score-P has: lanes without a Score-P,
//! and when the ranks of the process began their collectives.

use crate::run;
use crate::stand_ins::{self, Lookup};
use common::guard::guard;
use common::log;
use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Writes the arrivals of the measurement that has ended to that file, as one process of a job sends them to another.
/// Returns 1 then, 0 otherwise: also where nobody wanted a timeline.
///
/// # Safety
/// `path` is NULL or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scorep_nccl_arrivals(path: *const c_char) -> c_int {
    guard("scorep_nccl_arrivals", 0, || {
        if path.is_null() {
            return 0;
        }
        // SAFETY: as the caller promises.
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

/// Has the lanes written through functions of the caller's instead of Score-P's measurement library. To be called
/// before the measurement begins.
///
/// # Safety
/// `lookup` is NULL, or gives for the name of a function of Score-P 8.4's measurement library a function of the same
/// type, which stays, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scorep_nccl_stand_ins(lookup: Option<Lookup>) {
    guard("scorep_nccl_stand_ins", (), || {
        if let Some(lookup) = lookup {
            // SAFETY: as the caller promises.
            unsafe { stand_ins::take(lookup) };
        }
    });
}
