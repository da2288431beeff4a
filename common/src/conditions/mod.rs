//! The conditions of the process while it runs: the processor time, waits and limits that it has of its host, from which
//! the report takes the causes of late ranks (`NCCL_SCOREP_CONDITIONS`).
//!
//! A thread of its own reads /proc once a second, and less often where that takes more than 0.1 % of a processor in the
//! long run. Nothing waits for this thread. Rows go to the summary and to the recording.

pub(crate) mod absence;
mod cgroup;
mod gpu_row;
pub(crate) mod gpus;
mod host;
mod joined;
mod near;
mod row;
mod series;
mod threads;
mod thrift;

use crate::base::{lock, log, notes, own_thread, pause, shortage, system_file};
use crate::clock::monotonic;
use crate::config::{ConditionChoice, Settings};
use crate::origin;
pub use gpu_row::GpuRow;
use host::{Host, processor_time};
pub use row::{ConditionRow, HostCondition};
pub use series::ConditionSeries;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use thrift::{LookThrift, PERIOD};

/// Most rows of a summary: ten thousand summaries are read together.
const OF_SUMMARY: usize = 64;
/// Most rows that wait for the recording's next part.
const OF_RECORDING: usize = 4096;

const FAULT: &str = "a fault in the reading of the process' conditions was stopped; they are not read from there on";

/// The rows since the process began.
static ALL: Mutex<ConditionSeries> = Mutex::new(ConditionSeries::new());
/// The rows that the recording has not taken yet.
static NEW: Mutex<ConditionSeries> = Mutex::new(ConditionSeries::new());
/// Whether a recording takes them.
static IS_RECORDED: AtomicBool = AtomicBool::new(false);

/// Returns whether there are rows: they are wanted, and somebody reads them.
fn are_wanted(settings: &Settings) -> bool {
    let has_reader = settings.summary.is_some() || settings.record.is_some();
    // a replay's operations had other conditions
    settings.conditions != ConditionChoice::Off && has_reader && !origin::is_recorded()
}

/// Returns whether the rows have the GPUs' conditions.
pub(crate) fn have_gpus(settings: &Settings) -> bool {
    are_wanted(settings) && settings.conditions == ConditionChoice::All
}

/// Begins to look, if that is wanted and there is a place for the rows. Called once, before the first event.
pub(crate) fn begin(settings: &Settings) {
    if !are_wanted(settings) {
        return;
    }
    IS_RECORDED.store(settings.record.is_some(), Ordering::Relaxed);
    if let Err(error) = own_thread::spawn("scorep-nccl-con", || guarded(watch)) {
        let line = format!("no thread for the process' conditions ({error}): late ranks have no causes");
        log::warn(&line);
        notes::add(line);
    }
}

/// Runs the thread's work. A fault is said in the summary alone: the thread has no standard error of its own.
fn guarded(work: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(work)).is_err() {
        notes::add(FAULT.into());
    }
}

/// Returns the number of processors that the calling thread may run on, if the system says it.
pub fn own_processors() -> Option<usize> {
    threads::processors(0).map(|numbers| numbers.len())
}

/// Returns the rows since the process began: at most 64, of equal length but the last.
pub fn rows() -> Vec<ConditionRow> {
    lock::hold(&ALL).map(|series| series.rows().to_vec()).unwrap_or_default()
}

/// Returns the rows since this was called last, for the recording.
pub fn take_new() -> Vec<ConditionRow> {
    let Some(mut new) = lock::hold(&NEW) else { return vec![] };
    std::mem::take(&mut *new).into_rows()
}

/// Runs the thread.
fn watch() {
    system_file::take_own_descriptors();
    let mut host = Host::find();
    let (mut before, mut since) = (host.counts(), monotonic());
    let (mut thrift, mut period) = (LookThrift::default(), PERIOD);
    loop {
        pause::pause(period);
        if shortage::is_out_of_memory() {
            own_thread::stop();
        }
        let begun = processor_time();
        let (counts, until) = (host.counts(), monotonic());
        let length_us = until.saturating_sub(since) / 1000;
        let row =
            ConditionRow { until, length_us, host: host.between(&before, &counts, length_us), gpus: gpus::take() };
        (before, since) = (counts, until);
        if let Some(mut all) = lock::hold(&ALL) {
            all.add(&row, OF_SUMMARY);
        }
        if IS_RECORDED.load(Ordering::Relaxed)
            && let Some(mut new) = lock::hold(&NEW)
        {
            new.add(&row, OF_RECORDING);
        }
        let cost = processor_time().saturating_sub(begun);
        period = thrift.pause(cost, Duration::from_micros(length_us));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_said_in_the_summary() {
        // other tests of this process have notes, too
        let is_said = || notes::all().iter().any(|note| note == FAULT);
        guarded(|| ());
        assert!(!is_said());
        guarded(|| panic!("a fault"));
        assert!(is_said());
    }
}
