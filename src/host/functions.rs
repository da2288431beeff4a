//! The functions that the library has for a replay, beside those of its hosts.

use super::kernels::Tell;
use super::{HostError, measurement, open, symbol};
use crate::capture::Survey;
use crate::installed::library::Links;
use common::origin::Origin;
use libloading::os::unix::Library;
use std::ffi::{CString, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// How long the collector may take to catch up, milliseconds.
const PATIENCE: u32 = 60_000;

/// What gives the library a stand-in for Score-P's function of a name.
type Lookup = unsafe extern "C" fn(*const c_char) -> *mut c_void;

/// The functions that the library has for a replay, and the library they live in.
pub(super) struct Functions {
    flush: unsafe extern "C" fn(u32) -> i32,
    /// An older library has none, nor the next four.
    pub(super) kernel_events: Option<Tell>,
    arrivals: Option<unsafe extern "C" fn(*const c_char) -> i32>,
    recording_lacks: Option<unsafe extern "C" fn(u64)>,
    recorded_process: Option<unsafe extern "C" fn(u32, *const c_char)>,
    stand_ins: Option<unsafe extern "C" fn(Lookup)>,
    recording_is_cut: Option<unsafe extern "C" fn()>,
    _library: Library,
}

impl Functions {
    pub(super) fn find(links: &Links) -> Result<Self, HostError> {
        let library = open(&links.counters)?;
        // SAFETY: the symbol has this type.
        let flush =
            *unsafe { symbol::<unsafe extern "C" fn(u32) -> i32>(&library, &links.counters, "scorep_nccl_flush") }?;
        // SAFETY: the symbol has this type.
        let kernel_events = unsafe { symbol::<Tell>(&library, &links.counters, "scorep_nccl_kernel_events") };
        // SAFETY: the symbol has this type.
        let arrivals = unsafe {
            symbol::<unsafe extern "C" fn(*const c_char) -> i32>(&library, &links.counters, "scorep_nccl_arrivals")
        };
        let arrivals = arrivals.ok().map(|found| *found);
        // SAFETY: the symbol has this type.
        let lacks =
            unsafe { symbol::<unsafe extern "C" fn(u64)>(&library, &links.counters, "scorep_nccl_recording_lacks") };
        let recording_lacks = lacks.ok().map(|found| *found);
        // SAFETY: the symbol has this type.
        let process = unsafe {
            symbol::<unsafe extern "C" fn(u32, *const c_char)>(
                &library,
                &links.counters,
                "scorep_nccl_recorded_process",
            )
        };
        let recorded_process = process.ok().map(|found| *found);
        // SAFETY: the symbol has this type.
        let cut =
            unsafe { symbol::<unsafe extern "C" fn()>(&library, &links.counters, "scorep_nccl_recording_is_cut") };
        let recording_is_cut = cut.ok().map(|found| *found);
        let kernel_events = kernel_events.ok().map(|found| *found);
        // SAFETY: the symbol has this type.
        let stand_ins =
            unsafe { symbol::<unsafe extern "C" fn(Lookup)>(&library, &links.counters, "scorep_nccl_stand_ins") };
        let stand_ins = stand_ins.ok().map(|found| *found);
        Ok(Self {
            flush,
            kernel_events,
            arrivals,
            recording_lacks,
            recorded_process,
            stand_ins,
            recording_is_cut,
            _library: library,
        })
    }

    /// Has the lanes, where they are wanted, written through what stands in for Score-P, by a library that can.
    pub(super) fn stand_in_for_score_p(&self, begin: u64) {
        if let Some(stand_ins) = self.stand_ins {
            measurement::begin(begin);
            // SAFETY: takes such a function; those that it gives have the types of Score-P's, and stay.
            unsafe { stand_ins(measurement::find) };
        }
    }

    /// Tells what the capture lacks, to a library that counts it.
    pub(super) fn tell_missing(&self, survey: &Survey) {
        if let (false, Some(cut)) = (survey.is_complete, self.recording_is_cut) {
            // SAFETY: takes nothing.
            unsafe { cut() };
        }
        if let Some(lacks) = self.recording_lacks {
            // SAFETY: takes any number.
            unsafe { lacks(survey.meta.dropped) };
        }
    }

    /// Tells whose callbacks are played, to a library that asks.
    pub(super) fn tell_process(&self, path: &Path, survey: &Survey) {
        let file = Some(path.display().to_string());
        let process = CString::new(Origin { file, ..survey.meta.origin.clone() }.known());
        if let (Some(recorded_process), Ok(process)) = (self.recorded_process, process) {
            // SAFETY: it is a string.
            unsafe { recorded_process(survey.meta.pid.cast_unsigned(), process.as_ptr()) };
        }
    }

    /// Writes when ranks began their collectives to that file, if the library can.
    pub(super) fn write_arrivals(&self, path: &Path) {
        if let (Some(arrivals), Ok(path)) = (self.arrivals, CString::new(path.as_os_str().as_bytes())) {
            // SAFETY: it is a string.
            unsafe { arrivals(path.as_ptr()) };
        }
    }

    /// Waits until the collector has caught up.
    pub(super) fn flush(&self) {
        // SAFETY: takes any number of milliseconds.
        unsafe { (self.flush)(PATIENCE) };
    }
}
