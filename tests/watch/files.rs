//! State files that say something else than the job's own: those of another user, and those of clocks that jump.

use crate::support::tool;
use crate::watch::{findings, job, watch};
use common::status::{ENDING, Status};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// Moves the clocks of a rank's process, from its 15th mark on, and of its file, by nanoseconds. The process has begun
/// before all that.
fn jump(directory: &Path, rank: u32, by: i64) {
    let name = directory.join(format!("slurm_7.{rank}{ENDING}"));
    let mut status: Status = serde_json::from_str(&fs::read_to_string(&name).unwrap()).unwrap();
    for mark in &mut status.communicators[0].marks[15..] {
        mark.time = mark.time.saturating_add_signed(by);
    }
    status.written = status.written.saturating_add_signed(by);
    status.origin.started = Some("2026-01-01T00:00:00Z".into());
    fs::write(&name, serde_json::to_string(&status).unwrap()).unwrap();
    let time = UNIX_EPOCH + Duration::from_nanos(status.written);
    fs::File::options().write(true).open(&name).unwrap().set_modified(time).unwrap();
}

/// A file of another user in the job's directory is left out and named: it neither accuses a rank nor hides one.
#[test]
fn a_file_of_another_user_says_nothing_of_the_job() {
    // SAFETY: no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        return tool::skip("files of another user need root");
    }
    let directory = tempfile::tempdir().unwrap();
    job(directory.path(), "slurm 7", Some(5));
    let name = format!("slurm_7.5{ENDING}");
    std::os::unix::fs::chown(directory.path().join(&name), Some(4711), None).unwrap();
    let output = watch(directory.path(), &["--json"]).output().unwrap();
    assert_eq!((output.status.code(), findings(&output).len()), (Some(0), 0), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(&name) && said.contains("user 4711"), "{said}");
}

/// Excesses are differences of the GPU's times, and the length of a window is the median of the ranks' clocks.
#[test]
fn a_clock_that_jumps_accuses_nobody_and_hides_nobody() {
    let hour = 3_600_000_000_000;
    for by in [-hour, hour] {
        for slow in [None, Some(5)] {
            let directory = tempfile::tempdir().unwrap();
            job(directory.path(), "slurm 7", slow);
            for rank in 0..8 {
                jump(directory.path(), rank, if rank == 2 || rank == 5 { by } else { 0 });
            }
            let output = watch(directory.path(), &["--json"]).output().unwrap();
            // of files with an old time that nobody writes, it is said that nobody writes them
            let (processes, others): (Vec<Value>, Vec<Value>) =
                findings(&output).into_iter().partition(|finding| finding["kind"] == "process");
            let is_true =
                |finding: &Value| by < 0 && finding["text"].as_str().unwrap().starts_with("processes 2,5 write");
            assert!(processes.iter().all(is_true), "by {by}: {output:?}");
            let named: Vec<_> = others.iter().map(|finding| finding["rank"]["rank"].as_u64()).collect();
            let wanted: Vec<_> = slow.map(|rank| Some(u64::from(rank))).into_iter().collect();
            assert_eq!(named, wanted, "by {by}: {output:?}");
        }
    }
}
