//! Logs of findings that a watch has kept (`scorep-nccl watch --log`): read, and joined to rows of the report.

mod joined;
mod log;

use present::sentences;
use report::answer::{Input, Report};
use report::job::{Job, Unreadable};
use report::table::Tables;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Adds the findings of logs to the report of a job with these names, and files that cannot be read to `left_out`.
pub(super) fn add(report: &mut Report, paths: &[PathBuf], names: &BTreeSet<String>, left_out: &mut Vec<Unreadable>) {
    let (part, bad) = log::read(paths, names);
    let complete = &mut report.complete;
    complete.inputs.extend(paths.iter().map(|path| {
        let path = path.display().to_string();
        let problem = bad.iter().find(|bad| bad.file == path).map(ToString::to_string);
        Input { path, kind: "findings".into(), problem, ..Input::default() }
    }));
    let lines = part.known().and_then(sentences::left_out_lines);
    complete.notes.extend(lines.map(|lines| format!("Of the log of findings: {lines}")));
    left_out.extend(bad);
    report.findings = part;
}

/// Returns the names of the job by the summaries of its processes.
pub(super) fn job_names(job: &Job, tables: &Tables) -> BTreeSet<String> {
    let summaries = (0..job.processes.len()).filter_map(|process| tables.summary(process).ok().flatten());
    summaries.flat_map(|summary| summary.processes).filter_map(|process| process.origin.job).collect()
}
