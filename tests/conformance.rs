//! NCCL's whole contract: every odd order of callbacks (tests/c/nccl_host.c), through every version of the interface, against the
//! shipped library. The host says what the figures must be; they are compared with the summary that the library writes.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]

mod tool;

use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// NCCL 2.31.2's own, and all before.
const VERSIONS: [u32; 7] = [1, 2, 3, 4, 5, 6, 7];
/// How long one scenario may take.
const PATIENCE: Duration = Duration::from_secs(100);

/// One process of the host, its output and its summaries.
struct Run {
    what: String,
    output: Output,
    summaries: Vec<Value>,
}

/// Plays a scenario to its end.
fn play(scenario: &str, version: u32, settings: &[(&str, &str)], number: u32) -> Run {
    // a path need not be text
    let directory = tempfile::Builder::new().prefix(OsStr::from_bytes(b"\xff")).tempdir().unwrap();
    let mut command = Command::new(env!("HOST_CONFORMANCE_HOST"));
    std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("NCCL_")).for_each(|(name, _)| {
        command.env_remove(name);
    });
    command.arg(tool::library()).args([&version.to_string(), scenario, &number.to_string()]);
    command.env_remove("RUST_BACKTRACE");
    // so that kernel events are asked for in every version
    command.env("NCCL_ALLGATHERV_ENABLE", "0").env("NCCL_SCOREP_SUMMARY", directory.path().join("%p.json"));
    command.envs(settings.iter().copied());
    let what = format!("{scenario}, v{version}, {settings:?}");
    let output = output_in_time(&mut command, &directory, &what);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {}\n{said}", output.status);
    Run { summaries: summaries(directory.path()), what, output }
}

/// As [`Command::output`], but of a process that may hang. What it prints goes to files, which are never full.
fn output_in_time(command: &mut Command, directory: &TempDir, what: &str) -> Output {
    let paths = ["stdout", "stderr"].map(|name| directory.path().join(name));
    let files = paths.each_ref().map(|path| Stdio::from(std::fs::File::create(path).unwrap()));
    let [stdout, stderr] = files;
    let mut child = command.stdout(stdout).stderr(stderr).spawn().unwrap();
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{what} hangs");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let [stdout, stderr] = paths.map(|path| std::fs::read(path).unwrap());
    Output { status, stdout, stderr }
}

fn summaries(directory: &Path) -> Vec<Value> {
    let paths = directory.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect();
    paths.sort();
    paths.iter().map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()).collect()
}

fn sum(rows: &Value, field: &str) -> u64 {
    rows.as_array().unwrap().iter().map(|row| row[field].as_u64().unwrap()).fold(0, u64::saturating_add)
}

impl Run {
    /// Lines on standard error, but for the one that depends on the machine.
    fn lines(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.output.stderr);
        text.lines().filter(|line| !line.contains("/dev/shm")).map(str::to_owned).collect()
    }

    /// The figure that the host calls `name`.
    fn found(&self, name: &str) -> u64 {
        let summary = |index: usize| &self.summaries[index];
        match name {
            "warnings" => self.lines().len() as u64,
            "summaries" => self.summaries.len() as u64,
            "summary_or_line" => self.summaries.len().max(self.lines().len()).min(1) as u64,
            "operations" => sum(&summary(0)["operations"], "count"),
            "bytes" | "gpu_timed" | "proxy_timed" => sum(&summary(0)["operations"], name),
            "transfers" => sum(&summary(0)["transfers"], "transfers"),
            "transfer_bytes" => sum(&summary(0)["transfers"], "bytes"),
            "communicators" => summary(0)["communicators"].as_array().unwrap().len() as u64,
            "rank" => summary(0)["operations"][0]["rank"].as_u64().unwrap(),
            "saturated" => u64::from(sum(&summary(0)["operations"], "bytes") == u64::MAX),
            _ => summary(0)["processes"][0][name].as_u64().unwrap(),
        }
    }

    /// All that the host says must be so, and what is so whatever happened.
    fn check(&self) {
        let text = String::from_utf8_lossy(&self.output.stdout);
        let wanted: Vec<(&str, u64)> = text
            .lines()
            .filter_map(|line| line.strip_prefix("expect "))
            .filter_map(|line| line.split_once(' '))
            .map(|(name, value)| (name, value.parse().unwrap()))
            .collect();
        assert!(!wanted.is_empty(), "{}: nothing is expected", self.what);
        let differ = |&(name, value): &(&str, u64)| name != "refused" && self.found(name) != value;
        let differences: Vec<String> = wanted
            .iter()
            .filter(|wanted| differ(wanted))
            .map(|&(name, value)| format!("{name} is {}, not {value}", self.found(name)))
            .collect();
        assert!(differences.is_empty(), "{}: {differences:?}\n{}", self.what, self.lines().join("\n"));
        // every operation that was refused a place was counted as dropped, and their children had no parent
        if let Some((_, refused)) = wanted.iter().find(|(name, _)| *name == "refused") {
            let process = &self.summaries[0]["processes"][0];
            assert!(process["dropped"].as_u64().unwrap() >= *refused, "{}: {refused} refused, {process:#}", self.what);
        }
    }
}

fn check_all(scenario: &str, settings: &[(&str, &str)]) {
    VERSIONS.iter().for_each(|&version| play(scenario, version, settings, 0).check());
}

/// One test a scenario, with the settings it needs.
macro_rules! scenarios {
    ($($name:ident [$($setting:literal = $value:literal)*];)*) => {
        const SCENARIOS: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                check_all(stringify!($name), &[$(($setting, $value)),*]);
            }
        )*
    };
}

scenarios! {
    null_arguments [];
    odd_contexts [];
    ranks [];
    made_again [];
    many_communicators [];
    others ["NCCL_SCOREP_SETTLE_SECONDS" = "0.001"];
    reaped ["NCCL_SCOREP_DEADLINE_SECONDS" = "0.3" "NCCL_SCOREP_WINDOW_SECONDS" = "0.2" "NCCL_SCOREP_SETTLE_SECONDS" = "0.01"];
    every_type [];
    datatypes [];
    odd_names [];
    huge_counts [];
    stopped_again [];
    invented_handles [];
    every_state [];
    stopped_after_finalize [];
    children_in_every_order [];
    restarted_steps ["NCCL_SCOREP_MEMORY_MB" = "1" "NCCL_SCOREP_WINDOW_EVENTS" = "1000"];
    many_states [];
    aborted [];
    odd_stamps [];
    early_stamps [];
    odd_channels [];
    to_oneself_with_kernel [];
    to_oneself_without_kernel [];
    invisible_calls [];
    graph [];
    parents_of_others [];
    copy_engine [];
    pxn [];
    finalized_under_threads ["NCCL_SCOREP_WINDOW_EVENTS" = "64"];
    two_threads ["NCCL_SCOREP_WINDOW_EVENTS" = "64"];
    stopped_by_two [];
    finalized_while_busy ["NCCL_SCOREP_WINDOW_EVENTS" = "64"];
    short_threads [];
    moved_between_threads [];
    small_memory ["NCCL_SCOREP_MEMORY_MB" = "1"];
    one_mask [];
    min_bytes ["NCCL_SCOREP_MIN_BYTES" = "4096"];
    forked [];
    forked_communicator [];
    forked_under_threads [];
    forked_before_init [];
    without_finalize [];
}

/// Those with a test of their own below.
const OTHERS: [&str; 8] = [
    "calls_without_end",
    "counters_at_their_end",
    "exit_of_a_thread",
    "exit_under_threads",
    "fault",
    "masks",
    "score_p",
    "storm",
];

#[test]
fn every_scenario_of_the_host_is_played() {
    let listed = tool::succeed(&mut Command::new(env!("HOST_CONFORMANCE_HOST")));
    let listed: BTreeSet<&str> = listed.lines().collect();
    let played: BTreeSet<&str> = SCENARIOS.iter().chain(&OTHERS).copied().collect();
    assert_eq!(listed, played);
}

/// Eight threads on one communicator at full speed, windows rotating all the time: nothing hangs, and started = finished +
/// unfinished + dropped. `SCOREP_NCCL_STORM_SECONDS=30` for longer.
#[test]
fn storm() {
    let seconds: u32 = std::env::var("SCOREP_NCCL_STORM_SECONDS").map_or(3, |seconds| seconds.parse().unwrap());
    for version in [4, 7] {
        play("storm", version, &[("NCCL_SCOREP_WINDOW_EVENTS", "64")], seconds * 1000).check();
    }
}

/// The process ends while threads are inside callbacks: there is a summary, or a line that says why not.
#[test]
fn an_exit_amidst_callbacks_is_an_exit() {
    for scenario in ["exit_under_threads", "exit_of_a_thread"] {
        [3, 7].iter().for_each(|&version| play(scenario, version, &[], 0).check());
    }
}

/// A job may make nothing but calls that NCCL reports no further, for days.
#[test]
fn calls_that_nothing_follows_do_not_pile_up() {
    let peak = |calls: u32| {
        let run = play("calls_without_end", 5, &[("NCCL_SCOREP_SETTLE_SECONDS", "0.01")], calls);
        run.check();
        run.found("peak_memory_bytes") >> 20
    };
    let (fewer, more) = (peak(200_000), peak(600_000));
    assert!(more < fewer + 20, "{fewer} MiB for 200,000 calls, {more} MiB for 600,000");
}

/// What cannot be timed by the GPU is told while the job runs: one line, with the cause.
#[test]
fn operations_out_of_step_are_told() {
    let cases =
        [("to_oneself_without_kernel", "oneself"), ("invisible_calls", "NCCL_ALLGATHERV_ENABLE=0"), ("early_stamps", "stamps")];
    for (scenario, cause) in cases {
        for version in [5, 7] {
            let run = play(scenario, version, &[("NCCL_SCOREP_SETTLE_SECONDS", "0.01")], 1500);
            run.check();
            assert!(run.lines()[0].contains(cause), "{}: {:?}", run.what, run.lines());
        }
    }
}

/// A job may end before the collector has settled anything.
#[test]
fn operations_out_of_step_are_told_by_a_short_job_too() {
    for scenario in ["to_oneself_without_kernel", "invisible_calls", "early_stamps"] {
        let run = play(scenario, 5, &[], 0);
        assert!(run.found("out_of_step") > 0 && run.lines().len() == 1, "{}: {:?}", run.what, run.lines());
    }
}

#[test]
fn communicators_past_the_most_are_told_of_once() {
    let run = play("many_communicators", 5, &[], 0);
    let beginnings = ["scorep-nccl: warning: too many communicators", "scorep-nccl: warning: 904 events were dropped"];
    let lines = run.lines();
    assert!(lines.len() == 2 && lines.iter().zip(beginnings).all(|(line, begins)| line.starts_with(begins)), "{lines:?}");
}

#[test]
fn counters_never_fall() {
    VERSIONS.iter().for_each(|&version| drop(play("counters_at_their_end", version, &[], 0)));
}

/// The mask that NCCL gets.
fn mask(version: u32, settings: &[(&str, &str)]) -> u32 {
    let run = play("masks", version, settings, 0);
    let text = String::from_utf8_lossy(&run.output.stdout);
    text.lines().find_map(|line| line.strip_prefix("mask ")).unwrap().parse().unwrap()
}

#[test]
fn presets_and_masks_decide_what_is_asked_for() {
    let operations = 0x1706;
    let presets = [("api", operations), ("light", operations | 0x40), ("network", operations | 0x58), ("full", 0xffff)];
    let known = [0x3f, 0x3f, 0xbf, 0xff, 0xfff, 0x7fff, 0xffff];
    for (version, known) in VERSIONS.into_iter().zip(known) {
        assert_eq!(mask(version, &[]), (operations | 0x58) & known, "v{version}");
        for (preset, types) in presets {
            assert_eq!(mask(version, &[("NCCL_SCOREP_PRESET", preset)]), types & known, "{preset}, v{version}");
        }
        for (number, types) in [("0", 0), ("0x12", 0x12), ("2", 2), ("0xffffffff", 0xffff)] {
            let settings = [("NCCL_SCOREP_MASK", number), ("NCCL_SCOREP_PRESET", "api")];
            assert_eq!(mask(version, &settings), types & known, "{number}, v{version}");
        }
    }
}

/// A panic of ours ends in the callback: the process goes on, the plugin is off, one line says so.
#[test]
fn a_fault_in_a_callback_of_nccls_ends_there() {
    for callback in ["init", "start_event", "stop_event", "record_event_state", "finalize"] {
        for version in [1, 4, 5, 7] {
            // a record has nothing to be recorded with before v4 ... and is called all the same
            let run = play("fault", version, &[("NCCL_SCOREP_PANIC", callback)], 0);
            run.check();
            assert!(run.lines()[0].contains(callback) && run.lines()[0].contains(".rs:"), "{:?}", run.lines());
            // what was recorded before is not lost, and the summary says why it ends there
            let noted = |summary: &Value| summary["processes"][0]["notes"].to_string().contains(callback);
            assert!(callback == "init" || run.summaries.iter().any(noted), "{}", run.what);
        }
    }
}

#[test]
fn a_fault_in_a_callback_of_score_ps_ends_there() {
    assert_eq!(play("score_p", 5, &[], 0).lines(), Vec::<String>::new());
    for callback in ["get_event_info", "add_counter", "get_all_values", "set_clock_function", "synchronize", "scorep_nccl_flush"]
    {
        let run = play("score_p", 5, &[("NCCL_SCOREP_PANIC", callback)], 0);
        let lines = run.lines();
        assert!(lines.len() == 1 && lines[0].contains(callback), "{callback}: {lines:?}");
    }
}
