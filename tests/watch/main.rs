//! `scorep-nccl watch` of state files that the test writes: who stands out, exit statuses, outputs, hostile files. `live`
//! has jobs that run.

mod dashboard;
mod files;
mod live;
mod watcher;
mod webhook;

use crate::support::marked;
use common::status::{ENDING, SCHEMA, Status, StatusCommunicator, StatusOperation};
use marked::{usual, write};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes a job of eight ranks, of which one is slower from the 20th window on.
fn job(directory: &Path, name: &str, slow: Option<u32>) {
    for rank in 0..8 {
        let own = |window| usual(rank, window) * if slow == Some(rank) && window > 20 { 1.15 } else { 1.0 };
        write(directory, Some(name), rank, own);
    }
}

fn watch(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scorep-nccl"));
    command.arg("watch").arg(directory).args(["--once", "--interval", "1.5"]).args(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Returns the number of files in a directory, each of which is a process' state.
fn status_files(directory: &Path) -> usize {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: Vec<String> = names.collect();
    assert!(names.iter().all(|name| name.ends_with(ENDING)), "{names:?}");
    names.len()
}

fn findings(output: &Output) -> Vec<Value> {
    let text = std::str::from_utf8(&output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_slow_rank_of_one_of_two_jobs_is_named() {
    let directory = tempfile::tempdir().unwrap();
    job(directory.path(), "slurm 7", Some(5));
    job(directory.path(), "slurm 1234", None);
    let textfile = directory.path().join("watch.prom");
    let output = watch(directory.path(), &["--json", "--textfile", textfile.to_str().unwrap()]).output().unwrap();
    let found = findings(&output);
    assert_eq!((output.status.code(), found.len()), (Some(1), 1), "{output:?}");
    let finding = &found[0];
    assert_eq!((&finding["kind"], &finding["change"]), (&"rank".into(), &"begins".into()), "{finding:#}");
    assert_eq!((&finding["rank"]["rank"], &finding["job"]), (&5.into(), &"slurm 7".into()), "{finding:#}");
    assert_eq!(finding["excess"]["since"]["number"], 160, "{finding:#}");
    let share = finding["excess"]["share"].as_f64().unwrap();
    assert!((share - 0.075).abs() < 0.01, "{finding:#}");
    let metrics = fs::read_to_string(textfile).unwrap();
    let stands =
        "scorep_nccl_watch_rank_stands_out{job_name=\"slurm 7\",rank=\"5\",hostname=\"elsewhere1\",pid=\"1005\"} 1";
    assert!(metrics.contains(stands), "{metrics}");
}

#[test]
fn a_job_without_a_fault_gives_status_0_and_no_line() {
    let directory = tempfile::tempdir().unwrap();
    job(directory.path(), "slurm 7", None);
    let output = watch(directory.path(), &[]).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len(), output.stderr.len()), (Some(0), 0, 0), "{output:?}");
}

#[test]
fn files_that_do_not_say_give_status_2() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(watch(directory.path(), &[]).output().unwrap().status.code(), Some(2));
    let output = watch(&directory.path().join("missing"), &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("name the job's NCCL_SCOREP_STATUS"), "{output:?}");
}

#[test]
fn hostile_files_are_named_and_do_no_harm() {
    let directory = tempfile::tempdir().unwrap();
    job(directory.path(), "slurm 7", Some(3));
    let put = |name: &str, text: &str| fs::write(directory.path().join(format!("{name}{ENDING}")), text).unwrap();
    let whole = fs::read_to_string(directory.path().join(format!("slurm_7.0{ENDING}"))).unwrap();
    put("cut", &whole[..whole.len() / 2]);
    put("huge", &" ".repeat(5 << 20));
    std::os::unix::fs::symlink("/dev/zero", directory.path().join(format!("link{ENDING}"))).unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    // jobs of their own, whose marks go back, stand, or are as large as can be
    for (name, marks) in [
        ("back", r#"[{"number":9,"time":9},{"number":8,"time":8}]"#),
        ("stands", r#"[{"number":1},{"number":1},{"number":1}]"#),
        (
            "large",
            r#"[{"number":0},{"number":18446744073709551615,"time":18446744073709551615,"own":18446744073709551615}]"#,
        ),
    ] {
        for rank in 0..3 {
            let communicator = format!(r#"{{"comm":"{name}","rank":{rank},"nranks":3,"stride":1,"marks":{marks}}}"#);
            put(
                &format!("{name}.{rank}"),
                &format!(r#"{{"schema":"{SCHEMA}","pid":1,"written":{now},"communicators":[{communicator}]}}"#),
            );
        }
    }
    let output = watch(directory.path(), &["--json"]).output().unwrap();
    let ranks: Vec<Value> = findings(&output).into_iter().filter(|finding| finding["kind"] == "rank").collect();
    assert_eq!((output.status.code(), ranks.len()), (Some(1), 1), "{output:?}");
    assert_eq!(ranks[0]["rank"]["rank"], 3);
    let said = String::from_utf8_lossy(&output.stderr);
    for name in ["cut", "huge", "link"] {
        assert_eq!(said.matches(&format!("{name}{ENDING}: ")).count(), 1, "{said}");
    }
}

#[test]
fn a_look_at_1024_processes_takes_at_most_256_mib() {
    let directory = tempfile::tempdir().unwrap();
    for rank in 0..1024 {
        write(directory.path(), Some("slurm 7"), rank, |window| usual(rank, window));
        // as large as a process' file may be
        let name = directory.path().join(format!("slurm_7.{rank}{ENDING}"));
        let mut status: Status = serde_json::from_str(&fs::read_to_string(&name).unwrap()).unwrap();
        let communicator = &mut status.communicators[0];
        communicator.operations = (0..64).map(operation).collect();
        let further =
            [1, 2, 3].map(|number| StatusCommunicator { comm: format!("{number:016x}"), ..communicator.clone() });
        status.communicators.extend(further);
        fs::write(&name, serde_json::to_string(&status).unwrap()).unwrap();
    }
    let output = watch(directory.path(), &[]).output().unwrap();
    assert!(output.stderr.is_empty(), "{output:?}");
    // SAFETY: all-zero bytes are a valid rusage.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `used` is ours, for writing.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut used) };
    // of the largest of all watchers of this file, in KiB
    assert!(used.ru_maxrss <= 256 << 10, "{} KiB", used.ru_maxrss);
}

fn operation(number: u64) -> StatusOperation {
    StatusOperation {
        number: Some(number),
        func: "AllReduce".into(),
        count: Some(1 << 20),
        datatype: Some("ncclFloat32".into()),
        ..StatusOperation::default()
    }
}

#[test]
fn a_directory_for_each_node_makes_one_job() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    job(one.path(), "slurm 7", Some(6));
    for rank in 4..8 {
        let name = format!("slurm_7.{rank}{ENDING}");
        fs::copy(one.path().join(&name), other.path().join(&name)).unwrap();
        fs::remove_file(one.path().join(&name)).unwrap();
    }
    let output = watch(one.path(), &[other.path().to_str().unwrap(), "--json"]).output().unwrap();
    let found = findings(&output);
    assert_eq!((output.status.code(), found.len()), (Some(1), 1), "{output:?}");
    assert_eq!((&found[0]["rank"]["rank"], &found[0]["excess"]["peers"]), (&6.into(), &7.into()), "{output:?}");
}

#[test]
fn two_watchers_share_a_log() {
    let directory = tempfile::tempdir().unwrap();
    job(directory.path(), "slurm 7", Some(2));
    let log = directory.path().join("findings.jsonl");
    let watcher = || watch(directory.path(), &["--log", log.to_str().unwrap()]).spawn().unwrap();
    let watchers = [watcher(), watcher()];
    for watcher in watchers {
        assert_eq!(watcher.wait_with_output().unwrap().status.code(), Some(1));
    }
    let text = fs::read_to_string(&log).unwrap();
    let kinds: Vec<Value> =
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["kind"].take()).collect();
    assert_eq!(kinds, ["rank", "rank"]);
}

#[test]
fn a_full_standard_output_ends_the_watch_only_without_another_output() {
    let directory = tempfile::tempdir().unwrap();
    job(directory.path(), "slurm 7", Some(2));
    let log = directory.path().join("findings.jsonl");
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = watch(directory.path(), &["--log", log.to_str().unwrap()]).stdout(full()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), said.matches("standard output: ").count()), (Some(1), 1), "{said}");
    assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), 1);
    let output = watch(directory.path(), &[]).stdout(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}
