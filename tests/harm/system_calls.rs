//! Sandboxes (seccomp) that refuse a system call, as unknown or as forbidden, from the first communicator on or while
//! the process records.

use crate::harm::job::{Found, Job};
use crate::support::tool;
use std::process::Command;

/// The line at the first init where there can be no collector.
const REFUSED: &str = "no memory or thread to record with";
/// Without these there is no file, and one line says so.
const OF_FILES: [&str; 2] = ["open", "close"];

#[test]
fn system_calls_that_are_refused_are_done_without() {
    let mut host = Command::new(env!("HOST_HARM_HOST"));
    let calls = tool::succeed(host.arg(tool::library()).args(["6", "refusable_calls"]));
    assert!(calls.lines().count() > 15, "{calls}");
    for call in calls.lines() {
        for (error, moment) in [("ENOSYS", 0), ("ENOSYS", 1), ("EPERM", 0), ("EPERM", 1)] {
            let job = Job::scenario("refused", moment, &[call, error]);
            let found = job.check();
            // the C library goes on to clone where clone3 is unknown, and only there
            let has_no_thread = moment == 0 && (call == "clone" || call == "clone3" && error == "EPERM");
            check(&found, &format!("{call}, {error} at {moment}"), has_no_thread, OF_FILES.contains(&call));
        }
    }
}

/// Each attempt at a pause or at a write into a file, for ever: the job ends all the same.
#[test]
fn system_calls_that_are_always_interrupted_are_given_up() {
    for moment in 0..=1 {
        let job = Job::scenario("interrupted_for_ever", moment, &[]).set("NCCL_SCOREP_RECORD", ".");
        let found = job.check();
        // the recording may have begun before
        assert_eq!(found.files()[0], 0, "{moment}: {:?}", found.said);
        assert!(found.said.len() == 2, "{moment}: {:?}", found.said);
        assert!(found.said.iter().all(|line| line.contains("interrupts each attempt")), "{moment}: {:?}", found.said);
    }
}

fn check(found: &Found, what: &str, has_no_thread: bool, has_no_file: bool) {
    let said = match (has_no_thread, has_no_file) {
        (true, _) => Some(REFUSED),
        (false, true) => Some("the summary could not be written to "),
        (false, false) => None,
    };
    assert_eq!(found.files()[0], usize::from(said.is_none()), "{what}: {:?}", found.said);
    assert!(found.said.len() == said.iter().count(), "{what}: {:?}", found.said);
    assert!(found.said.iter().all(|line| said.is_some_and(|said| line.contains(said))), "{what}: {:?}", found.said);
}
