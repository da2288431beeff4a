//! The library as a file, played by a program in C through NCCL's interface, beside the replay, which has the library's
//! code in the tool.

use crate::support::{summaries, tool};

use serde_json::Value;
use std::process::Command;

/// Counts and bytes; times are the machine's own. The shipped library is taken where it exists.
#[test]
fn the_library_as_a_file_gives_the_figures_of_the_replay() {
    let library = tool::shipped(tool::LIBRARY).unwrap_or_else(|_| tool::library());
    let mut wrong = Vec::new();
    for capture in tool::runs().iter().flat_map(|(_, path)| tool::captures(path)) {
        let directory = tempfile::tempdir().unwrap();
        let summary = directory.path().join("summary.json");
        let mut command = Command::new(env!("HOST_REPLAY_APP"));
        command.arg("pace=0").arg(&capture).env("NCCL_PROFILER_PLUGIN", &library);
        command.env("NCCL_SCOREP_LOG", "off");
        // as in a replay: recorded callbacks come whatever the library asks for, and nothing is settled by time
        command.env("NCCL_SCOREP_TRUST_NCCL", "on").env("NCCL_SCOREP_SETTLE_SECONDS", "1e6");
        tool::succeed(command.env("NCCL_SCOREP_SUMMARY", &summary));
        let played: Value = serde_json::from_str(&std::fs::read_to_string(&summary).unwrap()).unwrap();
        let replayed = summaries::replay(std::slice::from_ref(&capture));
        let differences = summaries::differences(&[played], &replayed);
        wrong.extend(differences.iter().map(|difference| format!("{}: {difference}", capture.display())));
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}
