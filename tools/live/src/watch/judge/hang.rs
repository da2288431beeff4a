//! What holds the job up, from look to look: causes begin, and are over.

use crate::diagnosis::finding::{Diagnosis, HangVerdict, RootCause};
use crate::diagnosis::{Condition, diagnose};
use crate::hang::headline;
use crate::statuses::Observed;
use std::collections::{BTreeMap, BTreeSet};

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
    /// Whether its end was said, of a job without a process that is left.
    over: bool,
    absent: u8,
    /// Longest wait so far.
    seconds: f64,
    /// Of processes.
    condition: Option<Condition>,
}

/// A cause that begins or is over.
#[derive(Debug, PartialEq)]
pub(super) struct HangNews {
    pub(super) change: HangChange,
    pub(super) is_process: bool,
    /// The wait, seconds; `None` where the cause has none.
    pub(super) seconds: Option<f64>,
    /// The sentence of `scorep-nccl hang`.
    pub(super) text: String,
}

/// What a look changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HangChange {
    Begins,
    /// It is gone, whatever the job does now: who hung may have been killed.
    Over,
    /// It is gone, and operations go on.
    GoesOn,
}

impl HangWatch {
    /// Forgets the waits that went by: processes that begin anew have had none.
    pub(super) fn begin_anew(&mut self) {
        self.passed = 0.0;
    }

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
        // whose processes are gone waits no more, although its files say so: what was said is over, and said no more
        let is_gone = !is_hasty && diagnosis.processes.are_gone();
        let mut news = vec![];
        self.causes.values_mut().for_each(|known| known.absent = known.absent.saturating_add(1));
        for finding in &diagnosis.findings {
            let text = headline::of(&finding.cause);
            let (condition, patience) = kind(&finding.cause, finding.waits.is_empty(), after);
            if self.causes.len() >= MOST && !self.causes.contains_key(&text) {
                continue;
            }
            let known = self.causes.entry(text.clone()).or_insert(KnownCause {
                found: now,
                said: false,
                over: false,
                absent: 0,
                seconds: 0.0,
                condition,
            });
            if is_gone && known.said && condition.is_none() {
                continue;
            }
            known.absent = 0;
            known.seconds = known.seconds.max(longest(&finding.cause));
            let is_sure = is_whole || known.found < now;
            if !known.said && (is_hasty || is_sure && now - known.found >= patience) {
                known.said = true;
                let seconds = Some(known.seconds).filter(|seconds| *seconds > 0.0);
                news.push(HangNews { change: HangChange::Begins, is_process: condition.is_some(), seconds, text });
            }
        }
        let is_well = diagnosis.verdict == HangVerdict::Well;
        let lasting = self.causes.values().filter(|known| known.absent < GONE);
        let lasting: BTreeSet<Condition> = lasting.filter_map(|known| known.condition).collect();
        let mut passed = self.passed;
        self.causes.retain(|text, known| {
            // while processes die one after the other, none of it is over
            let lasts = known.said && known.condition.is_some_and(|condition| lasting.contains(&condition));
            let is_over = known.absent >= GONE && !lasts;
            if is_over && known.said && !std::mem::replace(&mut known.over, true) {
                if is_well {
                    passed = passed.max(known.seconds);
                }
                let is_process = known.condition.is_some();
                let change = if is_well && !is_process { HangChange::GoesOn } else { HangChange::Over };
                news.push(HangNews { change, is_process, seconds: None, text: text.clone() });
            }
            !is_over || is_gone && known.condition.is_none()
        });
        self.passed = passed;
        (diagnosis, news)
    }

    /// Returns the causes that were said and are not over.
    pub(super) fn open(&self) -> impl Iterator<Item = &str> {
        self.causes.iter().filter(|(_, known)| known.said && known.absent < GONE).map(|(text, _)| text.as_str())
    }
}

/// Returns the condition, where processes are the cause, and how long it must last before it is said, seconds: a
/// process whose file comes late is not silent.
fn kind(cause: &RootCause, without_waits: bool, after: f64) -> (Option<Condition>, f64) {
    match cause {
        RootCause::Processes { condition: condition @ (Condition::Silent | Condition::Unwritten), .. }
            if without_waits =>
        {
            (Some(*condition), after / 2.0)
        }
        RootCause::Processes { condition, .. } => (Some(*condition), 0.0),
        _ => (None, 0.0),
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
