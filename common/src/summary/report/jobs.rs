//! The tables of several jobs, one after the other.

use super::table::View;
use crate::base::visible::visible;
use crate::summary::jobs::are_apart;
use crate::summary::{Summary, SummaryProcess};
use std::fmt::Write;

/// Largest number of a job's processes that are named.
const MOST: usize = 8;

/// Writes the tables of each job, one job after the other. Figures of different jobs are never summed up.
pub fn view_of_jobs(jobs: &[Summary], view: &View) -> String {
    let are = if are_apart(jobs.iter().map(|job| job.processes.as_slice())) { "are" } else { "may be" };
    let mut text = format!("These processes {are} of {} jobs, whose figures stand apart.\n", jobs.len());
    for (number, summary) in (1..).zip(jobs) {
        let name = summary.jobs.iter().find_map(|job| job.name.as_deref());
        let name = name.map_or_else(|| "known by its communicators alone".into(), visible);
        let named: Vec<String> = summary.processes.iter().take(MOST).map(|process| called(process, summary)).collect();
        let more = if summary.processes.len() > MOST { ", ..." } else { "" };
        let _ = write!(text, "\n== Job {number}: {name}; {}{more}\n\n{}", named.join(", "), super::view(summary, view));
    }
    text
}

/// Returns a process' name for people: its file or else its host, with its rank in the largest communicator.
fn called(process: &SummaryProcess, summary: &Summary) -> String {
    let SummaryProcess { pid, origin, .. } = process;
    let place = origin.file.as_deref().or(origin.host.as_deref());
    let place = place.map_or_else(|| format!("process {pid}"), visible);
    let largest = summary.communicators.iter().max_by_key(|row| row.nranks);
    let rank = largest.and_then(|row| row.ranks.iter().find(|of| of.process == process.process));
    rank.map_or_else(|| place.clone(), |of| format!("{place} (rank {})", of.rank))
}
