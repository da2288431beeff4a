//! Score-P's memory while the program runs, and spare locations: created while Score-P still can, for lanes at the end.
//!
//! A trace fills Score-P's memory until none is left. Then Score-P writes the trace to its file and reuses the memory.
//! After that, Score-P 8.4 cannot create locations: without memory for a location it aborts the program, and the
//! profile takes used memory for fresh, which crashes the program. So some locations are created when half of the
//! memory is used. Without a trace, or without NCCL, none is.
//!
//! The memory is looked at where Score-P reads a counter: on a thread that Score-P knows, which holds none of its locks.
//! A thread of the library's could hold the memory's lock while the program forks, and a child would wait for it.

use crate::measurement::{LaneTarget, Measurement, OwnLocation};
use crate::settings;
use common::{log, recorder};
use once_cell::sync::OnceCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Spare locations take at most one part in this many of Score-P's memory: the memory is there for the program. Of the
/// default 16000k they take none.
const SHARE: u64 = 16;
/// Most spare locations.
const MOST: u64 = 8;
/// Part of the memory, one in this many, of which one line says that it is the last.
const LAST: u64 = 8;
/// Events between two looks at the memory.
const EVENTS: u32 = 1024;
/// Name of a spare location until a lane takes it.
const UNUSED: &str = "NCCL (unused)";

static SPARE: Mutex<Vec<OwnLocation>> = Mutex::new(Vec::new());
/// The measurement, if its memory is watched, and its process.
static WATCHED: OnceCell<(&Measurement, u32)> = OnceCell::new();
/// Whether the measurement ends: nothing more is needed then.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// Watches the memory from now on, if Score-P writes a trace.
pub(crate) fn watch(measurement: &'static Measurement) {
    // Score-P reads counters in the handlers of its samples, too, where no location can be made
    if measurement.is_tracing() && !settings::has_samples() {
        let _ = WATCHED.set((measurement, std::process::id()));
    }
}

/// Watches the memory no more.
pub(crate) fn end() {
    IS_OVER.store(true, Ordering::Relaxed);
}

/// Looks at the memory from time to time. Called at each event of one thread.
#[inline]
pub(crate) fn event() {
    static SINCE: AtomicU32 = AtomicU32::new(0);
    // one thread alone counts
    let since = SINCE.load(Ordering::Relaxed).wrapping_add(1);
    SINCE.store(since, Ordering::Relaxed);
    if since.is_multiple_of(EVENTS) {
        look();
    }
}

#[cold]
fn look() {
    static IS_HALF: AtomicBool = AtomicBool::new(false);
    static IS_LAST: AtomicBool = AtomicBool::new(false);
    let Some((measurement, process)) = WATCHED.get() else { return };
    if IS_OVER.load(Ordering::Relaxed) || recorder::begun().is_none() || *process != std::process::id() {
        return;
    }
    let Some((free, total)) = measurement.free_of_total() else { return };
    if free < total / 2 && !IS_HALF.swap(true, Ordering::Relaxed) {
        make(measurement);
    }
    if free < total / LAST && !IS_LAST.swap(true, Ordering::Relaxed) {
        log::warn(&format!(
            "Score-P has used {} of {} MiB of its memory: when none is left, it writes the trace to its file, and aborts the program at \
             the next new thread. Set SCOREP_TOTAL_MEMORY to more (scorep-nccl doctor says how much)",
            (total - free) >> 20,
            total >> 20
        ));
    }
}

/// Creates the spare locations.
fn make(measurement: &Measurement) {
    // when Score-P 8.4 writes a profile in TAU's format, a location without a region crashes it
    if std::env::var("SCOREP_PROFILING_FORMAT").is_ok_and(|format| format.to_lowercase().contains("tau")) {
        return;
    }
    let (total, each) = measurement.memory();
    let wanted = (total / SHARE / each).min(MOST) as usize;
    let count = wanted.min(measurement.room());
    // `take` takes them from the end
    let made: Vec<OwnLocation> = (0..count).map(|_| measurement.lane(UNUSED)).collect();
    SPARE.lock().unwrap_or_else(PoisonError::into_inner).extend(made.into_iter().rev());
}

/// Returns how many more lanes can have a location.
pub(crate) fn room(measurement: &dyn LaneTarget) -> usize {
    let spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner).len();
    spare.saturating_add(if measurement.can_make_locations() { measurement.room() } else { 0 })
}

/// Takes a spare location, or else creates one, and names it; `None` if neither is possible.
pub(crate) fn take(measurement: &dyn LaneTarget, name: &str) -> Option<OwnLocation> {
    let spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    match spare {
        Some(lane) => {
            measurement.rename(lane, name);
            Some(lane)
        }
        None => (measurement.can_make_locations() && measurement.room() > 0).then(|| measurement.lane(name)),
    }
}
