//! Spare locations: created at the begin of the measurement, for lanes at its end.
//!
//! A trace fills Score-P's memory until none is left. Then Score-P writes the trace to its file and reuses the memory.
//! After that, Score-P 8.4 cannot create locations: without memory for a location it aborts the program, and the
//! profile takes used memory for fresh, which crashes the program. So some locations are created early. Without a trace
//! this is not needed.

use crate::measurement::{Measurement, OwnLocation};
use std::sync::{Mutex, PoisonError};

/// Spare locations take at most one part in this many of Score-P's memory: the memory is there for the program. Of the
/// default 16000k they take none.
const SHARE: u64 = 16;
/// Most spare locations.
const MOST: u64 = 8;
/// Name of a spare location until a lane takes it.
const UNUSED: &str = "NCCL (unused)";

static SPARE: Mutex<Vec<OwnLocation>> = Mutex::new(Vec::new());

/// Creates the spare locations.
pub(crate) fn make(measurement: &Measurement) {
    // when Score-P 8.4 writes a profile in TAU's format, a location without a region crashes it
    let is_taus = std::env::var("SCOREP_PROFILING_FORMAT").is_ok_and(|format| format.to_lowercase().contains("tau"));
    if is_taus || !measurement.is_tracing() {
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
