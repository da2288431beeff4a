//! The length of time that sums are written for: a step, or the whole recording.

use crate::answer::Report;

/// Share of a step below which the cost of a rank is next to nothing.
pub(crate) const NEGLIGIBLE: f64 = 1e-4;

/// The pace of a job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pace {
    /// Whether the sums of late ranks are of steps.
    pub(crate) of_steps: bool,
    /// Number of steps that the sums are divided by; 1 without steps.
    pub(crate) steps: f64,
    /// Mean length of a step, or of the recording, microseconds; `None` where it is unknown.
    pub(crate) length_us: Option<f64>,
    /// Number of ranks beside one rank, at least 1.
    others: f64,
}

impl Pace {
    /// Returns the pace of a report's job.
    pub(crate) fn of(report: &Report) -> Self {
        let others = report.gpus.len().saturating_sub(1).max(1) as f64;
        let late = report.late.known().map_or(0, |late| late.steps);
        if let Some(steps) = report.steps.known().filter(|_| late > 0) {
            return Self { of_steps: true, steps: late as f64, length_us: Some(steps.mean_us), others };
        }
        let whole = report.budget.known().filter(|budget| !budget.of_steps && budget.whole.total_ns > 0);
        let length_us = whole.map(|budget| budget.whole.total_ns as f64 / 1e3 / budget.gpus.len().max(1) as f64);
        Self { of_steps: false, steps: 1.0, length_us, others }
    }

    /// Returns a sum of one rank's times, a step.
    pub(crate) fn a_step(&self, us: f64) -> f64 {
        us / self.steps
    }

    /// Returns a sum of the other ranks' times, a step and rank.
    pub(crate) fn a_step_of_others(&self, us: f64) -> f64 {
        us / self.steps / self.others
    }

    /// Returns the share of a time in the length.
    pub(crate) fn share(&self, us: f64) -> Option<f64> {
        self.length_us.filter(|&length| length > 0.0).map(|length| us / length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Part, sample::sample};

    #[test]
    fn sums_are_of_a_step_or_of_the_recording() {
        let mut report = sample(4);
        let pace = Pace::of(&report);
        // 57 steps; three others
        assert_eq!((pace.of_steps, pace.a_step(57.0), pace.a_step_of_others(171.0)), (true, 1.0, 1.0));
        report.steps = Part::Absent("no steps".into());
        assert_eq!(Pace::of(&report), Pace { of_steps: false, steps: 1.0, length_us: None, others: 3.0 });
        if let Part::Known(budget) = &mut report.budget {
            (budget.of_steps, budget.steps) = (false, 1);
        }
        // the sample's 57 steps of 20 ms
        assert_eq!(Pace::of(&report).length_us, Some(1_140_000.0));
    }
}
