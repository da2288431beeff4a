//! What the captures hold that a process plays.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::support::reference::{api, json, operations};

/// One process' operations.
#[derive(Debug)]
pub(crate) struct Process {
    /// Score-P's name for it.
    pub(crate) name: String,
    /// In the order of their starts, capture by capture.
    pub(crate) operations: Vec<operations::Operation>,
    /// The application's calls, by function, and the ends of its groups as `GroupEnd`.
    pub(crate) calls: BTreeMap<String, usize>,
    /// How many ranks a communicator has.
    pub(crate) ranks: BTreeMap<String, i64>,
}

/// The processes, by the captures that each plays.
pub(crate) fn processes(captures: &[PathBuf], process_of: impl Fn(usize) -> String) -> Vec<Process> {
    let mut processes: Vec<Process> = Vec::new();
    for (number, capture) in captures.iter().enumerate() {
        let recording = json::read(capture).unwrap();
        let name = process_of(number);
        let place = processes.iter().position(|process| process.name == name).unwrap_or_else(|| {
            processes.push(Process { name, operations: Vec::new(), calls: BTreeMap::new(), ranks: BTreeMap::new() });
            processes.len() - 1
        });
        for call in recording.events.iter().filter(|event| ["CollApi", "P2pApi"].contains(&event.kind.as_str())) {
            let func = call.start["func"].as_str().unwrap_or_default();
            *processes[place].calls.entry(func.to_owned()).or_default() += 1;
        }
        let ends = |state: &serde_json::Value| state["state"] == 24;
        let groups =
            recording.events.iter().filter(|event| event.kind == "GroupApi" && event.states.iter().any(ends)).count();
        // behind a group, what an outer one launches, and where that starts its operations
        let of_outer = |number: &usize| {
            let kind = recording.events[*number].kind.as_str();
            ["KernelLaunch", "Group"].contains(&kind) && api::is_behind_a_group(&recording.events, *number).unwrap()
        };
        let nested = (0..recording.events.len()).filter(of_outer).count();
        *processes[place].calls.entry("GroupEnd".to_owned()).or_default() += groups + nested;
        processes[place].operations.extend(operations::each(&recording).unwrap());
        processes[place].ranks.extend(recording.contexts.into_values().map(|context| (context.comm, context.nranks)));
    }
    processes
}

/// The first calls of a capture, as a capture.
pub(crate) fn beginning(capture: &Path, calls: usize, copy: &Path) {
    use std::io::{BufRead, BufReader, Write};
    let text = flate2::read::MultiGzDecoder::new(std::fs::File::open(capture).unwrap());
    let mut file = flate2::write::GzEncoder::new(std::fs::File::create(copy).unwrap(), flate2::Compression::fast());
    // the first line is no call
    for line in BufReader::new(text).lines().take(1 + calls) {
        writeln!(file, "{}", line.unwrap()).unwrap();
    }
    file.finish().unwrap();
}
