//! Limits of a process (setrlimit), there from its first communicator on or lowered while it records.

use crate::harm::job::Job;
use std::os::unix::fs::PermissionsExt;

/// What becomes of the recording.
#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    /// The figures are right, and nothing is said.
    Whole,
    /// There is a file that cannot be made, and one line says so.
    NoFile,
    /// Nothing is recorded, and one line says so.
    Refused,
}

use Outcome::{NoFile, Refused, Whole};

/// Before the first communicator; while it records; and the same, lifted before the end.
const LIMITS: [(&str, [Outcome; 3]); 6] = [
    ("AS", [Refused, Whole, Whole]),
    // the recording's memory is mapped without reserving it
    ("DATA", [Whole, Whole, Whole]),
    ("NPROC", [Refused, Whole, Whole]),
    ("NOFILE", [NoFile, NoFile, Whole]),
    // not even the first three: a line has to be written all the same
    ("FILES", [NoFile, NoFile, Whole]),
    ("FSIZE", [NoFile, NoFile, Whole]),
];

#[test]
fn nothing_is_left_of_a_resource() {
    for (limit, outcomes) in LIMITS {
        for (moment, outcome) in (0..).zip(outcomes) {
            let job = Job::scenario("limited", moment, &[limit]);
            // the number of processes is a user's, and the administrator's is unlimited: the host becomes another one
            std::fs::set_permissions(job.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
            let found = job.check();
            let wanted = match outcome {
                Whole => [1, 0],
                NoFile | Refused => [0, 1],
            };
            let said = match outcome {
                Refused if limit == "AS" => "the process is out of memory: nothing of NCCL is recorded",
                Refused => "no memory or thread to record with",
                _ => "/summary.json",
            };
            assert_eq!([found.files()[0], found.said.len()], wanted, "{limit} at {moment}: {:?}", found.said);
            assert!(found.said.iter().all(|line| line.contains(said)), "{limit} at {moment}: {:?}", found.said);
        }
    }
}

/// A program that locks all memory of its future pays for the library's used memory, and not for reserved one.
#[test]
fn locked_memory_is_what_is_used() {
    let job = Job::scenario("locked", 0, &[]).set("NCCL_SCOREP_RECORD", ".");
    let found = job.check();
    found.figures();
    assert!(found.said.is_empty(), "{:?}", found.said);
}

#[test]
fn a_file_beyond_the_limit_of_files_ends_no_job() {
    let job =
        Job::new().set("NCCL_SCOREP_SUMMARY", "summary.json").set("NCCL_SCOREP_RECORD", ".").before("ulimit -f 1");
    job.play();
    assert!(job.files().is_empty(), "half a file: {:?}", job.files());
    assert_eq!(job.said().matches("File too large").count(), 2, "{}", job.said());
}

/// Standard output and standard error are files there, too.
#[test]
fn lines_and_summaries_beyond_the_limit_of_files_end_no_job() {
    for summary in ["/proc/self/fd/1", "/proc/self/fd/2", "missing/summary.json"] {
        let job = Job::new()
            .set("NCCL_SCOREP_WINDOW_EVENTS", "some")
            .set("NCCL_SCOREP_SUMMARY", summary)
            .before("ulimit -f 0");
        job.play();
        assert_eq!(job.said(), "", "{summary}");
    }
}
