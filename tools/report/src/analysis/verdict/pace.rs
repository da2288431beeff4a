//! The length of time that sums are written for: a step, or the whole recording.

use crate::answer::Report;

/// The pace of a job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Whether the sums of late ranks are of steps.
    pub of_steps: bool,
    /// Number of steps that the sums are divided by; 1 without steps.
    pub(crate) steps: f64,
    /// Mean length of a step, or of the recording, microseconds; `None` where it is unknown.
    pub(crate) length_us: Option<f64>,
    /// Number of ranks, at least 1.
    ranks: f64,
}

impl Pace {
    /// Returns the pace of a report's job.
    pub fn from_report(report: &Report) -> Self {
        let ranks = report.gpus.len().max(1) as f64;
        let late = report.late.known().map_or(0, |late| late.steps);
        if let Some(steps) = report.steps.known().filter(|_| late > 0) {
            return Self { of_steps: true, steps: late as f64, length_us: Some(steps.mean_us), ranks };
        }
        let whole = report.budget.known().filter(|budget| !budget.of_steps && budget.whole.total_ns > 0);
        let length_us = whole.map(|budget| budget.whole.total_ns as f64 / 1e3 / budget.gpus.len().max(1) as f64);
        Self { of_steps: false, steps: 1.0, length_us, ranks }
    }

    /// Returns a sum of times, a step.
    pub fn a_step(&self, us: f64) -> f64 {
        us / self.steps
    }

    /// Returns the share that some ranks' times of a step have, summed, in the step's time of all ranks.
    pub fn share(&self, us: f64) -> Option<f64> {
        self.of_one(us).map(|share| share / self.ranks)
    }

    /// Returns the share of a time in one rank's step.
    fn of_one(&self, us: f64) -> Option<f64> {
        self.length_us.filter(|&length| length > 0.0).map(|length| us / length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Part;
    use crate::sample::sample;

    #[test]
    fn sums_are_of_a_step_or_of_the_recording() {
        let mut report = sample(4);
        let pace = Pace::from_report(&report);
        // 57 steps of 20 ms, four ranks
        assert_eq!((pace.of_steps, pace.a_step(57.0)), (true, 1.0));
        let share = pace.share(8_000.0).unwrap();
        assert!((share - 0.1).abs() < 0.01, "{share}");
        report.steps = Part::Absent("no steps".into());
        assert_eq!(Pace::from_report(&report), Pace { of_steps: false, steps: 1.0, length_us: None, ranks: 4.0 });
        if let Part::Known(budget) = &mut report.budget {
            (budget.of_steps, budget.steps) = (false, 1);
        }
        // the sample's 57 steps of 20 ms
        assert_eq!(Pace::from_report(&report).length_us, Some(1_140_000.0));
    }
}
