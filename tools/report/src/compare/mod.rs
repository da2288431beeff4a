//! Two reports compared: what has become slower?
//!
//! The step comes first, since it is what the two runs cost: the change of its median length, with an interval of 95 %
//! bootstrapped over steps, and that of the mean, in which pauses are that recur. Then come ranks, waits, and
//! transfers, joined by dimension, function and size.

mod late;
mod ranks;
mod runs;
#[cfg(test)]
mod tests;
mod transfers;
mod verdict;

pub use late::{NewlyLate, StandingOut};
pub use ranks::{OwnTime, RankChanged, Ranks};
pub use runs::ComparedRun;
pub use transfers::{ComparedTransfers, Subject};
pub use verdict::MIN_CHANGE;
pub use verdict::{ChangeVerdict, Changed};

use crate::answer::{Part, Report};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Name of the comparison's schema.
pub const SCHEMA: &str = "scorep-nccl-comparison-1";

/// Threshold without the user's choice.
pub const THRESHOLD: f64 = 0.1;

/// The comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// [`SCHEMA`].
    pub schema: String,
    /// Names of the two reports.
    pub names: [String; 2],
    /// Least change that counts, 0.1 for 10 %.
    pub threshold: f64,
    /// Whether the step, a rank or a transfer is worse: the exit status is 1 then, else 0.
    pub worse: bool,
    /// The answer in sentences.
    pub answer: String,
    /// The two runs.
    pub runs: [ComparedRun; 2],
    /// How many times the operations and bytes of a step the second run's has, where that is a whole number, or 1 over
    /// one: the step is not judged then.
    pub times_the_work: Option<f64>,
    /// The length of a step, mean over ranks.
    pub step: Part<Changed>,
    /// The same of the mean over steps, with all pauses.
    pub step_mean: Part<Changed>,
    /// Lengths of at most 512 steps of each run, microseconds.
    pub lengths_us: [Vec<f32>; 2],
    /// Own times of ranks.
    pub ranks: Part<Ranks>,
    /// Who became late, and who is no longer; `None` where that is unknown of a run.
    pub late: Option<NewlyLate>,
    /// Waits in a step, mean over ranks. Worse only where the step is.
    pub waits: Part<Changed>,
    /// What random differences of the ranks cost a step, microseconds, where both runs know.
    pub jitter_us: Option<[f64; 2]>,
    /// Transfers that are in both, worst first.
    pub rows: Vec<ComparedTransfers>,
    /// Transfers that are in one report alone.
    pub only: [Vec<Subject>; 2],
    /// Remarks for people, a sentence each.
    pub notes: Vec<String>,
}

/// Reports that cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Incomparable {
    /// A report has no transfers and no steps.
    #[error(
        "{0} has no steps and no transfers to compare: no operation's ranks were compared. A report of recordings has them"
    )]
    Empty(String),
    /// The two have nothing in common.
    #[error("{0} and {1} have no steps in common, and no dimension, function and size")]
    Different(String, String),
}

impl Comparison {
    /// Compares two reports, the earlier one first. The same reports always have the same comparison. The answer is
    /// left empty, for the output to write.
    ///
    /// # Errors
    /// A report has neither steps nor transfers, or the two have nothing in common.
    pub fn compare(names: [String; 2], reports: [&Report; 2], threshold: f64) -> Result<Self, Incomparable> {
        let series = reports.map(|report| &report.series);
        for (name, series) in names.iter().zip(series) {
            if series.rows.is_empty() && series.lengths_us.is_empty() {
                return Err(Incomparable::Empty(name.clone()));
            }
        }
        let runs = reports.map(ComparedRun::from_report);
        let times_the_work = runs::times_the_work(&runs);
        let are_of_one_size = runs[0].ranks == runs[1].ranks;
        let are_alike = are_of_one_size && times_the_work.is_none();
        let lengths = series.map(|series| &series.lengths_us);
        let step = by_step(lengths, &names, "steps", &|steps| Changed::medians(steps, threshold, are_alike));
        let step_mean = by_step(lengths, &names, "steps", &|steps| Changed::means(steps, threshold, are_alike));
        let (rows, only) = transfers::compare(series.map(|series| series.rows.as_slice()), threshold);
        if rows.is_empty() && step.known().is_none() {
            let [first, second] = names;
            return Err(Incomparable::Different(first, second));
        }
        let step_us = step.known().map(|step| step.medians_us[0]);
        let waits = series.map(|series| &series.waits_us);
        let waits = by_step(waits, &names, "waits by step", &|steps| Changed::medians(steps, threshold, are_alike));
        let ranks = match are_alike {
            true => ranks::compare(reports, step_us, threshold),
            false if are_of_one_size => Part::Absent("the runs' steps are not of one work.".into()),
            false => Part::Absent("the runs have different numbers of ranks.".into()),
        };
        let [before, after] = reports.map(|report| report.stragglers.known().and_then(|it| it.jitter_us));
        let mut comparison = Self {
            schema: SCHEMA.into(),
            threshold,
            worse: false,
            answer: String::new(),
            runs,
            times_the_work,
            waits: besides(waits, step.known()),
            step,
            step_mean,
            lengths_us: series.map(|series| series.lengths_us.clone()),
            ranks,
            late: late::compare(reports, threshold),
            jitter_us: before.zip(after).map(|(before, after)| [before, after]),
            rows,
            only,
            notes: notes(&names, reports),
            names,
        };
        comparison.worse = comparison.has_worse();
        Ok(comparison)
    }

    /// Returns whether the step, a rank or a transfer is worse.
    fn has_worse(&self) -> bool {
        let step = [&self.step, &self.step_mean].into_iter().flat_map(Part::known).map(|step| step.verdict);
        let ranks = self.ranks.known().into_iter().flat_map(|ranks| &ranks.rows).map(|rank| rank.verdict);
        let late = self.late.iter().flat_map(|late| &late.became).map(|standing| standing.verdict);
        let transfers = self.rows.iter().map(|row| row.transfer.verdict);
        step.chain(ranks).chain(late).chain(transfers).any(|verdict| verdict == ChangeVerdict::Worse)
    }
}

/// Compares values by step, or says which report lacks them.
fn by_step(
    steps: [&Vec<f32>; 2],
    names: &[String; 2],
    noun: &str,
    changed: &dyn Fn([&[f32]; 2]) -> Changed,
) -> Part<Changed> {
    match names.iter().zip(steps).find(|(_, steps)| steps.is_empty()) {
        Some((name, _)) => Part::Absent(format!("{name} has no {noun}.")),
        None => Part::Known(changed(steps.map(Vec::as_slice))),
    }
}

/// Judges waits beside the step: a rank that waits longer in a step that is as long as before has only computed less,
/// and waits vary by chance more than anything else. So they are worse only where the step is worse, and equal where
/// they change by less than 1 % of a step.
fn besides(waits: Part<Changed>, step: Option<&Changed>) -> Part<Changed> {
    let (Part::Known(mut waits), Some(step)) = (waits, step) else {
        return Part::Absent("a report has no waits by step.".into());
    };
    if waits.verdict != ChangeVerdict::NotJudged && waits.difference_us().abs() < MIN_CHANGE * step.medians_us[0] {
        waits.verdict = ChangeVerdict::Equal;
    } else if waits.verdict == ChangeVerdict::Worse && step.verdict != ChangeVerdict::Worse {
        waits.verdict = ChangeVerdict::Slower;
    }
    Part::Known(waits)
}

fn notes(names: &[String; 2], reports: [&Report; 2]) -> Vec<String> {
    let without = names.iter().zip(reports).filter(|(_, report)| !report.series.of_steps);
    without
        .map(|(name, _)| format!("No steps were found in {name}: equally long slices of time stand for them."))
        .collect()
}
