//! docs/reading.md: its commands for Score-P's files, as they are written.

use super::document;
use super::experiment::Experiment;
use super::installation;
use std::os::unix::fs::symlink;

/// Runs them where an experiment lies, under a name as Score-P gives.
pub(crate) fn run(experiment: &Experiment) {
    symlink(experiment.path(), experiment.scratch().join("scorep-20260101_1200_1")).unwrap();
    let page = document::page("docs/reading.md");
    let commands: Vec<String> = page.blocks().into_iter().flatten().filter(|command| command.contains("scorep-*")).collect();
    assert_eq!(commands.len(), 6);
    for command in commands {
        let mut shell = installation::command("bash");
        // of a pipe the last one counts: head ends before the others
        let printed =
            installation::say(shell.args(["--noprofile", "--norc", "-euc", &command]).current_dir(experiment.scratch()));
        let expected = ["rank 0\"", "nccl_sequence", "ncclAllReduce", "KERNELS", "scorep-nccl-summary-1"];
        assert!(expected.iter().any(|part| printed.contains(part)), "{command}: {printed}");
    }
}
