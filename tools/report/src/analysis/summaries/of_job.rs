//! The report of one job, as it is asked for and given.

use crate::answer::{Dimension, Report};
use crate::job::Job;

/// The report of one of the jobs that the summaries are of.
#[derive(Debug, Clone, PartialEq)]
pub struct OfJob {
    /// Name of the job by scheduler and launcher, where a process has it.
    pub name: Option<String>,
    /// The report.
    pub report: Report,
}

/// Returns the dimensions of a job's communicators, by place.
pub type Dimensions<'a> = dyn Fn(&Job) -> Vec<Dimension> + 'a;
