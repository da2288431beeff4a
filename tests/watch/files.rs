//! State files that say something else than the job's own: those of another user, and those of clocks that jump.

use crate::{findings, job, tool, watch};
use common::status::{ENDING, Status};
use std::fs;
use std::path::Path;

/// Changes the file of a rank of the job of `slurm 7`.
fn change(directory: &Path, rank: u32, change: impl Fn(&mut Status)) {
    let name = directory.join(format!("slurm_7.{rank}{ENDING}"));
    let mut status: Status = serde_json::from_str(&fs::read_to_string(&name).unwrap()).unwrap();
    change(&mut status);
    fs::write(&name, serde_json::to_string(&status).unwrap()).unwrap();
}

/// Moves the times of a rank's file from its 15th mark on, by nanoseconds.
fn jump(directory: &Path, rank: u32, by: i64) {
    change(directory, rank, |status| {
        for mark in &mut status.communicators[0].marks[15..] {
            mark.time = mark.time.saturating_add_signed(by);
        }
        status.written = status.written.saturating_add_signed(by);
    });
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
            [2, 5].into_iter().for_each(|rank| jump(directory.path(), rank, by));
            let output = watch(directory.path(), &["--json"]).output().unwrap();
            let named: Vec<_> = findings(&output).iter().map(|finding| finding["rank"]["rank"].as_u64()).collect();
            let wanted: Vec<_> = slow.map(|rank| Some(u64::from(rank))).into_iter().collect();
            assert_eq!(named, wanted, "by {by}: {output:?}");
        }
    }
}
