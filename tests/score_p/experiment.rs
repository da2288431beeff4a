//! One run of the application under Score-P, and what came of it.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::installation::{self, Model};
use crate::support::tool;

/// How long a run may take: captures are seconds long.
const PATIENCE: Duration = Duration::from_secs(180);

/// The library's name for each of its hosts; Score-P and NCCL each look for their own.
const NAMES: [&str; 4] =
    ["libscorep_substrate_nccl.so", "libnccl_plugin.so", "libnccl_series_plugin.so", "libnccl-profiler-scorep.so"];

/// User regions of the application.
pub(crate) const REGIONS: [&str; 3] = ["forward", "backward", "step"];

/// The counters of [`SETTINGS`].
pub(crate) const COUNTERS: [&str; 8] = [
    "nccl_ops",
    "nccl_bytes",
    "nccl_collective_time",
    "nccl_busy_time",
    "nccl_net_bytes",
    "nccl_gpu_timed_ops",
    "nccl_enqueued_bytes",
    "nccl_api_time",
];

/// What a user sets to see NCCL in a Score-P run.
pub(crate) const SETTINGS: [(&str, &str); 8] = [
    ("SCOREP_ENABLE_PROFILING", "true"),
    ("SCOREP_ENABLE_TRACING", "true"),
    ("SCOREP_TOTAL_MEMORY", "64M"),
    ("SCOREP_METRIC_PLUGINS", "nccl_plugin"),
    (
        "SCOREP_METRIC_NCCL_PLUGIN",
        "default,nccl_busy_time,nccl_net_bytes,nccl_gpu_timed_ops,nccl_enqueued_bytes,nccl_api_time",
    ),
    ("SCOREP_SUBSTRATE_PLUGINS", "nccl"),
    ("NCCL_PROFILER_PLUGIN", "scorep"),
    // kernel events are asked for whatever the version
    ("NCCL_ALLGATHERV_ENABLE", "0"),
];

/// A run that has ended.
pub(crate) struct Experiment {
    directory: TempDir,
    model: Model,
    pub(crate) captures: Vec<PathBuf>,
    pub(crate) status: ExitStatus,
    pub(crate) printed: String,
    pub(crate) said: String,
}

/// The machine is for one at a time: they play at the recorded pace.
static TURN: Mutex<()> = Mutex::new(());

/// Runs the application without Score-P, as build.rs has compiled it.
pub(crate) fn run_alone(captures: &[PathBuf], arguments: &[&str]) -> Experiment {
    let mut command = installation::command(env!("HOST_REPLAY_APP"));
    command.env("NCCL_PROFILER_PLUGIN", tool::library()).env("NCCL_ALLGATHERV_ENABLE", "0");
    finish(command, Model::Threads, captures, arguments, tempfile::tempdir().unwrap())
}

/// Links to the library under its names, in that directory.
pub(crate) fn links(directory: &Path) -> &Path {
    for name in NAMES {
        std::os::unix::fs::symlink(tool::library(), directory.join(name)).unwrap();
    }
    directory
}

/// Runs the application. Settings add to those that every run has; one that is empty is not set at all.
pub(crate) fn run(model: Model, captures: &[PathBuf], arguments: &[&str], settings: &[(&str, &str)]) -> Experiment {
    let application = installation::application(model);
    let directory = tempfile::tempdir().unwrap();
    links(directory.path());
    let mut command = match model {
        Model::Mpi => installation::command("mpirun"),
        Model::Threads => installation::command(application.to_str().unwrap()),
    };
    if model == Model::Mpi {
        command.args(["--oversubscribe", "--allow-run-as-root", "-np", &captures.len().to_string()]).arg(application);
    }
    set(&mut command, directory.path(), "experiment", settings);
    finish(command, model, captures, arguments, directory)
}

/// Runs one process a capture at the same time, each a measurement of its own, as torchrun and Score-P without MPI do.
/// Returns the directory in which process `N` leaves `experiment.rankN` and, as its own summary, `all.N.json`.
pub(crate) fn run_apart(captures: &[PathBuf], settings: &[(&str, &str)]) -> TempDir {
    let application = installation::application(Model::Threads);
    let directory = tempfile::tempdir().unwrap();
    links(directory.path());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|scope| {
        for (rank, capture) in captures.iter().enumerate() {
            let mut command = installation::command(application.to_str().unwrap());
            set(&mut command, directory.path(), &format!("experiment.rank{rank}"), settings);
            command.env("NCCL_SCOREP_SUMMARY", directory.path().join(format!("all.{rank}.json"))).arg(capture);
            scope.spawn(move || assert!(tool::ends(&mut command, PATIENCE, "the application").success()));
        }
    });
    directory
}

/// Has a command find the library's links in a directory, and Score-P measure into an experiment there.
fn set(command: &mut Command, directory: &Path, experiment: &str, settings: &[(&str, &str)]) {
    let inherited = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let places = std::iter::once(directory.to_owned()).chain(std::env::split_paths(&inherited));
    command.env("LD_LIBRARY_PATH", std::env::join_paths(places).unwrap());
    command.env("SCOREP_EXPERIMENT_DIRECTORY", directory.join(experiment));
    for (name, value) in SETTINGS.iter().chain(settings) {
        if value.is_empty() {
            command.env_remove(name)
        } else {
            command.env(name, value)
        };
    }
}

fn finish(
    mut command: Command,
    model: Model,
    captures: &[PathBuf],
    arguments: &[&str],
    directory: TempDir,
) -> Experiment {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    command.env("NCCL_SCOREP_SUMMARY", directory.path().join("%p.json"));
    let output = ["printed", "said"].map(|name| directory.path().join(name));
    command.stdout(File::create(&output[0]).unwrap()).stderr(File::create(&output[1]).unwrap());
    let status = tool::ends(command.args(arguments).args(captures), PATIENCE, "the application");
    let [printed, said] = output.map(|path| std::fs::read_to_string(path).unwrap());
    Experiment { directory, model, captures: captures.to_vec(), status, printed, said }
}

impl Experiment {
    /// What Score-P left behind.
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("experiment")
    }

    /// A place for files of a test's own.
    pub(crate) fn scratch(&self) -> &Path {
        self.directory.path()
    }

    /// Score-P's name for the process that plays a capture.
    pub(crate) fn process_of(&self, capture: usize) -> String {
        match self.model {
            Model::Mpi => format!("MPI Rank {capture}"),
            Model::Threads => "Process".to_owned(),
        }
    }

    /// What the application says it enqueued: bytes by region for each of its threads, sorted, by process.
    pub(crate) fn enqueued(&self) -> BTreeMap<String, Vec<[u64; 3]>> {
        let mut by_capture: BTreeMap<usize, [u64; 3]> = BTreeMap::new();
        for line in self.printed.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            if let ["enqueued", capture, region, _operations, bytes] = words[..] {
                let region = REGIONS.iter().position(|&name| name == region).unwrap();
                by_capture.entry(capture.parse().unwrap()).or_default()[region] = bytes.parse().unwrap();
            }
        }
        let mut by_process: BTreeMap<String, Vec<[u64; 3]>> = BTreeMap::new();
        for (capture, bytes) in by_capture {
            by_process.entry(self.process_of(capture)).or_default().push(bytes);
        }
        by_process.values_mut().for_each(|threads| threads.sort_unstable());
        by_process
    }

    /// How many calls were made before the application ended itself.
    pub(crate) fn made(&self) -> Option<usize> {
        self.printed.lines().find_map(|line| line.strip_prefix("made "))?.parse().ok()
    }

    /// The summaries that the processes write themselves.
    pub(crate) fn summaries(&self) -> Vec<Value> {
        let paths = self.directory.path().read_dir().unwrap().map(|entry| entry.unwrap().path());
        let paths = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()).collect()
    }
}
