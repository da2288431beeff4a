//! The times of operations against CUPTI's. NCCL's callbacks, CUDA events and CUPTI recorded the same runs
//! (tests/captures/truth_*, tests/truth). The tests replay these runs with stamps, with events and with both; no time
//! may be wrong.
//!
//! The first launch of a kernel has a larger tolerance: CUPTI shows up to 130 us more than the time between its stamps.

mod lateness;
use crate::support::{lines, reference, tool};

use flate2::read::MultiGzDecoder;
use reference::Sources;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Largest errors of an operation's time. The mean error is at most `MEAN_US` and the part `MEAN_PART` of the time; no
/// error exceeds `MOST_US`.
const MEAN_US: f64 = 8.0;
const MEAN_PART: f64 = 0.01;
const MOST_US: f64 = 60.0;
/// Microseconds that CUPTI may show more for the first launch of a kernel.
const FIRST_US: f64 = 130.0;

const MODES: [(&str, Sources); 3] = [("auto", Sources::Both), ("stamps", Sources::Stamps), ("events", Sources::Events)];

/// Communicator, rank, function, and peer of a send or receive.
type Key = (String, i64, String, Option<i64>);

/// The true figures of an operation.
#[derive(Debug, Clone, Copy)]
struct True {
    us: f64,
    /// When its kernel began, nanoseconds of the real time clock.
    begin: i64,
    /// NCCL's sequence number of a collective.
    sequence: Option<u64>,
    /// Whether its stamps can be its kernel's time: it has the kernel to itself, and is a send, a receive, or a
    /// collective by RING or PAT.
    stamped: bool,
    /// Whether this was the first launch of its kernel.
    first: bool,
}

/// Figures of the library or the reference for the operations of a key.
#[derive(Debug, Clone, Copy)]
struct Told {
    count: usize,
    gpu_timed: usize,
    event_timed: usize,
    us: f64,
    min_us: Option<f64>,
    max_us: Option<f64>,
}

type Truth = BTreeMap<Key, Vec<True>>;

fn runs() -> Vec<(String, PathBuf)> {
    let runs: Vec<_> = tool::runs().into_iter().filter(|(name, _)| name.starts_with("truth_")).collect();
    assert_eq!(runs.len(), 7);
    runs
}

/// Returns the operations of a run, in the order of their starts, with the times of their kernels.
fn truth(name: &str, run: &Path) -> Truth {
    let mut truth = Truth::new();
    for (rank, capture) in tool::captures(run).iter().enumerate() {
        let (_, lines) = lines::all(capture);
        let kernels = kernels(name, rank, &lines);
        let launched: HashSet<u64> =
            lines.iter().filter(|line| line["cb"] == "kernel").map(|line| number(line, "h")).collect();
        let mut comms: HashMap<u64, (String, i64)> = HashMap::new();
        let mut names: HashSet<&str> = HashSet::new();
        let mut launches = Vec::new();
        let mut of_thread: HashMap<u64, usize> = HashMap::new();
        for line in &lines {
            if line["cb"] == "init" {
                let comm = u64::from_str_radix(line["comm"].as_str().unwrap(), 16).unwrap();
                comms.insert(number(line, "ctx"), (format!("{comm:016x}"), line["rank"].as_i64().unwrap()));
            } else if line["cb"] == "start" && line["type"] == "KernelLaunch" {
                assert!(launched.contains(&number(line, "h")), "{line}");
                of_thread.insert(number(line, "tid"), launches.len());
                launches.push(Vec::new());
            } else if line["cb"] == "start" && (line["type"] == "Coll" || line["type"] == "P2p") {
                launches[of_thread[&number(line, "tid")]].push(line);
            }
        }
        assert_eq!((launches.len(), launched.len()), (kernels.len(), kernels.len()), "{name} rank {rank}");
        for (operations, (kernel, begin, us)) in launches.iter().zip(&kernels) {
            let first = names.insert(kernel);
            for &line in operations {
                let (begin, sequence) = (*begin, line["seq"].as_u64());
                let (comm, rank) = comms[&number(line, "ctx")].clone();
                let right = line["type"] == "P2p" || line["algo"] == "RING" || line["algo"] == "PAT";
                let operation = True { us: *us, begin, sequence, stamped: right && operations.len() == 1, first };
                let key = (comm, rank, line["func"].as_str().unwrap().to_owned(), line["peer"].as_i64());
                truth.entry(key).or_default().push(operation);
            }
        }
    }
    truth
}

fn number(line: &Value, field: &str) -> u64 {
    line[field].as_u64().unwrap()
}

/// Returns name, begin (nanoseconds of the real time clock) and microseconds of each of NCCL's kernels launched by a
/// KernelLaunch.
fn kernels(run: &str, rank: usize, lines: &[Value]) -> Vec<(String, i64, f64)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/truth/cupti/{run}.r{rank}.json.gz"));
    let cupti: Value = serde_json::from_reader(MultiGzDecoder::new(File::open(path).unwrap())).unwrap();
    // NCCL 2.32 reports only the calls of broadcasts
    let silent = !lines.iter().any(|line| line["type"] == "Coll" && line["func"] == "Broadcast");
    let kernels = cupti["kernels"].as_array().unwrap().iter();
    let base = cupti["base_ns"].as_i64().unwrap();
    let begin = |kernel: &Value| base + kernel[0].as_i64().unwrap();
    let kernels = kernels
        .map(|kernel| (kernel[2].as_str().unwrap().to_owned(), begin(kernel), kernel[1].as_f64().unwrap() / 1e3));
    kernels
        .filter(|(name, _, _)| name.starts_with("ncclDevKernel") && !(silent && name.contains("Broadcast")))
        .collect()
}

fn told_by_summary(summary: &Value) -> BTreeMap<Key, Told> {
    let rows = summary["operations"].as_array().unwrap().iter();
    let told = rows.map(|row| {
        let text = |field: &str| row[field].as_str().unwrap().to_owned();
        let count = |field: &str| row[field].as_u64().unwrap() as usize;
        let key = (text("comm"), row["rank"].as_i64().unwrap(), text("func"), row["peer"].as_i64());
        let told = Told {
            count: count("count"),
            gpu_timed: count("gpu_timed"),
            event_timed: count("event_timed"),
            us: row["time_us"].as_f64().unwrap(),
            min_us: row["min_us"].as_f64(),
            max_us: row["max_us"].as_f64(),
        };
        (key, told)
    });
    told.collect()
}

fn told_by_reference(run: &Path, sources: Sources) -> BTreeMap<Key, Told> {
    let rows = reference::summarise_by(&tool::captures(run), sources).unwrap().operations.into_iter();
    let told = rows.map(|row| {
        let (count, gpu_timed, event_timed) = (row.count, row.gpu_timed, row.event_timed);
        let told = Told { count, gpu_timed, event_timed, us: row.time_us, min_us: row.min_us, max_us: row.max_us };
        ((row.comm, row.rank, row.func, row.peer), told)
    });
    told.collect()
}

/// Returns a sentence for each error.
fn wrong(truth: &Truth, told: &BTreeMap<Key, Told>, sources: Sources) -> Vec<String> {
    let mut wrong = Vec::new();
    for (key, operations) in truth {
        let mut say = |what: String| wrong.push(format!("rank {} {} (peer {:?}): {what}", key.1, key.2, key.3));
        let Some(told) = told.get(key).filter(|told| told.count == operations.len()) else {
            say(format!("{} operations, told {:?}", operations.len(), told.get(key)));
            continue;
        };
        let timed: Vec<True> = if sources == Sources::Stamps {
            // stamps are valid up to some operation
            operations.iter().filter(|operation| operation.stamped).take(told.gpu_timed).copied().collect()
        } else {
            operations.clone()
        };
        let by_events = told.event_timed <= told.gpu_timed
            && match sources {
                Sources::Stamps => told.event_timed == 0,
                Sources::Both => true,
                Sources::Events => told.event_timed == told.gpu_timed,
            };
        if told.gpu_timed != timed.len() || !by_events {
            say(format!("{} of {} can be timed, told {told:?}", timed.len(), operations.len()));
            continue;
        }
        if let Some(what) = wrong_times(&timed, told) {
            say(what);
        }
    }
    wrong
}

/// Describes the errors in the times of the timed operations.
fn wrong_times(timed: &[True], told: &Told) -> Option<String> {
    if timed.is_empty() {
        return (told.us != 0.0 || told.min_us.is_some() || told.max_us.is_some())
            .then(|| format!("times of nothing: {told:?}"));
    }
    let sum: f64 = timed.iter().map(|operation| operation.us).sum();
    let slack = |operation: &True| if operation.first { FIRST_US } else { 0.0 };
    let within = timed.len() as f64 * MEAN_US + MEAN_PART * sum + timed.iter().map(slack).sum::<f64>();
    let least = timed.iter().map(|operation| operation.us - MOST_US - slack(operation));
    let most = timed.iter().map(|operation| operation.us + MOST_US);
    let smallest = least.clone().fold(f64::MAX, f64::min)..=most.clone().fold(f64::MAX, f64::min);
    let largest = least.fold(f64::MIN, f64::max)..=most.fold(f64::MIN, f64::max);
    // with fewer timed operations there is no maximum
    let nearly_all = timed.len() * 10 >= told.count * 9;
    let is_right = (told.us - sum).abs() <= within
        && told.min_us.is_some_and(|us| smallest.contains(&us))
        && if nearly_all { told.max_us.is_some_and(|us| largest.contains(&us)) } else { told.max_us.is_none() };
    let kernels = || format!("{} kernels of {sum:.1} us in all (within {within:.1})", timed.len());
    (!is_right).then(|| format!("{}, the smallest {smallest:.1?}, the largest {largest:.1?}, told {told:?}", kernels()))
}

#[test]
fn no_time_is_wrong() {
    let mut all = Vec::new();
    for (name, run) in runs() {
        let truth = truth(&name, &run);
        for (mode, sources) in MODES {
            let mut command = tool::tool();
            command.arg("replay").arg(&run).args(["--format", "json"]).env("NCCL_SCOREP_GPU_TIME", mode);
            let told = told_by_summary(&tool::summary(&mut command));
            all.extend(wrong(&truth, &told, sources).iter().map(|what| format!("{name}, {mode}: {what}")));
        }
    }
    assert!(all.is_empty(), "{} wrong:\n{}", all.len(), all.join("\n"));
}

/// Checks the method with the reference instead of the library.
#[test]
fn no_time_of_the_reference_is_wrong() {
    let mut all = Vec::new();
    for (name, run) in runs() {
        let truth = truth(&name, &run);
        for (mode, sources) in MODES {
            let wrong = wrong(&truth, &told_by_reference(&run, sources), sources);
            all.extend(wrong.iter().map(|what| format!("{name}, {mode}: {what}")));
        }
    }
    assert!(all.is_empty(), "{} wrong:\n{}", all.len(), all.join("\n"));
}

/// Planted faults: kernels that take twice or half as long; a time of one operation that is too long; stamps as times
/// of trees and groups; operations with events but without a time.
#[test]
fn every_planted_fault_is_found() {
    for (name, run) in runs() {
        let right = truth(&name, &run);
        for (mode, sources) in MODES {
            let told = told_by_reference(&run, sources);
            let timed: Vec<&Key> = told.iter().filter(|(_, told)| told.gpu_timed > 0).map(|(key, _)| key).collect();
            for factor in [2.0, 0.5] {
                let mut other = right.clone();
                other.values_mut().flatten().for_each(|operation| operation.us *= factor);
                assert_eq!(wrong(&other, &told, sources).is_empty(), timed.is_empty(), "{name}, {mode}: {factor}");
            }
            for key in told.keys() {
                let found = |change: fn(&mut Told)| {
                    let mut told = told.clone();
                    change(told.get_mut(key).unwrap());
                    !wrong(&right, &told, sources).is_empty()
                };
                assert!(
                    found(|told| told.count += 1) && found(|told| told.event_timed = told.count + 1),
                    "{name}, {mode}"
                );
                if timed.contains(&key) {
                    assert!(
                        found(|told| told.max_us = Some(told.max_us.unwrap_or(0.0) + 300.0)),
                        "{name}, {mode}: {key:?}"
                    );
                    let too_long =
                        |told: &mut Told| told.us += 10.0 * told.gpu_timed as f64 + 0.02 * told.us + 2.0 * FIRST_US;
                    assert!(found(|told| told.min_us = None) && found(too_long), "{name}, {mode}: {key:?}");
                }
                if sources != Sources::Stamps {
                    assert!(found(|told| told.gpu_timed -= 1), "{name}, {mode}: {key:?}");
                } else if right[key].iter().all(|operation| !operation.stamped) {
                    assert!(found(|told| told.gpu_timed = 1), "{name}, {mode}: {key:?}");
                }
            }
        }
    }
}
