//! The lanes of a replay's archive: they last as long as the summary's operations, on one clock, and on the machines of
//! the processes.

use crate::support::{edited, tool, trace};

use edited::Edited;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use trace::{Location, Trace, What};

const HOUR: u64 = 3_600_000_000_000;

fn skipped() -> bool {
    let is_missing = Command::new("otf2-print").arg("--version").output().is_err();
    if is_missing {
        tool::skip("otf2-print is not installed (Debian: otf2-tools)");
    }
    is_missing
}

/// Replays captures; returns the summary, the contents of the archive, and its printed definitions.
fn replayed(captures: &[PathBuf]) -> (Value, Trace, String) {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive");
    let mut command = tool::tool();
    command.arg("replay").args(captures).args(["--format", "json", "--otf2"]).arg(&archive);
    let summary = tool::summary(&mut command);
    let definitions = tool::succeed(Command::new("otf2-print").arg("-G").arg(archive.join("traces.otf2")));
    (summary, Trace::read(&archive), definitions)
}

fn lanes(trace: &Trace) -> impl Iterator<Item = &Location> {
    trace.locations.iter().filter(|location| location.kind == "ACCELERATOR_STREAM")
}

/// Returns begin and end of the operations of each process, by lane, nanoseconds. Lanes of rank pairs are left out,
/// because the collector decides when their windows end.
fn times(trace: &Trace) -> BTreeMap<(String, String), Vec<u64>> {
    let of_lane = |lane: &Location| lane.events.iter().map(|event| event.time).collect();
    let of_ranks = lanes(trace).filter(|lane| lane.name.contains(" rank "));
    of_ranks.map(|lane| ((lane.group.clone(), lane.name.clone()), of_lane(lane))).collect()
}

/// Returns copies of a run's captures as of other machines: by machine, how much earlier it booted and how wrong its
/// time of day is, nanoseconds.
fn elsewhere(run: &str, machines: &[(u64, i64)]) -> Vec<Edited> {
    let captures = tool::captures(&tool::run(run));
    assert_eq!(captures.len(), machines.len());
    let edited = captures.iter().zip(machines).map(|(capture, &(earlier, wrong))| {
        Edited::of(capture, |line| {
            if line["cb"] == "meta" {
                line["mono0"] = (line["mono0"].as_u64().unwrap() + earlier).into();
                line["real0"] = line["real0"].as_u64().unwrap().saturating_add_signed(wrong).into();
            }
        })
    });
    edited.collect()
}

fn paths(edited: &[Edited]) -> Vec<PathBuf> {
    edited.iter().map(Edited::path).collect()
}

/// The machines' clocks are hours apart, and their times of day some milliseconds: the stated error is not below the
/// true one.
#[test]
fn processes_of_several_machines_are_on_one_clock() {
    if skipped() {
        return;
    }
    let far = [
        ("nodes2x2_train", vec![(0, 0), (0, 0), (5 * HOUR, 3_000_000), (5 * HOUR, 3_000_000)], 2, 3_000.0),
        ("truth_fsdp", vec![(7 * HOUR, 0), (0, -40_000_000_000)], 2, 500.0),
        (
            "nodes4x1_pipeline",
            vec![(0, 0), (HOUR, 1_000_000), (2 * HOUR, 2_000_000), (3 * HOUR, -3_000_000)],
            4,
            7_000.0,
        ),
    ];
    for (run, machines, nodes, most) in far {
        let (near, here, _) = replayed(&tool::captures(&tool::run(run)));
        assert!(near["clocks"].is_null(), "{run}: {}", near["clocks"]);
        let (summary, there, _) = replayed(&paths(&elsewhere(run, &machines)));
        let error = summary["clocks"]["error_us"].as_f64().unwrap();
        assert!(summary["clocks"]["nodes"] == nodes && error < most, "{run}: {}", summary["clocks"]);
        let (here, there) = (times(&here), times(&there));
        assert_eq!(here.keys().collect::<Vec<_>>(), there.keys().collect::<Vec<_>>(), "{run}");
        let moved = |key: &(String, String)| {
            here[key].iter().zip(&there[key]).map(|(here, there)| there.wrapping_sub(*here) as i64)
        };
        let all: Vec<i64> = here.keys().flat_map(moved).collect();
        let apart = (all.iter().max().unwrap() - all.iter().min().unwrap()) as f64 / 1e3;
        assert!(all.len() > 100 && apart > 0.0 && apart <= error, "{run}: {apart} us apart, said to be {error}");
    }
}

/// Two jobs, or a job without timed operations: their clocks are as far apart as the times of day, and a note says so.
#[test]
fn clocks_that_nothing_joins_are_told_of() {
    if skipped() {
        return;
    }
    let other = elsewhere("truth_tree", &[(HOUR, 0), (HOUR, 0)]);
    let mut captures = tool::captures(&tool::run("truth_fsdp"));
    captures.push(other[0].path());
    let (summary, trace, _) = replayed(&captures);
    let notes: Vec<&str> = summary["notes"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let told =
        notes.iter().filter(|note| note.starts_with("the clocks of 2 of 3 processes (fsdp.r0 and so on)")).count();
    assert!(told == 1 && summary["clocks"].is_null(), "{notes:?}");
    // recorded 64 s earlier by the time of day
    let first =
        |group: &str| lanes(&trace).filter(|lane| lane.group == group).map(|lane| lane.events[0].time).min().unwrap();
    let seconds = (first("fsdp.r0") - first("tree.r0")) as f64 / 1e9;
    assert!((60.0..70.0).contains(&seconds), "{seconds}");
}

/// Returns copies of a run's captures with file names as if recorded on these hosts.
fn recorded_on(run: &str, hosts: &[&str]) -> (TempDir, Vec<PathBuf>) {
    let directory = tempfile::tempdir().unwrap();
    let copy = |(capture, host): (&PathBuf, &&str)| {
        let pid = trace_pid(capture);
        let path = directory.path().join(format!("{host}.{pid}.jsonl.gz"));
        std::fs::copy(capture, &path).unwrap();
        path
    };
    let copies = tool::captures(&tool::run(run)).iter().zip(hosts).map(copy).collect();
    (directory, copies)
}

fn trace_pid(capture: &Path) -> i64 {
    let text = flate2::read::MultiGzDecoder::new(std::fs::File::open(capture).unwrap());
    let line = std::io::BufRead::lines(std::io::BufReader::new(text)).next().unwrap().unwrap();
    serde_json::from_str::<Value>(&line).unwrap()["pid"].as_i64().unwrap()
}

/// Returns the machines in the order of the processes.
fn machines(definitions: &str) -> Vec<&str> {
    let groups = definitions.lines().filter(|line| line.starts_with("LOCATION_GROUP "));
    groups.map(|line| line.split("Parent: \"node::").nth(1).unwrap().split('"').next().unwrap()).collect()
}

#[test]
fn processes_are_on_their_machines() {
    if skipped() {
        return;
    }
    for run in ["nodes2x2_train", "nodes2x2_graph"] {
        let (_, _, definitions) = replayed(&tool::captures(&tool::run(run)));
        assert_eq!(machines(&definitions), ["node 0", "node 0", "node 1", "node 1"], "{run}");
        let nodes = definitions
            .lines()
            .filter(|line| line.starts_with("SYSTEM_TREE_NODE ") && line.contains("Class: \"node\""));
        assert_eq!(nodes.count(), 2, "{run}");
    }
    let hosts = ["gpu07.cluster", "gpu07.cluster", "gpu12.cluster", "gpu12.cluster"];
    let (_directory, captures) = recorded_on("nodes2x2_train", &hosts);
    let (summary, _, definitions) = replayed(&captures);
    assert_eq!(machines(&definitions), hosts);
    // two machines, whatever their clocks show
    assert_eq!(summary["clocks"]["nodes"], 2);

    // newer recordings name their host themselves
    let captures = tool::captures(&tool::run("nodes2x2_train"));
    let named: Vec<Edited> = captures
        .iter()
        .zip(["b", "a", "b", "a"])
        .map(|(capture, host)| {
            Edited::of(capture, |line| {
                if line["cb"] == "meta" {
                    line["process"] = serde_json::json!({"host": host});
                }
            })
        })
        .collect();
    assert_eq!(machines(&replayed(&paths(&named)).2), ["b", "a", "b", "a"]);
}

/// Names, regions, counters and attributes are those that the library gives to Score-P. A region that lasts as long as
/// on the GPU has the operation's time.
#[test]
fn lanes_are_as_long_as_the_summary_says() {
    if skipped() {
        return;
    }
    for run in ["nodes2x2_train", "truth_tree", "net2_collectives"] {
        let (summary, trace, _) = replayed(&tool::captures(&tool::run(run)));
        let mut shown: BTreeMap<(String, i64, String), (u64, f64)> = BTreeMap::new();
        for lane in lanes(&trace) {
            let Some((comm, rank)) = lane.name.strip_prefix("NCCL ").and_then(|name| name.split_once(" rank ")) else {
                continue;
            };
            let rank: i64 = rank.split(' ').next().unwrap().parse().unwrap();
            let mut begun = 0;
            for event in &lane.events {
                match &event.what {
                    What::Enter(region) => {
                        begun = event.time;
                        // a collective of a communicator has a number
                        let timing = event.attributes.get("nccl_timing").map_or("", String::as_str);
                        let is_on_gpu = ["stamps", "events"].contains(&timing);
                        let is_told = is_on_gpu || ["proxy", "enqueue"].contains(&timing);
                        assert!(is_told && is_on_gpu != region.ends_with(" (not GPU-timed)"), "{region}: {event:?}");
                        let is_numbered = event.attributes.contains_key("nccl_sequence");
                        let is_p2p = ["ncclSend", "ncclRecv"].iter().any(|name| region.starts_with(name));
                        assert_ne!(is_numbered, is_p2p, "{region}: {event:?}");
                        assert_eq!(event.attributes.contains_key("nccl_peer"), is_p2p, "{region}: {event:?}");
                    }
                    What::Leave(region) if !region.ends_with(" (not GPU-timed)") => {
                        let key = (comm.to_owned(), rank, region.strip_prefix("nccl").unwrap().to_owned());
                        let sum = shown.entry(key).or_default();
                        *sum = (sum.0 + 1, sum.1 + (event.time - begun) as f64 / 1e3);
                    }
                    _ => {}
                }
            }
        }
        let mut told: BTreeMap<(String, i64, String), (u64, f64)> = BTreeMap::new();
        for row in summary["operations"].as_array().unwrap().iter().filter(|row| row["gpu_timed"].as_u64() > Some(0)) {
            let [comm, func] = ["comm", "func"].map(|field| row[field].as_str().unwrap().to_owned());
            let sum = told.entry((comm, row["rank"].as_i64().unwrap(), func)).or_default();
            *sum = (sum.0 + row["gpu_timed"].as_u64().unwrap(), sum.1 + row["time_us"].as_f64().unwrap());
        }
        assert!(!told.is_empty() && told.keys().eq(shown.keys()), "{run}: {told:?} {shown:?}");
        for (key, (count, time)) in told {
            let (on_lanes, length) = shown[&key];
            assert_eq!(on_lanes, count, "{run} {key:?}");
            // rounded to nanoseconds, cut off where the clocks' mapping is uncertain, and from begins by events that the
            // whole run has corrected by some microseconds
            assert!(
                (length - time).abs() < 0.001 * time + 4.0 * count as f64,
                "{run} {key:?}: {length} us on lanes, {time} in the summary"
            );
        }
    }
}
