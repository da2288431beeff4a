//! Spare locations: created while Score-P still can, for lanes at the end of the measurement.
//!
//! A trace fills Score-P's memory until none is left. Then Score-P writes the trace to its file and reuses the memory.
//! After that, Score-P 8.4 cannot create locations: without memory for a location it aborts the program, and the
//! profile takes used memory for fresh, which crashes the program. So some locations are created when half of the
//! memory is used. Without a trace, or without NCCL, none is.

use crate::measurement::{Measurement, OwnLocation};
use common::{log, round};
use once_cell::sync::OnceCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Spare locations take at most one part in this many of Score-P's memory: the memory is there for the program. Of the
/// default 16000k they take none.
const SHARE: u64 = 16;
/// Most spare locations.
const MOST: u64 = 8;
/// Part of the memory, one in this many, of which one line says that it is the last.
const LAST: u64 = 8;
/// Name of a spare location until a lane takes it.
const UNUSED: &str = "NCCL (unused)";

static SPARE: Mutex<Vec<OwnLocation>> = Mutex::new(Vec::new());
/// The measurement, if its memory is watched, and its process: in a forked child, nobody gives back a lock of Score-P's
/// that another thread held.
static WATCHED: OnceCell<(Measurement, u32)> = OnceCell::new();
/// Whether the measurement ends: Score-P gives its memory back then.
static IS_OVER: AtomicBool = AtomicBool::new(false);
/// Whether half of the memory is used, and the spare locations are not there yet.
static IS_DUE: AtomicBool = AtomicBool::new(false);

/// Watches the memory from now on, if Score-P writes a trace.
pub(crate) fn watch(measurement: &Measurement) {
    if measurement.is_tracing() {
        let _ = WATCHED.set((*measurement, std::process::id()));
        round::watch(look);
    }
}

/// Looks at the memory no more.
pub(crate) fn end() {
    IS_OVER.store(true, Ordering::Relaxed);
    IS_DUE.store(false, Ordering::Relaxed);
}

/// Looks at the memory. Called on the collector's thread, while NCCL is in use.
fn look() {
    static IS_HALF: AtomicBool = AtomicBool::new(false);
    static IS_LAST: AtomicBool = AtomicBool::new(false);
    let Some((measurement, process)) = WATCHED.get() else { return };
    if IS_OVER.load(Ordering::Relaxed) || *process != std::process::id() {
        return;
    }
    let Some((free, total)) = measurement.free_of_total() else { return };
    if free < total / 2 && !IS_HALF.swap(true, Ordering::Relaxed) {
        IS_DUE.store(may_reserve(), Ordering::Relaxed);
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

/// Returns whether spare locations do no harm.
fn may_reserve() -> bool {
    let text = |name: &str| std::env::var(name).unwrap_or_default().to_lowercase();
    // Score-P reads counters in the handlers of its samples, too, where no location can be made
    let samples = ["1", "true", "yes", "on"].contains(&text("SCOREP_ENABLE_UNWINDING").as_str());
    // when Score-P 8.4 writes a profile in TAU's format, a location without a region crashes it
    !samples && !text("SCOREP_PROFILING_FORMAT").contains("tau")
}

/// Creates the spare locations if they are due. Called when Score-P reads a counter, on a thread that it knows.
#[inline]
pub(crate) fn make_if_due() {
    if IS_DUE.load(Ordering::Relaxed) {
        make();
    }
}

#[cold]
fn make() {
    let Some((measurement, _)) = WATCHED.get().filter(|_| IS_DUE.swap(false, Ordering::Relaxed)) else { return };
    let (total, each) = measurement.memory();
    let wanted = (total / SHARE / each).min(MOST) as usize;
    let count = wanted.min(measurement.room());
    // `take` takes them from the end
    let made: Vec<OwnLocation> = (0..count).map(|_| measurement.lane(UNUSED)).collect();
    SPARE.lock().unwrap_or_else(PoisonError::into_inner).extend(made.into_iter().rev());
}

/// Returns how many more lanes can have a location.
pub(crate) fn room(measurement: &Measurement) -> usize {
    let spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner).len();
    spare.saturating_add(if measurement.can_make_locations() { measurement.room() } else { 0 })
}

/// Takes a spare location, or else creates one, and names it; `None` if neither is possible.
pub(crate) fn take(measurement: &Measurement, name: &str) -> Option<OwnLocation> {
    let spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    match spare {
        Some(lane) => {
            measurement.rename(lane, name);
            Some(lane)
        }
        None => (measurement.can_make_locations() && measurement.room() > 0).then(|| measurement.lane(name)),
    }
}
