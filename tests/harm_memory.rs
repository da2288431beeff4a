//! A job that runs out of memory comes to its own end, whichever allocation fails first: with one line of the library,
//! and without an incomplete file (tests/c/nccl/starved_host.c, one process for each scenario).

use crate::support::tool;

use flate2::read::MultiGzDecoder;
use serde_json::Value;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A process that takes longer hangs; most processes take some milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// Exit status of a host that has come to its own end.
const OWN: i32 = 3;
/// Number of an allocation that no process reaches.
const NONE: usize = 1 << 40;

/// A process' description, and what it left behind.
struct Left {
    what: String,
    code: Option<i32>,
    printed: String,
    said: String,
    summary: bool,
    recording: bool,
    /// Incomplete files, and files of any other kind.
    half: Vec<PathBuf>,
}

fn play(library: &Path, version: u32, who: &str, number: usize, before: &str) -> Left {
    let directory = tempfile::tempdir().unwrap();
    let files = directory.path().join("files");
    fs::create_dir(&files).unwrap();
    let [printed, said] = ["printed", "said"].map(|name| directory.path().join(name));
    let mut command: Command = tool::host("/bin/sh");
    command.arg("-c").arg(format!(r#"{before}; exec "$@""#)).arg("sh").arg(env!("HOST_STARVED_HOST")).arg(library);
    command.args([&version.to_string(), who, &number.to_string()]).current_dir(&files);
    command.envs([
        ("NCCL_SCOREP_SUMMARY", "summary.json"),
        ("NCCL_SCOREP_RECORD", "."),
        ("NCCL_ALLGATHERV_ENABLE", "0"),
    ]);
    command.stdout(File::create(&printed).unwrap()).stderr(File::create(&said).unwrap());
    let what = format!("{who} from {number} on, v{version}, {before}, {}", library.display());
    let status = tool::ends(&mut command, PATIENCE, &what);
    let [printed, said] = [printed, said].map(|path| fs::read_to_string(path).unwrap());
    let mut left = Left {
        what: format!("{what}: {status}"),
        code: status.code(),
        printed,
        said,
        summary: false,
        recording: false,
        half: vec![],
    };
    for path in files.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
        let bytes = fs::read(&path).unwrap();
        match path.to_str().unwrap() {
            path if path.ends_with("/summary.json") && is_summary(&bytes) => left.summary = true,
            path if path.ends_with(".jsonl.gz") && is_recording(&bytes) => left.recording = true,
            _ => left.half.push(path),
        }
    }
    left
}

fn is_summary(bytes: &[u8]) -> bool {
    serde_json::from_slice::<Value>(bytes).is_ok_and(|summary| summary["operations"].is_array())
}

/// Returns whether the bytes are a recording. The last part may be cut off where the writing thread had no memory; the
/// parts before are whole.
fn is_recording(bytes: &[u8]) -> bool {
    let mut text = String::new();
    let _ = MultiGzDecoder::new(bytes).read_to_string(&mut text);
    text.lines().count() > 1
}

impl Left {
    /// Returns a description of the harm, if there is any.
    fn harm(&self) -> Option<String> {
        let Self { what, code, said, half, .. } = self;
        let ours = said.lines().filter(|line| line.starts_with("scorep-nccl: ")).count();
        let unharmed = *code == Some(OWN) && ours <= 1 && said.lines().count() == ours && half.is_empty();
        (!unharmed).then(|| format!("{what}, {half:?}\n{said}"))
    }

    fn number(&self, name: &str) -> usize {
        let found = self.printed.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        found.unwrap_or_default()
    }
}

/// Plays once with each of these numbers, two processes at a time; returns the results in the order of the numbers.
fn sweep(library: &Path, version: u32, who: &str, numbers: &[usize]) -> Vec<Left> {
    let next = AtomicUsize::new(0);
    let one = || {
        let mut left = Vec::new();
        while let Some((place, &number)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|place| Some((place, numbers.get(place)?)))
        {
            left.push((place, play(library, version, who, number, ":")));
        }
        left
    };
    let mut left: Vec<(usize, Left)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(one)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    left.sort_by_key(|(place, _)| *place);
    left.into_iter().map(|(_, left)| left).collect()
}

/// Returns the first numbers, and a selection of the later numbers up to the end.
fn numbers(all: usize) -> Vec<usize> {
    let dense = all.min(120);
    (1..=dense).chain((dense..=all + all / 4).step_by((all / 60).max(1))).collect()
}

fn no_harm<'a>(left: impl IntoIterator<Item = &'a Left>) {
    let left: Vec<&Left> = left.into_iter().collect();
    let harm: Vec<String> = left.iter().filter_map(|left| left.harm()).collect();
    assert!(
        harm.is_empty(),
        "{} of {} processes were harmed\n{}",
        harm.len(),
        left.len(),
        harm[..harm.len().min(5)].join("\n")
    );
}

/// Returns the shipped library. Only that build has no thread-local variables, for which glibc ends a process that is
/// out of memory.
fn library() -> Option<PathBuf> {
    tool::shipped(tool::LIBRARY).inspect_err(|missing| tool::skip(missing)).ok()
}

#[test]
fn with_memory_all_is_there() {
    let Some(library) = library() else { return };
    let left = play(&library, 7, "all", NONE, ":");
    assert_eq!(left.harm(), None);
    assert!(left.summary && left.recording && left.said.is_empty(), "{}", left.said);
}

#[test]
fn whichever_allocation_of_the_process_fails_the_job_goes_on() {
    let Some(library) = library() else { return };
    for version in [1, 7] {
        let all = play(&library, version, "all", NONE, ":").number("allocations");
        let left = sweep(&library, version, "all", &numbers(all));
        no_harm(&left);
        // the first allocation: nothing is recorded, and a line says so
        let first = &left[0];
        assert!(
            first.said.contains("out of memory") && !first.summary && !first.recording,
            "{}: {}",
            first.what,
            first.said
        );
        let silent = left.iter().find(|left| !left.summary && !left.said.contains("memory"));
        assert!(silent.is_none(), "{:?} is silent", silent.map(|left| (&left.what, &left.said)));
    }
}

#[test]
fn the_library_s_own_threads_without_memory_harm_nobody() {
    let Some(library) = library() else { return };
    let all = play(&library, 7, "library", NONE, ":").number("allocations");
    let left = sweep(&library, 7, "library", &numbers(all));
    no_harm(&left);
    assert!(left[0].said.contains("out of memory"), "{}", left[0].said);
}

#[test]
fn the_program_s_threads_without_memory_are_not_harmed() {
    let Some(library) = library() else { return };
    let all = play(&library, 7, "program", NONE, ":").number("allocations");
    no_harm(&sweep(&library, 7, "program", &numbers(all)));
}

#[test]
fn address_space_that_ends_ends_no_job() {
    let Some(library) = library() else { return };
    let left: Vec<Left> =
        [0, 64, 256, 1024, 4096, 16_384, 65_536].iter().map(|&kib| play(&library, 7, "limit", kib, ":")).collect();
    no_harm(&left);
    // less memory than the library needs at the first init, and little more than the program itself needs
    let left: Vec<Left> = [12, 16, 24, 40, 80]
        .iter()
        .map(|mib| play(&library, 7, "all", NONE, &format!("ulimit -v {}", mib << 10)))
        .collect();
    // processes in which the library was loaded
    no_harm(left.iter().filter(|left| left.code != Some(1)));
}
