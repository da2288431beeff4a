//! The functions that the library exports for a replay only.

use super::kernels::{Anchored, Tell};
use super::{HostError, measurement, open, symbol};
use crate::capture::CaptureSurvey;
use common::origin::Origin;
use libloading::os::unix::Library;
use std::ffi::{CString, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Longest wait for the collector to catch up, milliseconds.
const PATIENCE: u32 = 60_000;

/// What a library of an earlier version lacks.
const TOO_OLD: &str = "this library gives out no operations: install the one of this tool's version";

/// Type of the function that returns the stand-in for a Score-P function of this name.
type StandInLookup = unsafe extern "C" fn(*const c_char) -> *mut c_void;

/// The library's functions for a replay, and the library that holds them.
pub(super) struct LibraryFunctions {
    flush: unsafe extern "C" fn(u32) -> i32,
    /// This function and the optional ones below are missing in older libraries.
    pub(super) kernel_events: Option<Tell>,
    pub(super) kernel_anchor: Option<Anchored>,
    arrivals: Option<unsafe extern "C" fn(*const c_char) -> i32>,
    recording_lacks: Option<unsafe extern "C" fn(u64)>,
    recorded_process: Option<unsafe extern "C" fn(u32, *const c_char)>,
    stand_ins: Option<unsafe extern "C" fn(StandInLookup)>,
    recording_is_cut: Option<unsafe extern "C" fn()>,
    keep_operations: Option<unsafe extern "C" fn(*const c_char)>,
    operations: Option<unsafe extern "C" fn(*const c_char) -> i32>,
    exports_failed: Option<unsafe extern "C" fn() -> i32>,
    /// The library's path, for messages.
    path: PathBuf,
    _library: Library,
}

/// Files for the operations of a playing.
#[derive(Debug)]
pub(crate) struct OperationFiles {
    /// Where the library keeps operations meanwhile.
    pub(crate) spool: PathBuf,
    /// Operations with their times (`common::timeline::Settled`).
    pub(crate) settled: PathBuf,
}

/// Returns a function that an older library may lack.
///
/// # Safety
/// A library that exports the symbol gives it the type `T`.
unsafe fn optional<T: Copy>(library: &Library, path: &Path, name: &str) -> Option<T> {
    // SAFETY: the caller guarantees the type.
    unsafe { symbol::<T>(library, path, name) }.ok().map(|found| *found)
}

impl LibraryFunctions {
    pub(super) fn find(path: &Path) -> Result<Self, HostError> {
        let library = open(path)?;
        // SAFETY: every library that exports this symbol gives it this type.
        let flush = *unsafe { symbol::<unsafe extern "C" fn(u32) -> i32>(&library, path, "scorep_nccl_flush") }?;
        // SAFETY: every library that exports one of these symbols gives it the type of the field.
        Ok(unsafe {
            Self {
                flush,
                kernel_anchor: optional(&library, path, "scorep_nccl_kernel_anchor"),
                kernel_events: optional(&library, path, "scorep_nccl_kernel_events"),
                arrivals: optional(&library, path, "scorep_nccl_arrivals"),
                recording_lacks: optional(&library, path, "scorep_nccl_recording_lacks"),
                recorded_process: optional(&library, path, "scorep_nccl_recorded_process"),
                stand_ins: optional(&library, path, "scorep_nccl_stand_ins"),
                recording_is_cut: optional(&library, path, "scorep_nccl_recording_is_cut"),
                keep_operations: optional(&library, path, "scorep_nccl_keep_operations"),
                operations: optional(&library, path, "scorep_nccl_operations"),
                exports_failed: optional(&library, path, "scorep_nccl_exports_failed"),
                path: path.to_owned(),
                _library: library,
            }
        })
    }

    /// Makes the library write its lanes, where they are wanted, through the stand-ins for Score-P's functions. Does
    /// nothing with an older library.
    pub(super) fn stand_in_for_score_p(&self, begin: u64) {
        if let Some(stand_ins) = self.stand_ins {
            measurement::begin(begin);
            // SAFETY: the function takes such a lookup function. The stand-ins that `find` returns have the types of
            // Score-P's functions and exist as long as the process.
            unsafe { stand_ins(measurement::find) };
        }
    }

    /// Tells the library which part of the process the capture lacks, if the library has the functions.
    pub(super) fn tell_missing(&self, survey: &CaptureSurvey) {
        if let (false, Some(cut)) = (survey.is_complete, self.recording_is_cut) {
            // SAFETY: the function takes no argument.
            unsafe { cut() };
        }
        if let Some(lacks) = self.recording_lacks {
            // SAFETY: the function takes any number.
            unsafe { lacks(survey.meta.dropped) };
        }
    }

    /// Tells the library which process was recorded, if the library has the function.
    pub(super) fn tell_process(&self, path: &Path, survey: &CaptureSurvey) {
        let file = Some(path.display().to_string());
        let process = CString::new(Origin { file, ..survey.meta.origin.clone() }.known());
        if let (Some(recorded_process), Ok(process)) = (self.recorded_process, process) {
            // SAFETY: the argument is a C string that lives during the call.
            unsafe { recorded_process(survey.meta.pid.cast_unsigned(), process.as_ptr()) };
        }
    }

    /// Makes the library write the times at which ranks began their collectives to this file, if it can.
    pub(super) fn write_arrivals(&self, path: &Path) {
        if let (Some(arrivals), Ok(path)) = (self.arrivals, CString::new(path.as_os_str().as_bytes())) {
            // SAFETY: the argument is a C string that lives during the call.
            unsafe { arrivals(path.as_ptr()) };
        }
    }

    /// Makes the library keep the operations of the process in a file, before its first communicator.
    ///
    /// # Errors
    /// An older library cannot.
    pub(super) fn keep_operations(&self, files: &OperationFiles) -> Result<(), HostError> {
        let what = || HostError::Refused { path: self.path.clone(), what: TOO_OLD.into() };
        let keep = self.keep_operations.filter(|_| self.operations.is_some()).ok_or_else(what)?;
        let spool = CString::new(files.spool.as_os_str().as_bytes()).map_err(|_| what())?;
        // SAFETY: the argument is a C string that lives during the call.
        unsafe { keep(spool.as_ptr()) };
        Ok(())
    }

    /// Makes the library write the operations with their times.
    ///
    /// # Errors
    /// The library could not write them.
    pub(super) fn write_operations(&self, files: &OperationFiles) -> Result<(), HostError> {
        let written = self.operations.zip(CString::new(files.settled.as_os_str().as_bytes()).ok());
        // SAFETY: the argument is a C string that lives during the call.
        let is_written = written.is_some_and(|(operations, path)| unsafe { operations(path.as_ptr()) } == 1);
        // the spool may be as large as the recording
        let _ = std::fs::remove_file(&files.spool);
        if is_written {
            return Ok(());
        }
        let path = files.settled.parent().unwrap_or(&files.settled).to_owned();
        Err(HostError::Refused { path, what: "the library could not write the operations here".into() })
    }

    /// Returns whether figures were not exported as the settings ask. An older library does not say.
    pub(super) fn exports_failed(&self) -> bool {
        // SAFETY: the function takes no argument.
        self.exports_failed.is_some_and(|failed| unsafe { failed() } != 0)
    }

    /// Waits until the library's collector has processed all callbacks so far.
    pub(super) fn flush(&self) {
        // SAFETY: the function takes any number of milliseconds.
        unsafe { (self.flush)(PATIENCE) };
    }
}
