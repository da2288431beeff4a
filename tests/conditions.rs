//! The conditions of a process: what the library says of the time that it had of its host, held against what the system
//! says of the process at its end.

use crate::support::{lines, tool};

use serde_json::Value;
use std::mem::MaybeUninit;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;
use tempfile::TempDir;

/// Starts a rank that is alone, with steps that last six seconds at least: of a build without optimization, a look takes
/// a millisecond or two of a processor, so that the next one may come after more than a second.
fn job(directory: &Path, settings: &[(&str, &str)]) -> Child {
    let mut command = tool::host(env!("HOST_STEPS_HOST"));
    command.arg(tool::library()).args(["5", "1", "0"]).arg(directory.join("shared"));
    command.args(["600", "2", "500", "10000", "sleep"]);
    command.env("NCCL_SCOREP_RECORD", directory.join("recordings"));
    command.env("NCCL_SCOREP_SUMMARY", directory.join("summary.json"));
    command.envs(settings.iter().copied()).spawn().unwrap()
}

/// Waits for the end of a process. Returns its processor time, microseconds.
fn ended(mut child: Child) -> u64 {
    let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::zeroed());
    let pid = libc::pid_t::try_from(child.id()).unwrap();
    // SAFETY: the process is this one's child and nobody else waits for it; the function fills both numbers in.
    let (waited, usage) = unsafe { (libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()), usage.assume_init()) };
    assert_eq!((waited, status), (pid, 0));
    // it is gone: this only tells the standard library
    let _ = child.wait();
    let microseconds = |time: libc::timeval| u64::try_from(time.tv_sec * 1_000_000 + time.tv_usec).unwrap();
    microseconds(usage.ru_utime) + microseconds(usage.ru_stime)
}

/// Returns the rows of the only recording, and those of the summary.
fn rows(directory: &Path) -> [Vec<Value>; 2] {
    let recording = directory.join("recordings").read_dir().unwrap().next().unwrap().unwrap().path();
    let recorded = lines::all(&recording).1.into_iter().filter(|line| line["cb"] == "conditions");
    let summary: Value = serde_json::from_slice(&std::fs::read(directory.join("summary.json")).unwrap()).unwrap();
    let of_summary = summary["processes"][0]["conditions"].as_array().cloned().unwrap_or_default();
    [recorded.map(|line| line["row"].clone()).collect(), of_summary]
}

fn sum(rows: &[Value], figure: &str) -> u64 {
    rows.iter().map(|row| row[figure].as_u64().unwrap_or(0)).sum()
}

#[test]
fn rows_follow_one_another_and_have_no_more_than_the_system_counts() {
    let directory = TempDir::new().unwrap();
    let used = ended(job(directory.path(), &[]));
    let [recorded, of_summary] = rows(directory.path());
    assert!(recorded.len() >= 2, "{recorded:?}");
    for pair in recorded.windows(2) {
        let [until, next] = [&pair[0], &pair[1]].map(|row| row["until"].as_u64().unwrap() / 1000);
        let gap = next - until;
        assert!(gap.abs_diff(pair[1]["length_us"].as_u64().unwrap()) <= 2, "{pair:?}");
    }
    // the launching thread computes half of the second behind its first row; the process has no more than the system says
    let running = sum(&recorded, "running_us") + sum(&recorded, "nccl_running_us");
    assert!(running > 0 && running <= used, "{running} of {used} us: {recorded:?}");
    let row = &recorded[1];
    assert!(row["processors"].as_u64().unwrap() >= 1 && row["runnable"].as_f64().unwrap() >= 1.0, "{row}");
    assert!(row["waiting_us"].is_u64() && row["minor_faults"].is_u64(), "{row}");
    // one thread launches
    assert!(recorded.iter().all(|row| row["threads"].as_f64().is_none_or(|threads| threads <= 1.0)), "{recorded:?}");
    assert!(recorded.iter().any(|row| row["threads"] == 1.0), "{recorded:?}");
    // nobody asks NVML
    assert!(row.get("gpus").is_none(), "{row}");
    // the summary has the same rows; the recording may have taken one more
    let count = of_summary.len().min(recorded.len());
    assert!(count >= 2);
    let lengths = |rows: &[Value]| rows[..count].iter().map(|row| row["length_us"].clone()).collect::<Vec<_>>();
    assert_eq!(lengths(&of_summary), lengths(&recorded));
}

#[test]
fn a_stopped_process_says_so() {
    let directory = TempDir::new().unwrap();
    let child = job(directory.path(), &[]);
    let signal = |signal| {
        // SAFETY: the process is this one's child, which nobody has waited for.
        assert_eq!(unsafe { libc::kill(libc::pid_t::try_from(child.id()).unwrap(), signal) }, 0);
    };
    let pause = |milliseconds| std::thread::sleep(Duration::from_millis(milliseconds));
    for _ in 0..3 {
        pause(400);
        signal(libc::SIGSTOP);
        pause(600);
        signal(libc::SIGCONT);
    }
    ended(child);
    let [recorded, _] = rows(directory.path());
    let stopped = sum(&recorded, "stopped_us");
    // the time for which the library's thread had no processor afterwards is not counted as a stop
    assert!(stopped >= 900_000, "{stopped} us of 1,800,000: {recorded:?}");
}

#[test]
fn off_is_off_and_a_replay_has_none_of_its_own() {
    let directory = TempDir::new().unwrap();
    ended(job(directory.path(), &[("NCCL_SCOREP_CONDITIONS", "off")]));
    assert!(rows(directory.path()).iter().all(Vec::is_empty));
    let summary = directory.path().join("replayed.json");
    let mut replay: Command = tool::tool();
    replay.arg("replay").arg(directory.path().join("recordings")).arg("--summary").arg(&summary);
    assert!(replay.output().unwrap().status.success());
    let summary: Value = serde_json::from_slice(&std::fs::read(summary).unwrap()).unwrap();
    assert_eq!(summary["processes"][0].get("conditions"), None);
}
