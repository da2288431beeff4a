//! A report as it was asked for, and as it was made of its inputs.

use super::inputs::{InputKind, Inputs};
use super::step_times::StepTimes;
use report::analysis::speed::Baseline;
use report::answer::{Input, Report};
use report::job::{Links, Unreadable};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Where the steps are from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum StepChoice {
    /// From repetition.
    #[default]
    Found,
    /// From regions of this name.
    Region(String),
    /// From the user's file.
    Times(StepTimes),
}

/// Facts that the user adds.
#[derive(Debug, Clone, Default)]
pub(crate) struct UserFacts {
    /// Traces of PyTorch's profiler.
    pub(crate) kernels: Vec<PathBuf>,
    /// Exports of Nsight Systems.
    pub(crate) nsys: Vec<PathBuf>,
    /// Where the steps are from.
    pub(crate) step: StepChoice,
    /// Name and text of the file of dimensions.
    pub(crate) dimensions: Option<(String, String)>,
    /// Rates of links.
    pub(crate) links: Links,
    /// Where the rates are from, for the report.
    pub(crate) link: Option<String>,
    /// Name and rates of an earlier report.
    pub(crate) baseline: Option<(String, Baseline)>,
}

/// A report as it was asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReportRequest {
    /// The inputs.
    pub(crate) inputs: Inputs,
    /// Facts that the user adds.
    pub(crate) facts: UserFacts,
    /// Logs of NCCL.
    pub(crate) logs: Vec<PathBuf>,
    /// Logs of a watch's findings.
    pub(crate) findings: Vec<PathBuf>,
    /// Number of the job, from 1, where the inputs are of several.
    pub(crate) job: Option<usize>,
    /// The user's tag whose operations are in the report; all without a choice.
    pub(crate) tag: Option<u64>,
    /// Rows of lists such as the worst operations.
    pub(crate) top: usize,
    /// Number of the step that is shown in detail; the slowest one without a choice.
    pub(crate) shown_step: Option<u64>,
    /// Directory for the operations' table as CSV.
    pub(crate) csv: Option<PathBuf>,
    /// Directory for the operations' table as Parquet.
    pub(crate) parquet: Option<PathBuf>,
    /// File for Perfetto's trace.
    pub(crate) perfetto: Option<PathBuf>,
}

/// A report as it was made.
#[derive(Debug)]
pub(crate) struct FinishedReport {
    /// The report.
    pub(crate) report: Report,
    /// Number of the inputs, with those left out.
    pub(crate) asked: usize,
    /// The inputs that are not in the report, with file, place and cause.
    pub(crate) left_out: Vec<Unreadable>,
}

/// Returns an input that is left out.
pub(super) fn problem(error: &Unreadable) -> Input {
    Input { path: error.file.clone(), problem: Some(error.to_string()), ..Input::default() }
}

/// Returns the inputs for the report, with those that are left out. The files of `others` are of another job.
pub(super) fn inputs(
    request: &ReportRequest,
    of_tables: &[(PathBuf, u64)],
    left_out: &[Unreadable],
    others: &BTreeSet<String>,
) -> Vec<Input> {
    let is_bad = |path: &str| left_out.iter().any(|error| error.file == path);
    let found = |path: &str| request.inputs.found.iter().find(|found| found.path.as_os_str() == path);
    let profiles = || request.facts.kernels.iter().chain(&request.facts.nsys);
    // as errors name them
    let is_profile = |path: &str| profiles().any(|file| file.display().to_string() == path);
    let kind = |path: &str| match found(path) {
        Some(found) => found.kind.text().into(),
        None if is_profile(path) => "kernels".into(),
        None => String::new(),
    };
    let mut all: Vec<Input> =
        left_out.iter().map(|error| Input { kind: kind(&error.file), ..problem(error) }).collect();
    for found in &request.inputs.found {
        let path = found.path.display().to_string();
        let processes = of_tables.iter().find(|input| input.0 == found.path).map_or(1, |input| input.1);
        if !is_bad(&path) && !others.contains(&path) && found.kind != InputKind::Summary {
            all.push(Input { path, kind: found.kind.text().into(), processes, problem: None });
        }
    }
    let kernels = profiles().map(|file| (file, "kernels", 1));
    for (file, kind, processes) in kernels.chain(request.logs.iter().map(|file| (file, "NCCL log", 0))) {
        let path = file.display().to_string();
        if !is_bad(&path) {
            all.push(Input { path, kind: kind.into(), processes, problem: None });
        }
    }
    all
}
