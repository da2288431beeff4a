//! Mutated files of each kind that the tool reads, but for recordings (`fuzz_recordings`), by number. The tool has 1 GiB
//! of address space and 10 s for a command, and gives figures or names the file: no signal, no panic.
//!
//! `SCOREP_NCCL_FUZZ_MUTATIONS=20000 cargo test --test command_line fuzz_readers::` tries so many of each kind, and
//! `SCOREP_NCCL_FUZZ_SEED` other ones. With `SCOREP_NCCL_KEEP=DIR`, files that failed stay in DIR.

mod archives;
mod kinds;
mod mutations;
mod statuses;

use crate::support::{bounded, tool};
use bounded::{each, ended};
use fastrand::Rng;
use kinds::Kind;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Mutations of each kind in every test run.
const MUTATIONS: u64 = 200;
/// Longest processor time of a command.
const PATIENCE: Duration = Duration::from_secs(10);

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

/// Tries all mutations of a kind, and those that once failed.
fn fuzz(kind: &Kind) {
    let place = tempfile::tempdir().unwrap();
    let with = (kind.prepare)(place.path());
    let seed = number("SCOREP_NCCL_FUZZ_SEED", 0) << 32;
    let all: Vec<u64> =
        kind.failed.iter().copied().chain(seed..seed + number("SCOREP_NCCL_FUZZ_MUTATIONS", MUTATIONS)).collect();
    let batches: Vec<&[u64]> = all.chunks(kind.at_a_time).collect();
    let (read, threads) = (AtomicUsize::new(0), std::thread::available_parallelism().map_or(1, usize::from).max(2));
    let wrong = each(0..batches.len() as u64, threads, |batch| {
        let batch = batches[batch as usize];
        match run(kind, &with, batch) {
            Ok(figures) => {
                read.fetch_add(usize::from(figures), Ordering::Relaxed);
                vec![]
            }
            Err(wrong) if batch.len() == 1 => vec![wrong],
            Err(wrong) => {
                // which of them it is
                let each: Vec<String> = batch.iter().filter_map(|number| run(kind, &with, &[*number]).err()).collect();
                if each.is_empty() { vec![wrong] } else { each }
            }
        }
    });
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    let (read, name) = (read.into_inner(), kind.name);
    tool::say(&format!("{name}: {} mutations, figures of {read} of {} commands", all.len(), batches.len()));
    assert!(all.len() < 100 || read > batches.len() / 50, "{name}: nearly all are refused");
}

/// Runs the tool on mutations; returns whether it has given figures.
fn run(kind: &Kind, with: &Path, numbers: &[u64]) -> Result<bool, String> {
    let directory = tempfile::tempdir().unwrap();
    let mutated = |number: &u64| {
        let place = directory.path().join(format!("{number}{}", kind.ending));
        for (name, content) in (kind.mutated)(&mut Rng::with_seed(*number), with) {
            let file = if name.as_os_str().is_empty() { place.clone() } else { place.join(name) };
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, content).unwrap();
        }
        place
    };
    let files: Vec<PathBuf> = numbers.iter().map(mutated).collect();
    let output = directory.path().join("output");
    fs::create_dir(&output).unwrap();
    let mut command = tool::tool();
    (kind.arguments)(&mut command, &files, with);
    command.env("TMPDIR", &output);
    let ended = ended(&command, &output, PATIENCE);
    let has_answered = kind.status_answers && !ended.printed.is_empty();
    let is_refused = ended.code != Some(0) && !has_answered;
    let names = ended.said.contains(&*directory.path().to_string_lossy());
    // a place of the tool's own is nobody's file
    let names_another = ended.said.contains("/proc/self/fd/");
    let unnamed = is_refused && !names || names_another;
    let fault = ended.fault().or_else(|| unnamed.then(|| format!("names no file: {}", ended.said)));
    match fault {
        None => Ok(!ended.printed.is_empty()),
        Some(fault) => {
            if let Some(keep) = std::env::var_os("SCOREP_NCCL_KEEP") {
                fs::create_dir_all(&keep).unwrap();
                tool::succeed(Command::new("cp").arg("-r").args(&files).arg(keep));
            }
            Err(format!("{} {numbers:?}: {fault}", kind.name))
        }
    }
}

#[test]
#[ignore = "fuzzing"]
fn summaries() {
    fuzz(&kinds::SUMMARY);
}

#[test]
#[ignore = "fuzzing"]
fn tables() {
    fuzz(&kinds::TABLE);
}

#[test]
#[ignore = "fuzzing"]
fn profiles() {
    fuzz(&kinds::PROFILE);
}

#[test]
#[ignore = "fuzzing"]
fn exports_of_nsys() {
    fuzz(&kinds::NSYS);
}

#[test]
#[ignore = "fuzzing"]
fn dimensions() {
    fuzz(&kinds::DIMENSIONS);
}

#[test]
#[ignore = "fuzzing"]
fn steps() {
    fuzz(&kinds::STEPS);
}

#[test]
#[ignore = "fuzzing"]
fn rates_of_links() {
    fuzz(&kinds::LINKS);
}

#[test]
#[ignore = "fuzzing"]
fn earlier_reports() {
    fuzz(&kinds::BASELINE);
}

#[test]
#[ignore = "fuzzing"]
fn state_files() {
    fuzz(&statuses::STATUS);
}

#[test]
#[ignore = "fuzzing"]
fn otf2_archives() {
    if archives::are_written() {
        fuzz(&archives::ARCHIVE);
    }
}
