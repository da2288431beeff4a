//! Synthetic captures: callbacks in every order and of every shape that a real or an odd NCCL could produce. The same
//! seed always gives the same captures.
//!
//! | file | task |
//! |---|---|
//! | `play.rs` | puts the callbacks of many threads into one order, with times |
//! | `habits.rs` | what NCCL does in this run, and how often |
//! | `process.rs` | communicators, calls and operations of one process |
//! | `launches.rs` | kernels: their launches, the operations in them, their times by events |
//! | `children.rs` | kernel channels, proxy operations and their steps |
//! | `links.rs` | independent of these files: transfers over a link of known rate and latency |
//! | `states.rs` | independent of these files: transfers whose states last known times |
//!
//! Cases without a settled result are left out: launches of two kernels at a time on one thread, silent broadcasts with
//! events, kernel channels that stop before they start, stamps of channels that never stop, operations of another
//! process below operations of this one, calls after the end of a process's last communicator.

mod children;
mod habits;
mod launches;
pub(crate) mod links;
mod play;
mod process;
pub(crate) mod states;

use std::fs::{File, create_dir_all};
use std::io::Write;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use habits::Habits;

/// The callbacks of a process.
pub(crate) struct Process {
    lines: Vec<Value>,
    /// Number of uses of a handle after its stop.
    pub(crate) ignored_handles: usize,
    /// First handles of steps that were started again. NCCL never uses them again; they do not count as missing stops.
    pub(crate) lost_handles: Vec<u64>,
    /// Number of events of a type that no version has.
    pub(crate) unknown_events: usize,
}

/// All processes of a run.
pub(crate) struct Run {
    pub(crate) processes: Vec<Process>,
}

impl Run {
    /// Creates the run of a seed, with or without late children.
    pub(crate) fn new(seed: u64, late: bool) -> Self {
        let mut rng = Rng::with_seed(seed);
        let habits = Habits::new(late, &mut rng);
        let processes = (0..habits.processes).map(|number| process::make(number, &habits, &mut rng)).collect();
        Self { processes }
    }

    /// Writes the captures into a directory and returns their paths.
    pub(crate) fn write(&self, directory: &Path) -> Vec<PathBuf> {
        let lines = self.processes.iter().map(|process| process.lines.clone());
        write(directory, lines)
    }

    /// Writes the captures for the reference, which does not know missing names (they become `unknown`), types without
    /// a size (they become types of no bytes), and steps that are started again (each gets a stop at the end).
    pub(crate) fn write_for_reference(&self, directory: &Path) -> Vec<PathBuf> {
        let lines = self.processes.iter().map(|process| {
            let stops = process.lost_handles.iter().map(|h| json!({"cb": "stop", "h": h, "t": 0, "tid": 1}));
            process.lines.iter().map(named).chain(stops).collect()
        });
        write(directory, lines)
    }
}

/// Returns a line with names that the reference knows.
fn named(line: &Value) -> Value {
    let mut line = line.clone();
    if line.get("func").is_some_and(Value::is_null) {
        line["func"] = json!("unknown");
    }
    if line.get("dtype").is_some_and(|dtype| dtype == "Unknown") {
        line["dtype"] = json!("ncclUint8");
    }
    if line.get("dtype").is_some_and(|dtype| !process::TYPES.iter().any(|name| dtype == name)) {
        line["dtype"] = json!("ncclInt8");
        line["count"] = json!(0);
    }
    line
}

/// Writes captures into a directory and returns their paths.
pub(crate) fn write(directory: &Path, processes: impl Iterator<Item = Vec<Value>>) -> Vec<PathBuf> {
    create_dir_all(directory).unwrap();
    let write = |(number, lines): (usize, Vec<Value>)| {
        let path = directory.join(format!("synthetic.r{number}.jsonl.gz"));
        let mut file = GzEncoder::new(File::create(&path).unwrap(), Compression::fast());
        lines.iter().for_each(|line| writeln!(file, "{line}").unwrap());
        file.finish().unwrap();
        path
    };
    processes.enumerate().map(write).collect()
}
