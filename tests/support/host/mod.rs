//! The conformance host (tests/c/nccl/nccl_host.c) as tests run it: one process a scenario. It says what the figures
//! must be; they are compared with the summary that the library writes.

mod account;

use crate::support::tool;
use account::Children;
use serde_json::Value;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// NCCL 2.31.2's own, and all before.
pub(crate) const VERSIONS: [u32; 7] = [1, 2, 3, 4, 5, 6, 7];
/// How long one scenario may take.
const PATIENCE: Duration = Duration::from_secs(100);

/// What the host tells of children, for [`Children`].
const CHILDREN: [&str; 4] = ["kernels", "proxies", "steps", "parentless"];

/// One process of the host, its output and its summaries.
pub(crate) struct Run {
    pub(crate) what: String,
    pub(crate) output: Output,
    pub(crate) summaries: Vec<Value>,
}

/// Plays a scenario to its end.
pub(crate) fn play(scenario: &str, version: u32, settings: &[(&str, &str)], number: u32) -> Run {
    let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, OsStr::new(value))).collect();
    play_with(scenario, version, &settings, number)
}

/// The same with settings that need not be text.
pub(crate) fn play_with(scenario: &str, version: u32, settings: &[(&str, &OsStr)], number: u32) -> Run {
    let host = tool::host(env!("HOST_CONFORMANCE_HOST"));
    play_in(host, &tool::library(), scenario, version, settings, number)
}

/// The same in a host that loads this library.
pub(crate) fn play_in(
    mut command: Command,
    library: &Path,
    scenario: &str,
    version: u32,
    settings: &[(&str, &OsStr)],
    number: u32,
) -> Run {
    // a path need not be text
    let directory = tempfile::Builder::new().prefix(OsStr::from_bytes(b"\xff")).tempdir().unwrap();
    command.arg(library).args([&version.to_string(), scenario, &number.to_string()]);
    // what is a path with no directory in front lies there
    command.env_remove("RUST_BACKTRACE").current_dir(&directory);
    // so that kernel events are asked for in every version
    command.env("NCCL_ALLGATHERV_ENABLE", "0").env("NCCL_SCOREP_SUMMARY", directory.path().join("%p.json"));
    command.envs(settings.iter().copied());
    let what = format!("{scenario}, v{version}, {settings:?}");
    let (pid, output) = output_in_time(&mut command, &directory, &what);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {}\n{said}", output.status);
    Run { summaries: summaries(directory.path(), pid), what, output }
}

/// As [`Command::output`], but of a process that may hang, and with its number.
fn output_in_time(command: &mut Command, directory: &TempDir, what: &str) -> (u32, Output) {
    let paths = ["stdout", "stderr"].map(|name| directory.path().join(name));
    let files = paths.each_ref().map(|path| Stdio::from(std::fs::File::create(path).unwrap()));
    let [stdout, stderr] = files;
    let child = command.stdout(stdout).stderr(stderr).spawn().unwrap();
    let (pid, status) = (child.id(), tool::ended(child, PATIENCE, what));
    let [stdout, stderr] = paths.map(|path| std::fs::read(path).unwrap());
    (pid, Output { status, stdout, stderr })
}

/// The summaries, the one of the process `pid` first, and then those of its children.
fn summaries(directory: &Path, pid: u32) -> Vec<Value> {
    let paths = directory.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect();
    paths.sort_by_key(|path| (!path.ends_with(format!("{pid}.json")), path.clone()));
    paths.iter().map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()).collect()
}

fn sum(rows: &Value, field: &str) -> u64 {
    rows.as_array().unwrap().iter().map(|row| row[field].as_u64().unwrap()).fold(0, u64::saturating_add)
}

impl Run {
    /// Lines on standard error, but for the one that depends on the machine.
    pub(crate) fn lines(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.output.stderr);
        text.lines().filter(|line| !line.contains("/dev/shm")).map(str::to_owned).collect()
    }

    /// The figure that the host calls `name`.
    pub(crate) fn found(&self, name: &str) -> u64 {
        let summary = |index: usize| {
            assert!(index < self.summaries.len(), "{}: there is no summary: {:?}", self.what, self.lines());
            &self.summaries[index]
        };
        match name {
            "warnings" => self.lines().len() as u64,
            "summaries" => self.summaries.len() as u64,
            "summary_or_line" => self.summaries.len().max(self.lines().len()).min(1) as u64,
            "operations" => sum(&summary(0)["operations"], "count"),
            "bytes" | "gpu_timed" | "proxy_timed" | "enqueue_timed" => sum(&summary(0)["operations"], name),
            "transfers" => sum(&summary(0)["transfers"], "transfers"),
            "transfer_bytes" => sum(&summary(0)["transfers"], "bytes"),
            "communicators" => summary(0)["communicators"].as_array().unwrap().len() as u64,
            "rank" => summary(0)["operations"][0]["rank"].as_u64().unwrap(),
            "refused" => self.found("dropped") + self.found("ignored_handles"),
            "saturated" => u64::from(sum(&summary(0)["operations"], "bytes") == u64::MAX),
            path if path.starts_with('/') => summary(0)["processes"][0].pointer(path).and_then(Value::as_u64).unwrap(),
            _ => summary(0)["processes"][0][name].as_u64().unwrap(),
        }
    }

    /// All that the host says must be so, and what is so whatever happened.
    pub(crate) fn check(&self) {
        self.check_but(&[]);
    }

    /// The same without the fields of these names.
    pub(crate) fn check_but(&self, left_out: &[&str]) {
        let text = String::from_utf8_lossy(&self.output.stdout);
        let wanted: Vec<(&str, u64)> = text
            .lines()
            .filter_map(|line| line.strip_prefix("expect "))
            .filter_map(|line| line.split_once(' '))
            .map(|(name, value)| (name, value.parse().unwrap()))
            .collect();
        assert!(!wanted.is_empty(), "{}: nothing is expected", self.what);
        let is_compared = |name: &str| !CHILDREN.contains(&name) && !left_out.contains(&name);
        let differ = |&(name, value): &(&str, u64)| is_compared(name) && self.found(name) != value;
        let differences: Vec<String> = wanted
            .iter()
            .filter(|wanted| differ(wanted))
            .map(|&(name, value)| format!("{name} is {}, not {value}", self.found(name)))
            .chain(self.unaccounted(&wanted))
            .collect();
        assert!(differences.is_empty(), "{}: {differences:?}\n{}", self.what, self.lines().join("\n"));
    }

    /// What does not add up, whatever happened.
    fn unaccounted(&self, wanted: &[(&str, u64)]) -> Vec<String> {
        if self.summaries.is_empty() {
            return Vec::new();
        }
        let timed = ["gpu_timed", "proxy_timed", "enqueue_timed"].map(|name| self.found(name));
        let once = timed.iter().sum::<u64>() == self.found("operations");
        let children = CHILDREN.map(|child| wanted.iter().find(|(name, _)| *name == child).map(|(_, value)| *value));
        let wrong = if let [Some(kernels), Some(proxies), Some(steps), Some(parentless)] = children {
            Children { kernels, proxies, steps, parentless }.wrong(|name| self.found(name))
        } else {
            Vec::new()
        };
        let timed = (!once).then(|| format!("not every operation is timed once: {timed:?}"));
        timed.into_iter().chain(wrong).chain(self.unsaid()).collect()
    }

    /// Whatever is missing is said by one number, and by counters of its own.
    fn unsaid(&self) -> Vec<String> {
        let kinds = ["dropped", "unfinished", "invisible", "foreign_proxy_ops", "skipped", "unknown_events", "orphans"];
        let wrong = |process: &Value| {
            let untimed = process["untimed"].as_object().unwrap().values().map(|count| count.as_u64().unwrap());
            let missing = kinds.iter().map(|kind| process[kind].as_u64().unwrap()).chain(untimed).sum::<u64>();
            let counters = [
                ("nccl_incomplete", missing),
                ("nccl_skipped_ops", process["skipped"].as_u64().unwrap()),
                ("nccl_foreign_proxy_ops", process["foreign_proxy_ops"].as_u64().unwrap()),
            ];
            let counted = |&(counter, value): &(&str, u64)| process["counters"][counter] == value;
            let right = process["incomplete"] == missing && counters.iter().all(counted);
            (!right)
                .then(|| format!("incomplete is {}, {counters:?} in {}", process["incomplete"], process["counters"]))
        };
        self.summaries.iter().flat_map(|summary| summary["processes"].as_array().unwrap()).filter_map(wrong).collect()
    }
}
