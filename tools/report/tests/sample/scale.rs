//! The sizes of the sample's job.

/// The rank that is late, in jobs that have it; the last one in smaller jobs.
pub(crate) const LATE: usize = 3;
/// Number of steps behind the warm-up.
pub(crate) const STEPS: u64 = 57;
/// Length of a step, microseconds.
pub(crate) const STEP_US: f64 = 20_000.0;
/// Calls of a GPU in a step: 16 in its tensor group, 2 in its data group, 1 of all ranks.
pub(crate) const CALLS: u64 = 19;
