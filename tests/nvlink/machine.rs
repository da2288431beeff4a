//! A machine with GPUs, as the stand-in for NVML reads it from a file, and a job on it.

use crate::support::status::Job;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A process that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// The GPU of the job's process: the second one in NVML's order.
pub(crate) const OWN: &str = "0000:0A:00.0";

/// The file of the stand-in.
pub(crate) struct Machine(TempDir);

impl Machine {
    /// Makes a machine of which the stand-in says this.
    pub(crate) fn new(text: &str) -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        machine.set(text);
        machine
    }

    /// Makes a machine with two GPUs, the own one with these lines.
    pub(crate) fn with(own: &str) -> Self {
        let machine = Self::new("");
        machine.set_own(own);
        machine
    }

    /// Changes what the stand-in says, at once for all calls that begin later.
    pub(crate) fn set(&self, text: &str) {
        let part = self.0.path().join("part");
        std::fs::write(&part, text).unwrap();
        std::fs::rename(part, self.file()).unwrap();
    }

    /// Changes the lines of the own GPU. The other one has counters that nobody should read.
    pub(crate) fn set_own(&self, own: &str) {
        self.set(&format!("gpu 0000:0B:00.0 GPU-other\ndata 77 78\nstep 5 5\ngpu 0000:0a:00.0 GPU-own\n{own}\n"));
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.path().join("nvml")
    }

    /// Starts a job with NVML, on the own GPU.
    pub(crate) fn job(&self, settings: &[(&str, &str)]) -> Job {
        let file = self.file();
        let nvml = folder(env!("NVML_STAND_IN"));
        let mut all = vec![
            ("NCCL_SCOREP_NVLINK", "on"),
            ("NCCL_SCOREP_SUMMARY_SECONDS", "0.02"),
            ("NVML_STAND_IN_FILE", file.to_str().unwrap()),
            ("LD_LIBRARY_PATH", nvml),
            ("LD_PRELOAD", env!("CURRENT_GPU_STAND_IN")),
            ("CUDA_STAND_IN_GPU", OWN),
        ];
        all.extend(settings);
        Job::begin(7, &all)
    }
}

/// Returns the folder of a library.
pub(crate) fn folder(library: &str) -> &str {
    Path::new(library).parent().unwrap().to_str().unwrap()
}

/// Waits for a summary of the running process whose part about NVLink is like this. NCCL opens an empty group at
/// each look, since a process that hears nothing writes no summary.
pub(crate) fn await_nvlink(job: &mut Job, wanted: impl Fn(&Value) -> bool) -> Value {
    await_process(job, |process| wanted(&process["nvlink"]))["nvlink"].clone()
}

/// Waits for a summary of the running process in which the process is like this.
pub(crate) fn await_process(job: &mut Job, wanted: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        job.order("group ab\nend_group");
        let text = std::fs::read(job.summary_path()).unwrap_or_default();
        let summary: Value = serde_json::from_slice(&text).unwrap_or_default();
        let found = &summary["processes"][0];
        if !summary.is_null() && wanted(found) {
            return found.clone();
        }
        assert!(begun.elapsed() < PATIENCE, "{found:#}\n{}", job.said());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until the counters of the GPU were read for the first time.
pub(crate) fn await_zero(job: &mut Job) {
    await_nvlink(job, |found| found["gpus"][0]["gpu"] == OWN);
}
