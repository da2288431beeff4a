//! What holds the job up, from look to look: causes begin, and are over.

use crate::diagnosis::finding::{Diagnosis, RootCause};
use crate::diagnosis::{Condition, diagnose};
use crate::hang::headline;
use crate::statuses::Observed;
use std::collections::BTreeMap;

/// Looks without a cause after which it is over.
const GONE: u8 = 2;
/// Factor over the longest wait that went by, from which on a wait is a hang: a job may save its state for minutes.
const LONGER: f64 = 2.0;
/// Most causes that are kept.
const MOST: usize = 256;

/// Causes of one job.
#[derive(Debug, Default)]
pub(super) struct HangWatch {
    causes: BTreeMap<String, KnownCause>,
    /// Longest wait that was a cause and went by, seconds.
    passed: f64,
}

#[derive(Debug)]
struct KnownCause {
    /// Time of the look that found it first, and whether it was said.
    found: f64,
    said: bool,
    absent: u8,
    seconds: f64,
    is_process: bool,
}

/// A cause that begins or is over.
#[derive(Debug, PartialEq)]
pub(super) struct HangNews {
    pub(super) begins: bool,
    pub(super) is_process: bool,
    /// The sentence of `scorep-nccl hang`.
    pub(super) text: String,
}

impl HangWatch {
    /// Takes a look at the job's processes at `now`, seconds by any clock that does not jump. In a look that is not
    /// whole, files are missing that were there just now: a cause must be in two looks then.
    pub(super) fn take(
        &mut self,
        processes: &[Observed],
        (after, is_hasty): (f64, bool),
        is_whole: bool,
        now: f64,
    ) -> (Diagnosis, Vec<HangNews>) {
        let diagnosis = diagnose(processes, after.max(LONGER * self.passed));
        let mut news = vec![];
        self.causes.values_mut().for_each(|known| known.absent += 1);
        for finding in &diagnosis.findings {
            let text = headline::of(&finding.cause);
            let (is_process, patience) = kind(&finding.cause, finding.waits.is_empty(), after);
            if self.causes.len() >= MOST && !self.causes.contains_key(&text) {
                continue;
            }
            let known = self.causes.entry(text.clone()).or_insert(KnownCause {
                found: now,
                said: false,
                absent: 0,
                seconds: 0.0,
                is_process,
            });
            known.absent = 0;
            known.seconds = known.seconds.max(longest(&finding.cause));
            let is_sure = is_whole || known.found < now;
            if !known.said && (is_hasty || is_sure && now - known.found >= patience) {
                known.said = true;
                news.push(HangNews { begins: true, is_process, text });
            }
        }
        let mut passed = self.passed;
        self.causes.retain(|text, known| {
            let is_over = known.absent >= GONE;
            if is_over && known.said {
                passed = passed.max(known.seconds);
                news.push(HangNews { begins: false, is_process: known.is_process, text: text.clone() });
            }
            !is_over
        });
        self.passed = passed;
        (diagnosis, news)
    }

    /// Returns the causes that were said and are not over.
    pub(super) fn open(&self) -> impl Iterator<Item = &str> {
        self.causes.iter().filter(|(_, known)| known.said).map(|(text, _)| text.as_str())
    }
}

/// Returns whether a cause is the condition of processes, and how long it must last before it is said, seconds: a
/// process whose file comes late is not silent.
fn kind(cause: &RootCause, without_waits: bool, after: f64) -> (bool, f64) {
    match cause {
        RootCause::Processes { condition: Condition::Silent | Condition::Unwritten, .. } if without_waits => {
            (true, after / 2.0)
        }
        RootCause::Processes { .. } => (true, 0.0),
        _ => (false, 0.0),
    }
}

fn longest(cause: &RootCause) -> f64 {
    match cause {
        RootCause::NotEntered { wait } | RootCause::NotBegun { wait } | RootCause::Unfinished { wait, .. } => {
            wait.seconds
        }
        RootCause::Calls { seconds, .. } => *seconds,
        _ => 0.0,
    }
}
