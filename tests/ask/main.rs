//! `scorep-nccl ask` with live processes, which `scorep-nccl run --status` has started: does each take the request, go
//! back when its time is over, and does the answer name who has not done it and why?

mod requests;
mod stacks;

use crate::support::{ranks, site, tool};
use common::status::Status;
use common::status::request::{FILE, StatusRequest};
use ranks::Ranks;
use serde_json::json;
use site::{Site, texts};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// KernelCh and ProxyStep of NCCL's bits.
const KERNEL_CH: u64 = 0x40;
const PROXY_STEP: u64 = 0x10;

/// A job of two processes under `scorep-nccl run --status DIR --preset api`.
fn job(site: &Site) -> Ranks {
    let mut job = Ranks::begin_by(2, |directory| {
        let mut command = site.tool();
        command.args(["run", "--preset", "api", "--status"]).arg(directory).arg("--").arg(env!("HOST_STATUS_HOST"));
        command.arg(site.path("lib").join(tool::LIBRARY)).arg("7");
        command.env("NCCL_SCOREP_SUMMARY", directory.join("summary.%p.json"));
        command
    });
    job.each(|rank| format!("init ab {rank} 2\n whole ab 10"));
    job
}

/// What `ask` prints with these options, which ends with this exit status.
fn asked(job: &Ranks, options: &[&str], status: i32) -> String {
    let output = job.command("ask").args(["--wait", "60"]).args(options).output().unwrap();
    let (printed, said) = texts(&output);
    assert!(output.status.code() == Some(status) && said.is_empty(), "{}: {printed}\n{said}", output.status);
    printed
}

#[test]
fn run_starts_a_job_that_hang_can_look_at() {
    let site = Site::new();
    let mut job = job(&site);
    assert_eq!(job.hang(0)["processes"]["running"], 2);
    job.kill(1);
    assert_eq!(job.hang(1)["findings"][0]["condition"], "dead");
}

#[test]
fn run_and_env_make_the_directory_and_say_where_they_cannot() {
    let site = Site::new();
    let absolute = site.path("work/new/status").display().to_string();
    let printed = |script: &str| {
        texts(&site.tool().args(["run", "--status", "new/status", "--", "sh", "-c", script]).output().unwrap())
    };
    assert_eq!(printed("printenv NCCL_SCOREP_STATUS"), (format!("{absolute}\n"), String::new()));
    assert!(Path::new(&absolute).is_dir());
    let script = r#"cd /; eval "$(scorep-nccl env --status work/b)"; printenv NCCL_SCOREP_STATUS"#;
    let output = site.tool().args(["run", "--", "sh", "-c", &script.replace("cd /", "cd ..")]).output().unwrap();
    assert_eq!(texts(&output), (format!("{}\n", site.path("work/b").display()), String::new()));
    // the place of the command line is an error, that of the environment a remark
    let output = site.tool().args(["run", "--status", "/proc/nowhere/status", "--", "echo", "here"]).output().unwrap();
    let (printed, said) = texts(&output);
    assert!(
        !output.status.success() && printed.is_empty() && said.contains("--status: /proc/nowhere"),
        "{printed} {said}"
    );
    let mut run = site.tool();
    run.env("NCCL_SCOREP_STATUS", "/proc/nowhere/status").args(["run", "--", "echo", "here"]);
    let (printed, said) = texts(&run.output().unwrap());
    assert!(printed == "here\n" && said.lines().count() == 1, "{printed} {said}");
    assert!(said.contains("NCCL_SCOREP_STATUS: ") && said.contains("there will be no status files"), "{said}");
}

#[test]
fn processes_are_switched_and_go_back_when_the_time_is_over() {
    let site = Site::new();
    let mut job = job(&site);
    let own = job.status(0).unwrap().mask;
    // CUDA events were not prepared, since the preset `api` has none
    let said = asked(&job, &["--preset", "network"], 3);
    assert!(said.starts_with("2 of 2 processes have taken the request, 2 of them in part.\n"), "{said}");
    assert!(said.contains("Left out in part by process 0 ") && said.contains("launches, which CUDA events"), "{said}");
    for rank in 0..2 {
        let status = job.await_status(rank, "whole ab 1", |status| status.mask != own);
        assert_eq!(status.mask & (KERNEL_CH | PROXY_STEP), KERNEL_CH | PROXY_STEP);
        assert_eq!(status.answer.unwrap().until, None);
    }
    asked(&job, &["--preset", "full", "--for", "1s"], 3);
    for rank in 0..2 {
        let answer = job.status(rank).unwrap().answer.unwrap();
        assert_eq!(answer.until.unwrap() - answer.taken, 1_000_000_000);
        job.await_status(rank, "whole ab 1", |status| status.mask == own);
    }
    // once more, and back by hand
    asked(&job, &["--preset", "network", "--summary"], 3);
    job.await_status(0, "whole ab 1", |status| status.mask != own);
    // a summary changes no types
    asked(&job, &["--summary"], 0);
    job.order(0, "whole ab 1");
    assert_ne!(job.status(0).unwrap().mask, own);
    assert_eq!(asked(&job, &["--back"], 0), "2 of 2 processes have taken the request.\n");
    job.await_status(0, "whole ab 1", |status| status.mask == own);
    job.end();
}

#[test]
fn processes_write_their_summaries() {
    let site = Site::new();
    let mut job = job(&site);
    let said = asked(&job, &["--summary"], 0);
    for rank in 0..2 {
        let path = job.directory().join(format!("summary.{}.json", job.pid(rank)));
        assert!(said.contains(&format!("Summary: {}\n", path.display())), "{said}");
        let summary: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!((&summary["operations"][0]["count"], &summary["complete"]), (&json!(10), &json!(false)));
    }
    job.end();
}

#[test]
fn who_is_dead_or_ends_is_not_waited_for() {
    let site = Site::new();
    let mut job = job(&site);
    job.kill(1);
    let said = asked(&job, &["--preset", "network"], 1);
    assert!(said.starts_with("1 of 2 processes have taken the request, 1 of them in part.\n"), "{said}");
    assert!(
        said.contains(&format!("process 1 (pid {} ", job.pid(1))) && said.contains("has ended meanwhile."),
        "{said}"
    );
    // by now it is known to be dead
    let said = asked(&job, &["--back"], 0);
    assert_eq!(said, "1 of 1 processes have taken the request.\n");
    job.end_one(0);
    let output = job.command("ask").arg("--back").output().unwrap();
    assert!(output.status.code() == Some(2) && texts(&output).1.contains("nobody was asked"), "{output:?}");
}

/// Waits until this is so.
fn wait_for(mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not come about");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_later_request_takes_the_place_of_one_that_is_under_way() {
    let site = Site::new();
    let mut job = job(&site);
    job.signal(1, libc::SIGSTOP);
    let ask = |job: &Ranks, option: &str| {
        let mut command = job.command("ask");
        command.args([option, "--wait", "60"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let ticket = |job: &Ranks| {
        let text = fs::read(job.directory().join(FILE)).ok()?;
        Some(serde_json::from_slice::<StatusRequest>(&text).unwrap().ticket)
    };
    let first = ask(&job, "--summary");
    let answer = |status: &common::status::Status| status.answer.clone().map(|answer| answer.ticket);
    let first_ticket = answer(&job.await_status(0, "", |status| status.answer.is_some()));
    assert_eq!(ticket(&job), first_ticket);
    let second = ask(&job, "--back");
    wait_for(|| ticket(&job) != first_ticket);
    job.signal(1, libc::SIGCONT);
    let first = first.wait_with_output().unwrap();
    let said = texts(&first).0;
    assert!(first.status.code() == Some(1) && said.starts_with("1 of 2 processes have taken the request.\n"), "{said}");
    assert!(said.contains(") has taken a later request in place of this one."), "{said}");
    let second = second.wait_with_output().unwrap();
    assert_eq!(
        (second.status.code(), texts(&second).0.as_str()),
        (Some(0), "2 of 2 processes have taken the request.\n")
    );
}

#[test]
fn one_process_may_be_asked_alone() {
    let site = Site::new();
    let mut job = job(&site);
    let own = job.status(0).unwrap().mask;
    let pid = job.pid(1).to_string();
    let said = asked(&job, &["--preset", "network", "--pid", &pid], 3);
    assert!(said.starts_with("1 of 1 processes have taken the request, 1 of them in part.\n"), "{said}");
    job.await_status(1, "whole ab 1", |status| status.mask != own);
    let beat = job.status(0).unwrap().beat;
    let other = job.await_status(0, "whole ab 1", |status| status.beat > beat + 2);
    assert_eq!((other.mask, other.answer), (own, None));
    let output = job.command("ask").args(["--back", "--pid", "1"]).output().unwrap();
    assert!(output.status.code() == Some(2) && texts(&output).1.contains("no process 1 runs"), "{output:?}");
    job.end();
}

/// Nobody here can look up whether it lives.
#[test]
fn a_silent_process_of_another_host_is_said_to_be_so_and_not_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let origin = common::origin::Origin { host: Some("elsewhere".into()), ..Default::default() };
    let status = Status { schema: common::status::SCHEMA.into(), pid: 7, beat: 3, origin, ..Status::default() };
    fs::write(directory.path().join("x.status.json"), serde_json::to_vec(&status).unwrap()).unwrap();
    let mut ask = tool::tool();
    ask.arg("ask").arg(directory.path()).args(["--back", "--wait", "1000"]);
    let printed = fs::File::create(directory.path().join("printed")).unwrap();
    let status = tool::ends(ask.stdout(printed), Duration::from_secs(100), "ask");
    let said = fs::read_to_string(directory.path().join("printed")).unwrap();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("pid 7 on elsewhere has written nothing for 5 s: it is dead or stopped, or its"), "{said}");
}

#[test]
fn wrong_command_lines_ask_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let of = |options: &[&str]| {
        let mut command: Command = tool::tool();
        command.arg("ask").arg(directory.path()).args(options).output().unwrap()
    };
    for options in [
        &[][..],
        &["--for", "3s"],
        &["--preset", "none"],
        &["--preset", "api", "--back"],
        &["--back", "--host", "a"],
        &["--preset", "api", "--for", "-1s"],
        &["--all", "--back"],
    ] {
        let output = of(options);
        assert!(!output.status.success() && output.stdout.is_empty(), "{options:?}: {output:?}");
    }
    let output = of(&["--back"]);
    assert!(output.status.code() == Some(2) && texts(&output).1.contains("no process runs"), "{output:?}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}
