//! An experiment with lanes, as Score-P would leave it, and the command that adds records of communication to it.

use crate::communication::records::{Records, count, expected};
use crate::support::reference::operations::Operation;
use crate::support::tool;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program that writes experiments, where OTF2 is installed.
pub(crate) const HOST: Option<&str> = option_env!("HOST_OTF2_EXPERIMENT");

/// Ranks, and bytes of the first round, in experiments of tests/c/programs/otf2_experiment.c.
const RANKS: i64 = 4;
const BYTES: i64 = 1000;

/// Writes an experiment: rounds on four lanes, events on two threads.
pub(crate) fn experiment(directory: &Path, rounds: u64, events: u64, wrong: &str) -> PathBuf {
    let experiment = directory.join("experiment");
    fs::create_dir(&experiment).unwrap();
    let numbers = [rounds, events].map(|number| number.to_string());
    let mut host = Command::new(HOST.unwrap());
    tool::succeed(host.arg(&experiment).args(numbers).arg(wrong));
    fs::write(experiment.join("profile.cubex"), "a profile").unwrap();
    fs::create_dir(experiment.join("nccl")).unwrap();
    fs::write(experiment.join("nccl/summary.txt"), "a summary").unwrap();
    experiment
}

pub(crate) fn trace(experiment: &Path, to: &Path) -> Command {
    let mut command = tool::tool();
    command.arg("trace").arg(experiment).arg("--to").arg(to);
    command
}

/// All files with their contents.
pub(crate) fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            files.extend(contents(&entry));
        } else {
            files.insert(entry.clone(), fs::read(&entry).unwrap());
        }
    }
    files
}

/// The records of the program's rounds. In one of them a rank may lack its send, so that a pair has no records.
pub(crate) fn rounds(rounds: i64, lacks: Option<i64>) -> Records {
    let comm = "0000000000001a2b";
    let operation = |rank, func: &str, peer, root, bytes| Operation {
        comm: comm.into(),
        rank,
        kind: String::new(),
        func: func.into(),
        peer,
        root,
        sequence: None,
        bytes,
        algorithm: None,
        protocol: None,
        gpu_us: None,
        by_events: false,
        is_first: true,
        is_first_of_function: true,
    };
    let mut all = Vec::new();
    for (round, rank) in (0..rounds).flat_map(|round| (0..RANKS).map(move |rank| (round, rank))) {
        let (next, before, bytes) = ((rank + 1) % RANKS, (rank + RANKS - 1) % RANKS, BYTES + round);
        all.push(operation(rank, "Broadcast", None, Some(2), bytes));
        all.push(operation(rank, "AllReduce", None, None, bytes));
        if lacks != Some(rank) {
            all.push(operation(rank, "Send", Some(next), None, bytes));
        }
        if lacks != Some(before) {
            all.push(operation(rank, "Recv", Some(before), None, bytes));
        }
    }
    count(all.iter().flat_map(|operation| expected(operation, RANKS)))
}
