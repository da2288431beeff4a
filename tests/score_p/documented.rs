//! docs/reading.md: its commands for Score-P's files, as they are written.

use super::document;
use super::experiment::Experiment;
use crate::support::installation;
use std::os::unix::fs::symlink;

/// Runs them where an experiment lies, under a name as Score-P gives.
pub(crate) fn run(experiment: &Experiment) {
    symlink(experiment.path(), experiment.scratch().join("scorep-20260101_1200_1")).unwrap();
    let page = document::page("docs/reading.md");
    let commands: Vec<String> =
        page.blocks().into_iter().flatten().filter(|command| command.contains("scorep-*")).collect();
    let shown =
        [" rank 0\"", "nccl_sequence", "+ KERNELS", "768 ", "6.44245e+09 ", "KERNELS,96", "scorep-nccl-summary-1"];
    assert_eq!(commands.len(), shown.len());
    for (command, shown) in commands.iter().zip(shown) {
        let mut shell = installation::command("bash");
        let printed =
            installation::say(shell.args(["--noprofile", "--norc", "-euc", command]).current_dir(experiment.scratch()));
        assert!(printed.contains(shown), "{command}: {printed}");
    }
}
