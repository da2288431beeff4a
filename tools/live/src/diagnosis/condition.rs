//! The condition of each process, and which processes belong to the latest run.

use crate::statuses::{Life, Observed};
use serde::Serialize;
use std::cmp::Reverse;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The condition of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Condition {
    /// It is gone, and has not said that it ends.
    Dead,
    /// A signal or a debugger has stopped it.
    Stopped,
    /// Its measurement has ended in order.
    Ended,
    /// It is gone, and may have left by `_exit`: it was forked, or its status of exit is 0.
    Left,
    /// It belongs to another host, and writes no more.
    Silent,
    /// It runs on this host, and writes no more.
    Unwritten,
    /// It runs and writes.
    Runs,
}

impl Condition {
    /// Returns the condition of a process.
    pub(crate) fn of(process: &Observed) -> Self {
        match process.life {
            _ if process.status.over.is_some() => Self::Ended,
            Life::Stopped => Self::Stopped,
            Life::Zombie => Self::Dead,
            // a process that writes lives
            _ if process.beats => Self::Runs,
            Life::Gone => Self::Dead,
            Life::Left => Self::Left,
            Life::Elsewhere => Self::Silent,
            Life::Runs => Self::Unwritten,
        }
    }

    /// Returns whether the process takes part in nothing as long as it is so.
    pub(crate) fn takes_no_part(self) -> bool {
        self != Self::Runs
    }
}

/// Returns which processes belong to the latest run. Others are left over from an earlier run in the same directory:
/// their lives, from the start of the measurement to the last writing, do not overlap with that of any process of the
/// latest.
pub(crate) fn of_latest_run(processes: &[Observed]) -> Vec<bool> {
    let mut latest = vec![false; processes.len()];
    let mut order: Vec<usize> = (0..processes.len()).collect();
    let written = |process: &Observed| i128::from(process.status.written);
    order.sort_by_key(|&index| Reverse(processes.get(index).map(written)));
    let mut begun = i128::MAX;
    for index in order {
        let Some(process) = processes.get(index) else { continue };
        let runs = Condition::of(process) == Condition::Runs;
        if begun != i128::MAX && written(process) < begun && !runs {
            continue;
        }
        begun = begun.min(started(process).unwrap_or_else(|| written(process)));
        if let Some(latest) = latest.get_mut(index) {
            *latest = true;
        }
    }
    latest
}

/// Returns the start of a process' measurement, nanoseconds since the Epoch.
fn started(process: &Observed) -> Option<i128> {
    let text = process.status.origin.started.as_deref()?;
    Some(OffsetDateTime::parse(text, &Rfc3339).ok()?.unix_timestamp_nanos())
}
