//! `scorep-nccl report --nccl-log`: NCCL's log of all releases, cut, mixed, huge and hostile; a finding for each
//! planted fallback, and none for an ordinary job.

mod findings;
mod formats;
mod hostile;
mod made;
mod real;
mod shown;
use crate::support::tool;

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// A small recording, which a report needs beside the log.
fn recording() -> String {
    format!("{}/tests/captures/nvlink2_graph", env!("CARGO_MANIFEST_DIR"))
}

/// Returns a command that makes a report with these logs.
fn report(logs: &[&Path]) -> Command {
    let mut command = tool::tool();
    command.arg("report").arg(recording());
    for log in logs {
        command.arg("--nccl-log").arg(log);
    }
    command
}

/// Returns NCCL's choices by this log.
fn choices(log: impl AsRef<[u8]>) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log");
    std::fs::write(&file, log).unwrap();
    choices_of(&[&file])
}

fn choices_of(logs: &[&Path]) -> Value {
    let output = report(logs).args(["--json", "-"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["choices"]["known"].clone()
}

/// Returns the findings' kinds.
fn kinds(choices: &Value) -> Vec<&str> {
    choices["findings"].as_array().unwrap().iter().map(|finding| finding["kind"].as_str().unwrap()).collect()
}
