//! The origin that recordings and summaries state of a process: its number, host, job, rank and times.

use crate::processes::{ranks, replay};
use crate::support::{lines, tool};
use serde_json::{Value, json};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// A recording of an older recorder: data that it lacks is unknown, and its times come from its clocks.
#[test]
fn a_replay_is_of_the_recorded_process() {
    let capture = &ranks("nodes2x1_comms")[0];
    let (meta, all) = lines::all(capture);
    let process = &tool::summary(&mut replay(&[capture], "json"))["processes"][0];
    assert_eq!((&process["pid"], &process["interface"]), (&meta["pid"], &meta["api"]));
    assert_eq!(process["file"], json!(capture.display().to_string()));
    assert_eq!((&process["gpu_source"], &process["variables"]), (&json!("stamps"), &json!({})));
    for field in ["id", "host", "boot", "job", "rank", "ranks", "nccl"] {
        assert_eq!(process[field], Value::Null, "{field}");
    }
    let last = all.iter().map(|line| line["t"].as_u64().unwrap()).max().unwrap();
    let seconds = |field: &str| {
        let time = process[field].as_str().unwrap();
        let output = tool::succeed(Command::new("date").args(["+%s%N", "--date", time]));
        output.trim().parse::<u64>().unwrap() / 1000
    };
    let real0 = meta["real0"].as_u64().unwrap();
    assert_eq!((seconds("started"), seconds("ended")), (real0 / 1000, (real0 + last) / 1000));
}

/// Runs a process with a stand-in for NCCL; returns its directory, its summary and its recording.
fn job(settings: &[(&str, &str)], prepare: impl FnOnce(&mut Command)) -> (TempDir, Value, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let summary = directory.path().join("summary.json");
    let mut command = tool::host(env!("HOST_SURROUNDINGS_HOST"));
    command.arg(tool::library()).arg("5").arg(format!("nccl={}", env!("NCCL_STAND_IN")));
    for name in ["RANK", "WORLD_SIZE", "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_PROCID", "PMIX_RANK", "PMIX_NAMESPACE"] {
        command.env_remove(name);
    }
    command.env("NCCL_SCOREP_SUMMARY", &summary).env("NCCL_SCOREP_RECORD", directory.path().join("recordings"));
    command.envs(settings.iter().copied());
    prepare(&mut command);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let recording = directory.path().join("recordings").read_dir().unwrap().next().unwrap().unwrap().path();
    let summary: Value = serde_json::from_slice(&std::fs::read(summary).unwrap()).unwrap();
    (directory, summary["processes"][0].clone(), recording)
}

const STEP: [(&str, &str); 4] =
    [("SLURM_JOB_ID", "7"), ("SLURM_STEP_ID", "0"), ("SLURM_PROCID", "3"), ("SLURM_NTASKS", "8")];

#[test]
fn a_summary_and_a_recording_say_whose_they_are() {
    let (_directory, process, recording) = job(&STEP, |command| {
        command.env("HOST_RELEASE", "22809");
    });
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let host = tool::succeed(&mut Command::new("hostname"));
    for (field, value) in [
        ("host", json!(host.trim())),
        ("boot", json!(boot.trim())),
        ("job", json!("slurm 7, step 0")),
        ("rank", json!(3)),
        ("ranks", json!(8)),
        ("nccl", json!("2.28.9")),
        ("interface", json!(5)),
        ("file", Value::Null),
    ] {
        assert_eq!(process[field], value, "{field}");
    }
    assert!(STEP.iter().all(|&(name, value)| process["variables"][name] == value), "{}", process["variables"]);
    assert_eq!(process["id"].as_str().unwrap().len(), 16);
    assert!(process["started"].as_str().unwrap() <= process["ended"].as_str().unwrap(), "{process}");

    // the recording has the same data, here and wherever it is replayed
    let replayed =
        &tool::summary(replay(&[&recording], "json").env("SLURM_JOB_ID", "8").env("RANK", "1"))["processes"][0];
    let fields = ["id", "pid", "host", "boot", "job", "rank", "ranks", "variables", "nccl", "interface"];
    assert!(fields.iter().all(|field| replayed[field] == process[field]), "{replayed}\n{process}");
    assert_eq!(replayed["file"], json!(recording.display().to_string()));
    let micros = |time: &Value| time.as_str().unwrap()[..19].to_owned();
    assert_eq!(micros(&replayed["started"])[..16], micros(&process["started"])[..16]);
    assert!(replayed["ended"].as_str().unwrap() >= replayed["started"].as_str().unwrap());
}

#[test]
fn two_processes_have_two_numbers() {
    let (_one, first, _) = job(&[], |_| {});
    let (_other, second, _) = job(&[], |_| {});
    assert_ne!(first["id"], second["id"]);
    assert_eq!((&first["job"], &first["rank"], &first["ranks"]), (&Value::Null, &Value::Null, &Value::Null));
}

/// Installs a filter of system calls under which getrandom fails with EPERM.
fn deny_random() -> std::io::Result<()> {
    let instruction = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let (load, equal, answer) = (0x20, 0x15, 0x06);
    let mut filter = [
        instruction(load, 0, 0, 0),
        instruction(equal, 0, 1, libc::SYS_getrandom as u32),
        instruction(answer, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        instruction(answer, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: two system calls; the program and its instructions outlive them.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[test]
fn where_random_numbers_are_denied_processes_still_differ() {
    let deny = |command: &mut Command| {
        // SAFETY: between fork and exec the closure makes two system calls and allocates nothing.
        unsafe { command.pre_exec(deny_random) };
    };
    let (_one, first, _) = job(&[], deny);
    let (_other, second, _) = job(&[], deny);
    assert_eq!([&first, &second].map(|process| process["id"].as_str().unwrap().len()), [16, 16]);
    assert_ne!(first["id"], second["id"]);
}
