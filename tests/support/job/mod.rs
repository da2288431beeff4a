//! Jobs of the Score-P host (tests/c/score_p/scorep_host.c) as tests run them: one process a rank, each with the
//! stand-in for Score-P around the shipped library. What they say is read here; Score-P's own variables say what they
//! load.
#![expect(clippy::panic, reason = "a test that cannot go on should stop")]

pub(crate) mod lanes;
mod recorded;

use crate::support::tool;
pub(crate) use recorded::{Location, Operation, Visit};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// NCCL 2.31's.
pub(crate) const VERSION: u32 = 6;

/// The names that users give the library.
const NAMES: [&str; 4] =
    ["libscorep_substrate_nccl.so", "libnccl_plugin.so", "libnccl_series_plugin.so", "libnccl-profiler-scorep.so"];

/// A job to be.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    scenario: String,
    number: i64,
    version: u32,
    measurement: Option<PathBuf>,
    environment: Vec<(String, Option<String>)>,
}

/// A trace with the metric plugin's default counters; no substrate plugin.
pub(crate) fn plan(scenario: &str, number: i64) -> Plan {
    let measurement = Some(env!("SCORE_P_STAND_IN").into());
    Plan { scenario: scenario.into(), number, version: VERSION, measurement, environment: vec![] }
        .with("SCOREP_ENABLE_TRACING", "true")
        .with("SCOREP_TOTAL_MEMORY", "64M")
        .with("SCOREP_METRIC_PLUGINS", "nccl_plugin")
        .with("SCOREP_METRIC_NCCL_PLUGIN", "default")
        // so that kernel events are asked for in every version
        .with("NCCL_ALLGATHERV_ENABLE", "0")
}

impl Plan {
    /// With this variable in the environment, in the place of what was there.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), Some(value.into())));
        self
    }

    /// Without this variable.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.environment.push((name.into(), None));
        self
    }

    /// With the substrate plugin.
    pub(crate) fn with_substrate(self) -> Self {
        self.with("SCOREP_SUBSTRATE_PLUGINS", "nccl")
    }

    /// Through that version of NCCL's interface.
    pub(crate) fn of_version(self, version: u32) -> Self {
        Self { version, ..self }
    }

    /// With another measurement library, or with none whose symbols can be found.
    pub(crate) fn beside(self, measurement: Option<PathBuf>) -> Self {
        Self { measurement, ..self }
    }

    /// Plays it, however it ends.
    pub(crate) fn play(&self) -> Job {
        let directory = tempfile::tempdir().unwrap();
        let libraries = directory.path().join("libraries");
        std::fs::create_dir(&libraries).unwrap();
        for name in NAMES {
            std::os::unix::fs::symlink(tool::library(), libraries.join(name)).unwrap();
        }
        let mut command = tool::host(env!("HOST_SCOREP_HOST"));
        command.arg(self.measurement.as_deref().unwrap_or(Path::new("-")));
        command.args([&self.version.to_string(), &self.scenario, &self.number.to_string()]);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("SCOREP_")) {
            command.env_remove(name);
        }
        command
            .env("LD_LIBRARY_PATH", &libraries)
            .env("SCOREP_EXPERIMENT_DIRECTORY", directory.path().join("experiment"));
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let output = command.output().unwrap();
        let what = format!("{self:?}");
        Job { processes: Process::all(&output.stdout, &output.stderr), what, directory }
    }

    /// Plays it to its good end.
    pub(crate) fn run(&self) -> Job {
        let job = self.play();
        for (rank, process) in job.processes.iter().enumerate() {
            assert_eq!(process.end, "ended\t0", "rank {rank} of {}:\n{}", job.what, process.said.join("\n"));
        }
        assert!(!job.processes.is_empty(), "{}: no process", job.what);
        job
    }
}

/// A job that is over.
#[derive(Debug)]
pub(crate) struct Job {
    what: String,
    pub(crate) processes: Vec<Process>,
    directory: TempDir,
}

/// One of its processes: what it printed, what the library said, and how it ended.
#[derive(Debug, Default)]
pub(crate) struct Process {
    printed: Vec<String>,
    pub(crate) said: Vec<String>,
    pub(crate) end: String,
}

impl Job {
    /// The only process of a job of one.
    pub(crate) fn only(&self) -> &Process {
        assert_eq!(self.processes.len(), 1);
        &self.processes[0]
    }

    /// A file of the experiment directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join("experiment").join(name)
    }

    /// The names of the files in the plugin's directory, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = self.path("nccl").read_dir().into_iter().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A file of JSON there.
    pub(crate) fn json(&self, name: &str) -> Value {
        let path = self.path("nccl").join(name);
        let text =
            std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; {:?}", path.display(), self.files()));
        serde_json::from_slice(&text).unwrap()
    }

    /// All lines that the library said, whichever process it was in.
    pub(crate) fn said(&self) -> Vec<&str> {
        self.processes.iter().flat_map(|process| &process.said).map(String::as_str).collect()
    }
}

impl Process {
    fn all(printed: &[u8], said: &[u8]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        let mut add = |text: &[u8], put: fn(&mut Self, &str)| {
            for line in String::from_utf8_lossy(text).lines() {
                let (rank, line) = line.split_once('\t').unwrap_or_else(|| panic!("the host says {line}"));
                let rank: usize = rank.parse().unwrap();
                all.resize_with(all.len().max(rank + 1), Self::default);
                put(&mut all[rank], line);
            }
        };
        add(printed, |process, line| match line.split('\t').next() {
            Some("ended" | "killed" | "hangs") => process.end = line.to_owned(),
            _ => process.printed.push(line.to_owned()),
        });
        // one line depends on the machine
        add(said, |process, line| {
            if !line.contains("/dev/shm") {
                process.said.push(line.to_owned());
            }
        });
        all
    }

    /// The fields of the lines of that name, without it.
    pub(crate) fn lines<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Vec<&'a str>> {
        let lines = self.printed.iter().map(|line| line.split('\t').collect::<Vec<_>>());
        lines.filter(move |fields| fields[0] == name).map(|fields| fields[1..].to_vec())
    }

    /// The first number of the line of that name.
    pub(crate) fn number(&self, name: &str) -> u64 {
        self.lines(name).next().unwrap_or_else(|| panic!("no line {name}"))[0].parse().unwrap()
    }

    /// A counter at the end of a thread.
    pub(crate) fn counter(&self, thread: &str, name: &str) -> u64 {
        let line = self.lines("value").find(|fields| fields[..2] == [thread, name]);
        line.unwrap_or_else(|| panic!("no counter {name} of {thread}"))[2].parse().unwrap()
    }
}
