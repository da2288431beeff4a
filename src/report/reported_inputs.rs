//! The inputs as the report names them, with those that are left out.

use super::inputs::InputKind;
use super::request::ReportRequest;
use report::answer::Input;
use report::job::Unreadable;
use std::collections::BTreeSet;
use std::path::PathBuf;

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
