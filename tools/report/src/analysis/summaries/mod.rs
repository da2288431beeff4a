//! The parts of a report that summaries of processes can give: they hold sums, and when their ranks began some of the
//! collectives.
//!
//! Files are read one at a time. What is kept of each grows with its process' communicators and rank pairs, not with
//! the length of the job.

mod arrived;
mod gathered;
mod job;
mod parts;
mod read;
mod sums;
#[cfg(test)]
mod tests;

use crate::job::{DimensionRule, Links, Unreadable};
use gathered::Gathered;
pub use gathered::JobReport;
use std::path::PathBuf;

/// Reads summaries and returns a report for each job that they are of. Processes are of one job as `Summary` has it.
///
/// A file that cannot be read, and one with a process that an earlier file has already, is left out, and returned
/// beside the reports. Without any summary there is no report.
pub fn report(
    paths: impl ExactSizeIterator<Item = PathBuf>,
    rules: &[DimensionRule],
    links: &Links,
) -> (Vec<JobReport>, Vec<Unreadable>) {
    let mut gathered = Gathered::with_files(paths.len());
    paths.for_each(|path| gathered.add(&path));
    gathered.finish(rules, links)
}
