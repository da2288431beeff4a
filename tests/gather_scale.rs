//! The job summary of 10,000 ranks: the memory of the first process, which gathers the parts of all others through
//! Score-P's functions (tests/c/score_p/gather_host.c).
//!
//! The test prints its measurements. `SCOREP_NCCL_RANKS` takes another number of ranks, a multiple of 80 from 800 on.
//! `SCOREP_NCCL_USUAL_PARTS` takes parts of a usual size instead of full ones.

use crate::support::{parts, tool};

use common::summary::{Lateness, Summary};
use parts::{LATE, NODE, Parts, WORLD};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;
use std::process::Command;

/// Ranks of the job.
const RANKS: u32 = 10_000;
/// Most bytes and arrivals that all processes together send, and most bytes of one process (docs/score-p.md).
const BYTES: usize = 96 << 20;
const ARRIVALS: usize = 1 << 19;
const OF_A_PROCESS: usize = 1 << 20;
/// Most memory that the first process may take for the job summary, KiB: a third more than it takes.
const MEMORY: u64 = 230 << 10;

/// What is looked at in the summary that was written.
#[derive(Deserialize)]
struct Written {
    processes: Vec<IgnoredAny>,
    operations: Vec<IgnoredAny>,
    lateness: Vec<Lateness>,
    notes: Vec<String>,
}

/// The parts of a job in a file.
struct Sent {
    ranks: u32,
    bytes: u64,
    operations: usize,
}

/// Returns the summary of a process that the library has written.
fn summary_of_a_process(directory: &Path) -> Summary {
    let path = directory.join("process.json");
    let capture = &tool::captures(&tool::run("nodes2x2_train"))[0];
    tool::succeed(tool::tool().arg("replay").arg(capture).arg("--summary").arg(&path));
    let mut summary: Summary = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    // a process of a job sends its arrivals apart
    summary.processes.iter_mut().for_each(|process| process.arrivals = None);
    summary
}

/// Writes what each process but the first of so many sends.
fn write_parts(ranks: u32, directory: &Path, to: &Path) -> Sent {
    let parts = Parts {
        ranks,
        process: summary_of_a_process(directory).processes.remove(0),
        bytes: OF_A_PROCESS.min(BYTES / ranks as usize),
        arrivals: ARRIVALS / ranks as usize,
        are_full: std::env::var_os("SCOREP_NCCL_USUAL_PARTS").is_none(),
    };
    let mut file = BufWriter::new(File::create(to).unwrap());
    let mut sent = Sent { ranks, bytes: 0, operations: 0 };
    for number in 1..ranks {
        let (part, operations) = parts.of(number);
        file.write_all(&(part.len() as u64).to_le_bytes()).unwrap();
        file.write_all(&part).unwrap();
        sent.bytes += part.len() as u64;
        sent.operations += operations;
    }
    file.flush().unwrap();
    sent
}

/// Returns the host of these parts.
fn host(directory: &Path, parts: &Path) -> Command {
    let mut command = tool::host(env!("HOST_GATHER_HOST"));
    command.arg(tool::library()).arg(parts).arg(NODE.to_string()).env("SCOREP_EXPERIMENT_DIRECTORY", directory);
    command
}

/// Returns the numbers that the host has printed, by name.
fn numbers(printed: &str) -> HashMap<String, u64> {
    let number = |line: &str| line.split_once(' ').map(|(name, number)| (name.to_owned(), number.parse().unwrap()));
    printed.lines().filter_map(number).collect()
}

/// Each rank waits to be asked for its part, so those behind the failure are sent home.
#[test]
fn a_part_that_does_not_come_leaves_nobody_waiting() {
    let directory = tempfile::tempdir().unwrap();
    let parts = directory.path().join("parts");
    let (ranks, failing) = (800, 5);
    write_parts(ranks, directory.path(), &parts);
    let mut command = host(directory.path(), &parts);
    let output = command.env("RECEIVE_FAILS", failing.to_string()).output().unwrap();
    let [printed, said] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success(), "{said}");
    assert_eq!(numbers(&printed)["home"], u64::from(ranks - 1 - failing));
    assert!(said.contains("there is no job summary: Score-P's Ipc_Recv failed or is missing"), "{said}");
    assert!(!directory.path().join("nccl/summary.json").exists());
}

#[test]
#[ignore = "10,000 ranks"]
fn the_first_process_has_room_for_the_parts_of_all() {
    let directory = tempfile::tempdir().unwrap();
    let parts = directory.path().join("parts");
    let ranks = std::env::var("SCOREP_NCCL_RANKS").map_or(RANKS, |ranks| ranks.parse().unwrap());
    let sent = write_parts(ranks, directory.path(), &parts);
    let printed = tool::succeed(&mut host(directory.path(), &parts));
    tool::say(&printed);
    let figures = numbers(&printed);
    assert_eq!((figures["ranks"], figures["bytes"]), (sent.ranks.into(), sent.bytes));
    let memory = figures["after"] - figures["before"];
    assert!((1..=MEMORY).contains(&memory), "{memory} KiB");

    let summary = File::open(directory.path().join("nccl/summary.json")).unwrap();
    let written: Written = serde_json::from_reader(BufReader::new(summary)).unwrap();
    assert_eq!((written.processes.len(), written.operations.len()), (sent.ranks as usize, sent.operations));
    assert!(!written.notes.iter().any(|note| note.contains("processes are not in here")), "{:?}", written.notes);
    let world = format!("{WORLD:016x}");
    let late: Vec<_> = written.lateness.iter().filter(|row| row.comm == world && row.last > 0).collect();
    assert_eq!(late.iter().map(|row| row.rank).collect::<Vec<_>>(), [LATE.0 as i32]);
    assert_eq!((late[0].last, late[0].resolved), (late[0].count, late[0].count), "{late:?}");
    assert!(late[0].count >= 8, "{late:?}");
}
