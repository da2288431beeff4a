//! Locations that are made at the begin of the measurement, for lanes at its end.
//!
//! A trace fills Score-P's memory until there is none left; then it is written to its file, and the memory used again.
//! After that Score-P 8.4 cannot make locations any more: there may be no memory for one, which aborts the program, and
//! the profile takes used memory for fresh, which crashes it. So some are made while all is well. Without a trace there
//! is no need to.

use crate::measurement::{Lane, Measurement};
use std::sync::{Mutex, PoisonError};

/// What they take of Score-P's memory at most: one part in so many, for it is the program's; of the default 16000k
/// none.
const SHARE: u64 = 16;
/// How many there are at most.
const MOST: u64 = 8;
/// What they are called until they are used.
const UNUSED: &str = "NCCL (unused)";

static SPARE: Mutex<Vec<Lane>> = Mutex::new(Vec::new());

/// Makes them.
pub(crate) fn make(measurement: &Measurement) {
    // Score-P 8.4 crashes over a location without a region when it writes TAU's format
    let is_taus = std::env::var("SCOREP_PROFILING_FORMAT").is_ok_and(|format| format.to_lowercase().contains("tau"));
    if is_taus || !measurement.is_tracing() {
        return;
    }
    let (total, each) = measurement.memory();
    let wanted = (total / SHARE / each).min(MOST) as usize;
    let count = wanted.min(measurement.room());
    // taken from the end
    let made: Vec<Lane> = (0..count).map(|_| measurement.lane(UNUSED)).collect();
    SPARE.lock().unwrap_or_else(PoisonError::into_inner).extend(made.into_iter().rev());
}

/// Locations that there can be more.
pub(crate) fn room(measurement: &Measurement) -> usize {
    let spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner).len();
    spare.saturating_add(if measurement.can_make_locations() { measurement.room() } else { 0 })
}

/// A location of that name; `None` when there can be none.
pub(crate) fn take(measurement: &Measurement, name: &str) -> Option<Lane> {
    let spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    match spare {
        Some(lane) => {
            measurement.rename(lane, name);
            Some(lane)
        }
        None => (measurement.can_make_locations() && measurement.room() > 0).then(|| measurement.lane(name)),
    }
}
