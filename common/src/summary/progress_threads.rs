//! The times and counts of a process' progress threads.

use crate::figures::progress_threads::ProgressCounts;
use serde::{Deserialize, Serialize};

/// Times and counts of the threads of a process that progress NCCL's proxy operations. Each moment of a thread from its
/// first known state to its last change of the state belongs to one of the four times.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ProgressThreads {
    /// Number of threads.
    pub threads: u64,
    /// Time in which passes over the proxy operations moved some on, microseconds.
    pub active_us: f64,
    /// Time in which passes moved none on, or the thread had none and did not sleep yet, microseconds.
    pub idle_us: f64,
    /// Time asleep, microseconds.
    pub asleep_us: f64,
    /// Time spent taking over proxy operations, microseconds.
    pub appending_us: f64,
    /// How often threads became active.
    pub active: u64,
    /// How often threads became idle.
    pub idle: u64,
    /// How often threads fell asleep.
    pub sleeps: u64,
    /// How often threads began to take over proxy operations.
    pub appends: u64,
    /// Proxy operations taken over.
    pub appended: u64,
}

impl ProgressThreads {
    /// Makes the sums of this process; `None` if NCCL reported no state.
    pub(super) fn of_process(nanoseconds_per_tick: f64) -> Option<Self> {
        let ProgressCounts { threads, ticks, entered, appended } = ProgressCounts::of_process()?;
        // in the order of ProgressState::ALL
        let [active_us, idle_us, asleep_us, appending_us] = ticks.map(|it| it as f64 * nanoseconds_per_tick / 1e3);
        let [active, idle, sleeps, appends] = entered;
        Some(Self { threads, active_us, idle_us, asleep_us, appending_us, active, idle, sleeps, appends, appended })
    }

    /// Returns the time whose state is known, microseconds.
    pub fn known_us(&self) -> f64 {
        self.active_us + self.idle_us + self.asleep_us + self.appending_us
    }
}
