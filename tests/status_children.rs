//! Status files of processes that fork: a child never writes its parent's, and writes its own only if it begins to use
//! NCCL itself. Host: tests/c/nccl/status_host.c.

use crate::support::{status, tool};

use common::status::Status;
use serde_json::{Value, json};
use status::{Job, of};
use std::fs;
use std::time::{Duration, Instant};

const API: &[(&str, &str)] = &[("NCCL_SCOREP_PRESET", "api")];

/// The answer of `hang`.
fn hang(job: &Job) -> Value {
    let mut hang = tool::tool();
    hang.arg("hang").arg(job.status_directory()).args(["--json", "--after", "60"]);
    let output = hang.output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A child of the job, which ends with the test.
struct Child(i32);

impl Child {
    fn of(job: &mut Job, work: &str) -> Self {
        Self(job.order(&format!("fork {work} stay")).parse().unwrap())
    }

    /// Waits until it has ended; nobody may have noticed.
    fn wait(&self) {
        let begun = Instant::now();
        let ended = |stat: &str| stat.rsplit_once(')').is_none_or(|(_, fields)| fields.trim_start().starts_with('Z'));
        while fs::read_to_string(format!("/proc/{}/stat", self.0)).is_ok_and(|stat| !ended(&stat)) {
            assert!(begun.elapsed() < Duration::from_secs(60), "the child does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn signal(&self, signal: i32) {
        // SAFETY: the process is a child of the test's own job, which has not been waited for.
        unsafe { libc::kill(self.0, signal) };
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.signal(libc::SIGKILL);
    }
}

/// All statuses, which are whole.
fn statuses(job: &Job) -> Vec<Status> {
    job.files().iter().map(|file| serde_json::from_slice(&fs::read(file).unwrap()).unwrap()).collect()
}

/// Waits for the status of a process.
fn await_status(job: &Job, pid: i32, wanted: impl Fn(&Status) -> bool) -> Status {
    let begun = Instant::now();
    loop {
        let found = statuses(job).into_iter().find(|status| status.pid == pid.cast_unsigned() && wanted(status));
        if let Some(found) = found {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{:#?}\n{}", statuses(job), job.said());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_child_that_ends_leaves_its_parents_status_alone() {
    let mut job = Job::begin(7, API);
    job.order("init ab 0 2\n whole ab 3");
    for work in ["idle", "nccl"] {
        let before = job.next_status();
        job.order(&format!("fork {work} exit\n whole ab 1"));
        let status = job.next_status();
        assert_eq!((status.pid, status.over, &status.off, status.silent_since), (job.pid(), None, &None, None));
        assert!(status.born == before.born && status.communicators.len() == 1, "{status:#?}");
        assert_eq!(of(&status, "ab").entered, of(&before, "ab").entered + 1);
        assert_eq!(hang(&job)["processes"]["running"], 1);
    }
    assert_eq!(job.end()["operations"][0]["count"], 5);
    assert!(job.status().unwrap().over.is_some());
    assert_eq!((hang(&job)["verdict"].as_str(), job.files().len()), (Some("over"), 1));
}

#[test]
fn a_child_that_outlives_its_parent_does_not_keep_it_alive() {
    for (work, ends) in [("idle", false), ("nccl", false), ("nccl", true)] {
        let mut job = Job::begin(7, API);
        job.order("init ab 0 2\n whole ab 3");
        job.next_status();
        let child = Child::of(&mut job, work);
        if ends {
            assert!(job.wait().success());
        } else {
            job.kill();
        }
        let is_so = |job: &Job| {
            let answer = hang(job);
            assert_eq!(answer["processes"][if ends { "ended" } else { "dead" }], 1, "{work}: {answer:#}");
            assert_eq!((job.files().len(), job.status().unwrap().over.is_some()), (1, ends));
        };
        is_so(&job);
        let last = job.status();
        // it exits, with all that the library does at an exit
        child.signal(libc::SIGTERM);
        child.wait();
        is_so(&job);
        assert_eq!(job.status(), last);
    }
}

/// A launcher forks its workers, and uses NCCL later or never.
#[test]
fn a_child_that_begins_by_itself_has_a_status_of_its_own() {
    let mut job = Job::begin(7, API);
    let child = Child::of(&mut job, "nccl");
    let status = await_status(&job, child.0, |status| status.communicators.first().is_some_and(|one| one.entered == 3));
    assert_eq!((of(&status, "cd").rank, status.over), (Some(0), None));
    let answer = hang(&job);
    assert_eq!((&answer["processes"]["running"], &answer["processes"]["all"]), (&json!(1), &json!(1)), "{answer:#}");
    job.order("init ab 0 2\n whole ab 3");
    let has_entered = |status: &Status| status.communicators.first().is_some_and(|one| one.entered == 3);
    let parent = await_status(&job, job.pid().cast_signed(), has_entered);
    assert_eq!(of(&parent, "ab").entered, 3);
    // both write on
    let beat = await_status(&job, child.0, |_| true).beat;
    await_status(&job, child.0, |status| status.beat > beat + 1);
    assert_eq!(hang(&job)["processes"]["running"], 2);
    // its parent has not waited for it: it is a zombie
    child.signal(libc::SIGKILL);
    let answer = hang(&job);
    assert_eq!((&answer["processes"]["running"], &answer["processes"]["dead"]), (&json!(1), &json!(1)), "{answer:#}");
    assert_eq!(answer["findings"][0]["processes"][0]["pid"], child.0);
}

/// As workers of Python's multiprocessing do: nothing of the library is called.
#[test]
fn a_child_that_leaves_by_exit_alone_is_not_taken_for_dead() {
    let mut job = Job::begin(7, API);
    let child = Child(job.order("fork nccl leave").parse().unwrap());
    await_status(&job, child.0, |status| status.forked && status.communicators.len() == 1);
    job.order("init ab 0 2\n whole ab 3");
    let own = await_status(&job, job.pid().cast_signed(), |status| status.communicators.len() == 1);
    assert!(!own.forked);
    // both are of one run
    let beat = await_status(&job, child.0, |_| true).beat;
    await_status(&job, child.0, |status| status.beat > beat + 1);
    child.signal(libc::SIGTERM);
    child.wait();
    for reaps in [false, true] {
        if reaps {
            job.order(&format!("reap {}", child.0));
        }
        let answer = hang(&job);
        let [running, left, dead] = ["running", "left", "dead"].map(|of| &answer["processes"][of]);
        assert_eq!((running, left, dead), (&json!(1), &json!(1), &json!(0)), "{answer:#}");
        assert!(answer["findings"].as_array().unwrap().is_empty(), "{answer:#}");
    }
}

/// Its parent begins later: it counts as of an earlier run, and not as dead.
#[test]
fn a_child_that_begins_by_itself_and_ends_in_order_says_so() {
    let mut job = Job::begin(7, API);
    let child: i32 = job.order("fork nccl exit").parse().unwrap();
    assert!(await_status(&job, child, |status| status.over.is_some()).off.is_none());
    assert_eq!(hang(&job)["verdict"], "over");
    job.order("init ab 0 2\n whole ab 3");
    await_status(&job, job.pid().cast_signed(), |status| status.communicators.len() == 1);
    let answer = hang(&job);
    assert_eq!(
        (&answer["processes"]["running"], &answer["processes"]["earlier"]),
        (&json!(1), &json!(1)),
        "{answer:#}"
    );
    assert_eq!(answer["verdict"], "well");
}
