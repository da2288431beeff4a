//! The watch beside a job (`run --watch`): the job is as without it, and the watch ends with the job.

use crate::launch::held_job::{HeldJob, of_status, send, watches};
use crate::support::site::{Site, texts};
use crate::support::tool;
use crate::support::until::until;
use std::fs;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Descriptor of the job's that a launcher waits for.
const LAUNCHERS: i32 = 9;

fn processors(status: &str) -> u32 {
    let digits = of_status(status, "Cpus_allowed").chars().filter_map(|digit| digit.to_digit(16));
    digits.map(u32::count_ones).sum()
}

/// The watch is stopped, so it lives on when the job's pipe ends.
#[test]
fn a_job_has_its_output_its_status_and_its_end_before_the_watch_has() {
    let site = Site::new();
    let mut job = HeldJob::begin(&site, &[], |_| {});
    let watch = job.watch();
    until("the begin of the watch", || job.lines().contains(" the watch begins, beside process ").then_some(()));
    // the scheduler's, for the job
    send(watch, libc::SIGUSR1);
    send(watch, libc::SIGSTOP);
    let (status, rest) = job.end();
    assert_eq!((status.code(), rest.as_str()), (Some(7), "over\n"));
    assert_eq!(watches(&job.directory), [watch]);
    send(watch, libc::SIGCONT);
    until("the end of the watch", || watches(&job.directory).is_empty().then_some(()));
    let said = job.lines();
    let ends = format!(" process {} has ended, and so does the watch\n", job.process.id());
    assert!(said.ends_with(&ends), "{said}");
}

#[test]
fn a_watch_that_is_killed_or_ended_is_not_missed() {
    for signal in [libc::SIGKILL, libc::SIGTERM] {
        let site = Site::new();
        let mut job = HeldJob::begin(&site, &[], |_| {});
        let watch = job.watch();
        until("the begin of the watch", || job.lines().contains(" the watch begins").then_some(()));
        send(watch, signal);
        until("the end of the watch", || watches(&job.directory).is_empty().then_some(()));
        assert_eq!(job.lines().contains(" a signal ends the watch\n"), signal == libc::SIGTERM, "{}", job.lines());
        let (status, rest) = job.end();
        assert_eq!((status.code(), rest.as_str()), (Some(7), "over\n"));
    }
}

#[test]
fn a_watch_has_nothing_of_the_jobs_and_gives_way() {
    let site = Site::new();
    let (mut reader, writer) = std::io::pipe().unwrap();
    let preloaded = site.path("lib").join(tool::LIBRARY);
    let options = ["--watch-after", "60", "--watch-webhook", "http://127.0.0.1:9/"];
    let job = HeldJob::begin(&site, &options, |run| {
        let launchers = writer.as_raw_fd();
        let leave = move || {
            // SAFETY: these calls have no memory but `of_usr1` and `first`, which are ours, and are allowed between
            // fork and exec.
            unsafe {
                libc::dup2(launchers, LAUNCHERS);
                let mut of_usr1: libc::sigset_t = std::mem::zeroed();
                libc::sigaddset(&raw mut of_usr1, libc::SIGUSR1);
                libc::sigaddset(&raw mut of_usr1, libc::SIGTERM);
                libc::sigprocmask(libc::SIG_BLOCK, &raw const of_usr1, std::ptr::null_mut());
                // the rank has one processor
                let mut first: libc::cpu_set_t = std::mem::zeroed();
                libc::CPU_SET(libc::sched_getcpu().cast_unsigned() as usize, &mut first);
                libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const first);
            }
            Ok(())
        };
        // SAFETY: `leave` makes calls of the system and allocates nothing.
        unsafe { run.pre_exec(leave) };
        run.env("LD_PRELOAD", preloaded).env("NCCL_DEBUG", "WARN").env("SCOREP_VERBOSE", "false");
        run.env("SCOREP_NCCL_WEBHOOK_TOKEN", "secret");
    });
    let watch = format!("/proc/{}", job.watch());
    let process = format!("/proc/{}", job.process.id());
    until("the begin of the watch", || job.lines().contains(" the watch begins").then_some(()));
    let [status, of_job] = [&watch, &process].map(|place| fs::read_to_string(format!("{place}/status")).unwrap());
    let stat = fs::read_to_string(format!("{watch}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let session_of_job = fs::read_to_string(format!("{process}/stat")).unwrap();
    let session_of_job = session_of_job.rsplit_once(')').unwrap().1.split_whitespace().nth(3).unwrap().to_owned();
    assert_ne!(of_status(&status, "PPid"), job.process.id().to_string());
    assert_ne!(fields[3], session_of_job);
    assert_eq!((of_status(&status, "SigBlk"), fields[16]), ("0000000000000000", "19"), "{status}");
    assert_eq!(fs::read_to_string(format!("{watch}/oom_score_adj")).unwrap(), "1000\n");
    let own = processors(&fs::read_to_string("/proc/self/status").unwrap());
    assert!(processors(&of_job) == 1 && processors(&status) >= own, "{status}");
    assert_eq!(fs::read_link(format!("{watch}/cwd")).unwrap(), Path::new("/"));
    // its outputs, and no more
    for entry in fs::read_dir(format!("{watch}/fd")).unwrap().map(|entry| entry.unwrap()) {
        let Ok(open) = fs::read_link(entry.path()) else { continue };
        let is_own = open == Path::new("/dev/null") || open.starts_with(&job.directory);
        // of the directory that it looks at just now
        assert!(is_own || open.starts_with("/proc") || open.starts_with("/sys"), "{entry:?} {open:?}");
    }
    let words = fs::read(format!("{watch}/cmdline")).unwrap();
    let words = String::from_utf8_lossy(&words).replace('\0', " ");
    assert!(words.ends_with(" --after 60 --webhook=http://127.0.0.1:9/ "), "{words}");
    let environment = fs::read(format!("{watch}/environ")).unwrap();
    let names: Vec<&[u8]> =
        environment.split(|&byte| byte == 0).filter_map(|pair| pair.split(|&byte| byte == b'=').next()).collect();
    let is_of_job = |name: &&&[u8]| [&b"NCCL_"[..], b"SCOREP_", b"LD_PRELOAD"].iter().any(|it| name.starts_with(it));
    let left: Vec<_> = names.iter().filter(is_of_job).map(|name| String::from_utf8_lossy(name)).collect();
    assert_eq!(left, ["SCOREP_NCCL_WEBHOOK_TOKEN"]);
    assert!(!fs::read_to_string(format!("{watch}/maps")).unwrap().contains(tool::LIBRARY));
    // a launcher sees the end of the job at once
    drop(writer);
    send(job.watch(), libc::SIGSTOP);
    send(job.process.id(), libc::SIGKILL);
    assert_eq!(reader.read_to_end(&mut vec![]).unwrap(), 0);
}

/// Signals, descriptors, children, priority and environment, whatever the user's signals are like.
#[test]
fn a_job_is_as_without_a_watch() {
    let site = Site::new();
    let status = site.path("status");
    let script = "echo /proc/self/fd/*; exec sh -c 'exec cat /proc/self/status /proc/thread-self/children /proc/self/stat \
                  /proc/self/oom_score_adj /proc/self/environ; :'";
    let seen = |watches: bool, prepare: fn()| {
        let mut run = site.tool();
        run.arg("run").args(watches.then_some("--watch")).arg("--status").arg(&status).args(["sh", "-c", script]);
        let prepared = move || {
            prepare();
            Ok(())
        };
        // SAFETY: `prepare` makes calls of the system and allocates nothing.
        unsafe { run.pre_exec(prepared) };
        let (printed, said) = texts(&run.output().unwrap());
        assert_eq!(said, "");
        let names = ["PPid", "SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt", "Cpus_allowed", "FDSize", "Threads"];
        let (descriptors, printed) = printed.split_once('\n').unwrap();
        let mut seen: Vec<String> = names.map(|name| of_status(printed, name).to_owned()).into();
        let (_, rest) = printed.split_once("nonvoluntary_ctxt_switches:").unwrap();
        // the children, the priority and what follows
        let (children, stat) = rest.split_once('\n').unwrap().1.split_once(" (cat) ").unwrap();
        let (stat, more) = stat.split_once('\n').unwrap();
        seen.push(children.split_whitespace().count().to_string());
        seen.extend(stat.split_whitespace().skip(15).take(2).map(str::to_owned));
        seen.extend([descriptors.to_owned(), more.to_owned()]);
        seen
    };
    let none: fn() = || {};
    // SAFETY: SIG_IGN is no handler.
    let ignored: fn() = || unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
    };
    // SAFETY: `all` is ours.
    let blocked: fn() = || unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
    };
    for prepare in [none, ignored, blocked] {
        let [with, without] = [true, false].map(|watches| seen(watches, prepare));
        // one number: the process id, which begins the line of /proc/PID/stat
        assert_eq!(with[9], "1", "{with:?}");
        assert_eq!(with, without);
        // no signal of a child that the job does not know
        assert_eq!([&with[1], &with[2]], ["0000000000000000"; 2]);
    }
    assert!(status.join("watch.log").exists());
}

#[test]
fn one_rank_has_a_watch() {
    for (rank, has_watch) in [("0", true), ("1", false)] {
        let site = Site::new();
        let mut run = site.tool();
        run.env("RANK", rank).env("WORLD_SIZE", "2").args(["run", "--watch", "--status", "status", "--", "true"]);
        assert_eq!(tool::succeed(&mut run), "");
        assert_eq!(site.path("work/status/watch.log").exists(), has_watch, "rank {rank}");
    }
}

/// Where the orphan would become the job's child.
#[test]
fn a_process_that_takes_in_orphans_has_no_watch() {
    let site = Site::new();
    let mut run = site.tool();
    run.args(["run", "--watch", "--status", "status", "--", "sh", "-c", "echo here; exit 7"]);
    let may = Command::new("unshare").args(["--pid", "--fork", "true"]).stderr(Stdio::null()).status();
    if may.is_ok_and(|done| done.success()) {
        let arguments = ["--pid", "--fork"].map(AsRef::as_ref);
        let mut first = tool::within("unshare", &arguments, &run);
        first.current_dir(site.path("work"));
        let output = first.env_clear().envs(run.get_envs().filter_map(|(name, value)| Some((name, value?)))).output();
        check_without_watch(&site, &output.unwrap(), "first process of its container");
    } else {
        tool::leave_out("a namespace of process ids needs the administrator");
    }
    let reaper = || {
        // SAFETY: prctl has no memory of ours.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
        Ok(())
    };
    // SAFETY: `reaper` makes a call of the system and allocates nothing.
    unsafe { run.pre_exec(reaper) };
    check_without_watch(&site, &run.output().unwrap(), "PR_SET_CHILD_SUBREAPER");
}

fn check_without_watch(site: &Site, output: &std::process::Output, why: &str) {
    let (printed, said) = texts(output);
    assert_eq!((output.status.code(), printed.as_str(), said.lines().count()), (Some(7), "here\n", 1), "{said}");
    assert!(said.contains(why) && said.ends_with("the job begins without a watch\n"), "{said}");
    assert!(!site.path("work/status/watch.log").exists());
}

#[test]
fn a_watch_that_cannot_begin_is_one_line() {
    let site = Site::new();
    let run = |directory: &str, more: &[&str]| {
        let mut run = site.tool();
        run.args(["run", "--watch", "--status", directory]).args(more).args(["--", "sh", "-c", "echo here; exit 7"]);
        let output = run.output().unwrap();
        let (printed, said) = texts(&output);
        assert_eq!((output.status.code(), printed.as_str(), said.lines().count()), (Some(7), "here\n", 1), "{said}");
        said
    };
    fs::create_dir_all(site.path("work/taken/watch.log")).unwrap();
    assert!(run("taken", &[]).contains("taken/watch.log: "));
    assert!(run("%p.status", &[]).contains("name one for all"));
    let said = run("status", &["--watch-webhook", "ftp://host/"]);
    assert!(said.contains("--webhook: ") && said.contains("the watch begins without it"), "{said}");
    // wrong use
    for (arguments, part) in [
        (&["run", "--watch", "--", "true"][..], "add --status DIR"),
        (&["run", "--watch-after", "60", "--", "true"], "--watch"),
        (&["run", "--watch", "--status", "status", "--watch-after", "0", "--", "true"], "from 1.5 to 3600"),
    ] {
        let output = site.tool().args(arguments).output().unwrap();
        assert!(!output.status.success() && texts(&output).1.contains(part), "{output:?}");
    }
}

/// It begins, and has no place for its findings.
#[test]
fn a_watch_that_ends_at_once_is_said_to_have() {
    let site = Site::new();
    let status = site.path("status");
    fs::create_dir_all(status.join("findings.jsonl")).unwrap();
    let output = site.tool().args(["run", "--watch", "--status"]).arg(&status).args(["--", "true"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let why = format!(
        "it has ended at once, and {} says why; the job begins without a watch",
        status.join("watch.log").display()
    );
    assert!(output.status.success() && said.contains(&why), "{said}");
}

/// Four ranks, of which one is killed; then all are.
#[test]
fn what_the_watch_finds_is_taken_in_by_the_report() {
    let site = Site::new();
    let status = site.path("status");
    let rank = |rank: u32| {
        let mut run = site.tool();
        run.args(["run", "--watch", "--preset", "network", "--status"]).arg(&status).arg("--");
        run.arg(env!("HOST_WATCHED_HOST")).arg(tool::library()).args(["6", "4", &rank.to_string()]);
        run.arg(site.path("meeting")).args(["1000000", "--fault", "kill", "--of", "2", "--from", "50"]);
        run.env("NCCL_SCOREP_TRUST_NCCL", "on").env("RANK", rank.to_string()).env("WORLD_SIZE", "4");
        run.stdout(Stdio::null()).spawn().unwrap()
    };
    let mut ranks: Vec<Child> = (0..4).map(rank).collect();
    assert!(!ranks[2].wait().unwrap().success());
    let findings = status.join("findings.jsonl");
    let read = || fs::read_to_string(&findings).unwrap_or_default();
    let found = until("the first finding", || Some(read()).filter(|text| text.ends_with('\n')));
    assert!(found.contains(r#""kind":"process""#) && found.contains("process 2 on "), "{found}");
    assert_eq!(watches(&status).len(), 1);
    for process in &mut ranks {
        let _ = process.kill();
        process.wait().unwrap();
    }
    until("the end of the watch", || watches(&status).is_empty().then_some(()));
    let found = read();
    // rank 0, too, whose process the watch was beside
    assert!(found.contains("processes 0-3 on "), "{found}");
    let said = fs::read_to_string(status.join("watch.log")).unwrap();
    assert!(said.ends_with(&format!(" process {} has ended, and so does the watch\n", ranks[0].id())), "{said}");
    let capture = tool::captures(&tool::run("nodes2x2_collectives"));
    let mut report = tool::tool();
    report.arg("report").arg(&capture[0]).args(["--part", "findings", "--findings"]).arg(&findings);
    let output = report.output().unwrap();
    let (printed, said) = texts(&output);
    assert!(output.status.success() && printed.contains("process 2 on "), "{printed} {said}");
}
