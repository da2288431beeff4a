//! The host of tests/cuda_events and tests/cuda_failures.rs (tests/c/cuda/events_host.c): one process a scenario. It
//! prints each operation with what times it, from when to when by true time; the summary must say the same.

mod played;
mod row;

use crate::support::host::Run;
use crate::support::tool;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

pub(crate) use played::Played;

/// The versions of the interface that tell of launches.
pub(crate) const WITH_EVENTS: [u32; 3] = [5, 6, 7];
/// How long one scenario may take.
const PATIENCE: Duration = Duration::from_secs(100);

/// A scenario to be played.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    name: &'static str,
    version: u32,
    number: i64,
    driver: &'static str,
    settings: BTreeMap<String, String>,
}

/// A scenario through a version of the interface, with kernel stamps in every release and the stand-in for CUDA's
/// driver.
pub(crate) fn of(name: &'static str, version: u32) -> Scenario {
    let settings =
        [("NCCL_ALLGATHERV_ENABLE", "0"), ("NCCL_SCOREP_TICK_RATE", "1e9"), ("NCCL_SCOREP_SETTLE_SECONDS", "0.001")];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    Scenario { name, version, number: 0, driver: env!("CUDA_STAND_IN"), settings }
}

impl Scenario {
    pub(crate) fn number(mut self, number: i64) -> Self {
        self.number = number;
        self
    }

    pub(crate) fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn gpu_time(self, value: &str) -> Self {
        self.setting("NCCL_SCOREP_GPU_TIME", value)
    }

    pub(crate) fn without_setting(mut self, name: &str) -> Self {
        self.settings.remove(name);
        self
    }

    pub(crate) fn without_driver(mut self) -> Self {
        self.driver = "none";
        self
    }

    /// With a driver before CUDA 11.1.
    pub(crate) fn with_old_driver(mut self) -> Self {
        self.driver = env!("OLD_CUDA_STAND_IN");
        self
    }

    /// In a process that Score-P measures: its CUDA adapter knows the threads of the program alone.
    pub(crate) fn under_score_p(mut self) -> Self {
        self.driver = env!("WATCHED_CUDA_STAND_IN");
        self
    }

    fn what(&self) -> String {
        let Self { name, version, number, settings, .. } = self;
        format!("{name} {number}, v{version}, {settings:?}")
    }

    /// The process, what it says going to files of that directory.
    fn process(&self, directory: &Path) -> Output {
        let Self { name, version, number, driver, settings } = self;
        let mut command = tool::host(env!("HOST_EVENTS_HOST"));
        command.arg(tool::library()).arg(driver);
        command.args([&version.to_string(), *name, &number.to_string()]);
        command.env_remove("RUST_BACKTRACE").env_remove("CUDA_DEVICE_MAX_CONNECTIONS");
        command.env("NCCL_SCOREP_SUMMARY", directory.join("%p.json")).envs(settings);
        let path = |name: &str| directory.join(name);
        let file = |name: &str| Stdio::from(std::fs::File::create(path(name)).unwrap());
        let status = tool::ends(command.stdout(file("stdout")).stderr(file("stderr")), PATIENCE, &self.what());
        let [stdout, stderr] = ["stdout", "stderr"].map(|name| std::fs::read(path(name)).unwrap());
        Output { status, stdout, stderr }
    }

    /// Runs it, however it ends.
    pub(crate) fn run(&self) -> Output {
        self.process(tempfile::tempdir().unwrap().path())
    }

    /// Plays it to its end.
    pub(crate) fn play(&self) -> Played {
        let directory = tempfile::tempdir().unwrap();
        let (what, output) = (self.what(), self.process(directory.path()));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{what}: {}\n{said}", output.status);
        let printed = String::from_utf8(output.stdout.clone()).unwrap();
        Played { run: Run { what, output, summaries: summaries(directory.path()) }, printed }
    }
}

fn summaries(directory: &Path) -> Vec<Value> {
    let paths = directory.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let paths = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()).collect()
}
