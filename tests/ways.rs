//! The ways of using NCCL (tests/c/nccl/ways.h): one process with several devices, processes with a thread a device,
//! processes with one thread and a group, and a group of collectives. Each gives each rank its own figures, and the
//! processes of a job together give the job's.

use crate::support::{host, tool};

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A scenario, the number of processes of its job, and the ranks of each process.
const WAYS: [(&str, u32, u32); 4] = [
    ("all_devices", 1, 4),
    ("a_thread_a_device", 2, 2),
    ("one_thread_with_groups", 2, 2),
    ("group_of_collectives", 4, 1),
];
/// Rounds of each scenario.
const ROUNDS: u64 = 5;

/// Function, and the elements of 4 bytes of one call.
fn calls(way: &str) -> &'static [(&'static str, u64)] {
    match way {
        "group_of_collectives" => &[("AllReduce", 1024), ("Broadcast", 512), ("AllGather", 256)],
        _ => &[("AllReduce", 1024)],
    }
}

/// Count, bytes and operations timed by the GPU, by rank and function.
type Figures = BTreeMap<(u64, String), [u64; 3]>;

fn figures(summary: &Value) -> Figures {
    let row = |row: &Value| {
        let key = (row["rank"].as_u64().unwrap(), row["func"].as_str().unwrap().to_owned());
        (key, ["count", "bytes", "gpu_timed"].map(|field| row[field].as_u64().unwrap()))
    };
    let rows = summary["operations"].as_array().unwrap();
    let figures: Figures = rows.iter().map(row).collect();
    assert_eq!(figures.len(), rows.len(), "two rows of a rank and function");
    figures
}

/// What these ranks must have.
fn expected(way: &str, ranks: impl Iterator<Item = u32> + Clone, gpu_timed: bool) -> Figures {
    let of = |rank: u32| {
        calls(way).iter().map(move |&(function, count)| {
            let key = (u64::from(rank), function.to_owned());
            (key, [ROUNDS, ROUNDS * 4 * count, ROUNDS * u64::from(gpu_timed)])
        })
    };
    ranks.flat_map(of).collect()
}

/// The ranks of the only communicator, with the process of each, in the order of ranks.
fn members(summary: &Value) -> Vec<(u64, u64)> {
    let [communicator] = summary["communicators"].as_array().unwrap().as_slice() else { return Vec::new() };
    assert_eq!(communicator["nranks"], 4);
    let number = |rank: &Value, field: &str| rank[field].as_u64().unwrap();
    let ranks = communicator["ranks"].as_array().unwrap().iter();
    let mut members: Vec<_> = ranks.map(|rank| (number(rank, "rank"), number(rank, "process"))).collect();
    members.sort_unstable();
    members
}

#[test]
fn each_rank_of_a_process_has_its_own_figures_in_every_version() {
    for (way, processes, devices) in WAYS {
        for version in host::VERSIONS {
            for process in 0..processes {
                let run = host::play(way, version, &[], process);
                run.check();
                let ranks = process * devices..(process + 1) * devices;
                // from v4 on there are GPU times; up to v3 a communicator is known by its operations, without its size
                let timed = version >= 4;
                assert_eq!(figures(&run.summaries[0]), expected(way, ranks.clone(), timed), "{}", run.what);
                if timed {
                    let here: Vec<_> = ranks.map(|rank| (u64::from(rank), 0)).collect();
                    assert_eq!(members(&run.summaries[0]), here, "{}", run.what);
                }
            }
        }
    }
}

/// Records all processes of a way, in directories of their own, with their summaries beside these.
fn recorded(way: &str, processes: u32) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for process in 0..processes {
        let recording = directory.path().join(format!("recording.{process}"));
        let run = host::play(way, 7, &[("NCCL_SCOREP_RECORD", recording.to_str().unwrap())], process);
        run.check();
        let summary = directory.path().join(format!("summary.{process}.json"));
        std::fs::write(summary, run.summaries[0].to_string()).unwrap();
    }
    directory
}

/// The threads that called NCCL's functions, by rank, in a recording.
fn callers(recording: &Path) -> BTreeMap<u64, Vec<u64>> {
    let file = recording.read_dir().unwrap().next().unwrap().unwrap().path();
    let text = tool::succeed(Command::new("zcat").arg(file));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ranks: BTreeMap<u64, u64> = lines
        .iter()
        .filter(|line| line["cb"] == "init")
        .map(|line| (line["ctx"].as_u64().unwrap(), line["rank"].as_u64().unwrap()))
        .collect();
    let mut callers: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for line in lines.iter().filter(|line| line["type"] == "CollApi") {
        let threads = callers.entry(ranks[&line["ctx"].as_u64().unwrap()]).or_default();
        threads.push(line["tid"].as_u64().unwrap());
        threads.sort_unstable();
        threads.dedup();
    }
    callers
}

/// The processes of a job are put together by their communicator, also those of several ranks.
#[test]
fn the_processes_of_a_way_are_one_job_of_four_ranks() {
    for (way, processes, devices) in WAYS {
        let directory = recorded(way, processes);
        let recordings = || (0..processes).map(|process| directory.path().join(format!("recording.{process}")));
        let summary = tool::summary(tool::tool().args(["replay", "--format", "json"]).args(recordings()));
        assert_eq!(figures(&summary), expected(way, 0..4, true), "{way}");
        let there: Vec<_> = (0..4).map(|rank| (u64::from(rank), u64::from(rank / devices))).collect();
        assert_eq!(members(&summary), there, "{way}");
        assert_eq!(summary["jobs"].as_array().unwrap().len(), 1, "{way}");
        let report = tool::succeed(tool::tool().arg("report").args(recordings()).args(["--part", "complete"]));
        assert!(report.contains("all 4 ranks are here"), "{way}: {report}");

        // a recording says which thread called: one for all ranks of a process, or one for each
        for recording in recordings() {
            let callers = callers(&recording);
            assert_eq!(callers.len() as u32, devices, "{way}");
            let mut threads: Vec<u64> = callers.values().flatten().copied().collect();
            assert_eq!(threads.len() as u32, devices, "{way}: a rank is called by one thread");
            threads.sort_unstable();
            threads.dedup();
            assert_eq!(threads.len() as u32, if way == "a_thread_a_device" { devices } else { 1 }, "{way}");
        }
    }
}

/// What tests/gpu/ways.py says of a directory.
fn checked(directory: &Path) -> (bool, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gpu/ways.py");
    let output = Command::new("python3").arg("-B").arg(script).arg(directory).output().unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    (output.status.success(), said)
}

/// The script for GPUs finds these runs right, and each fault that is planted in what the program says it did.
#[test]
fn the_check_for_gpus_accepts_what_is_right_and_nothing_else() {
    if Command::new("python3").arg("--version").output().is_err() {
        return tool::skip("no python3");
    }
    for (way, processes, devices) in WAYS {
        let directory = recorded(way, processes);
        let kind = match way {
            "a_thread_a_device" => "threads",
            "group_of_collectives" => "together",
            _ => "group",
        };
        let round: Vec<_> =
            calls(way).iter().map(|(function, count)| serde_json::json!([function, 4 * count])).collect();
        let did = |process: u32| {
            serde_json::json!({"way": kind, "process": process, "first_rank": process * devices, "devices": devices,
                "ranks": 4, "rounds": ROUNDS, "round": round})
        };
        let write = |process: u32, did: &Value| {
            std::fs::write(directory.path().join(format!("did.{process}.json")), did.to_string()).unwrap();
        };
        (0..processes).for_each(|process| write(process, &did(process)));
        let (is_right, said) = checked(directory.path());
        assert!(is_right && said.contains("gpu_timed 20") == (way != "group_of_collectives"), "{way}: {said}");

        let faults = [
            ("way", "threads"),
            ("way", "group"),
            ("rounds", "4"),
            ("first_rank", "1"),
            ("ranks", "8"),
            ("devices", "3"),
        ];
        for (field, value) in faults {
            let mut wrong = did(0);
            wrong[field] = value.parse::<u64>().map_or_else(|_| value.into(), Value::from);
            // one thread is also what a device has in a process of its own
            if wrong[field] == did(0)[field] || (field == "way" && devices == 1) {
                continue;
            }
            write(0, &wrong);
            let (is_right, said) = checked(directory.path());
            assert!(!is_right && said.contains("process"), "{way}: {field} {value}: {said}");
        }
        let mut fewer = did(0);
        fewer["round"][0][1] = 4.into();
        write(0, &fewer);
        assert!(!checked(directory.path()).0, "{way}: bytes");
        std::fs::remove_file(directory.path().join("did.0.json")).unwrap();
        assert!(!checked(directory.path()).0, "{way}: a process is missing");
    }
}
