//! Jobs without MPI, as torchrun starts them: each process leaves a summary, or an experiment of Score-P, and the report
//! of all compares them. In tests/c/score_p/apart.h, the clocks of two nodes of four ranks began years apart and drift,
//! and rank 5 begins every tenth collective of all ranks 3 ms late.

use crate::support::{job, tool};

use common::arrivals::{Arrival, Arrivals, KnownTime};
use job::{Job, Plan, plan};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The communicator of all ranks, and those of the ranks of a node.
const WORLD: &str = "000000000000feed";
const NODES: [&str; 2] = ["0000000000beef00", "0000000000beef01"];

/// The rank that is late, and by how much, microseconds.
const LATE: (i64, f64) = (5, 3000.0);

/// Most bytes of the arrivals in a summary: a sixteenth of NCCL_SCOREP_GATHER_KB.
const MOST_BYTES: usize = 64 << 10;

/// Plays a job of this many collectives of all ranks. Returns it with the summaries of its processes.
fn played(scenario: &str, count: i64, settings: &[(&str, &str)]) -> (TempDir, Vec<PathBuf>, Job) {
    let directory = tempfile::tempdir().unwrap();
    let pattern = directory.path().join("all.%r.json");
    let plan = plan(scenario, count).with("NCCL_SCOREP_SUMMARY", pattern.to_str().unwrap());
    let plan = settings.iter().fold(plan, |plan: Plan, (name, value)| plan.with(name, value));
    let job = plan.run();
    let paths = (0..8).map(|rank| directory.path().join(format!("all.{rank}.json"))).collect();
    (directory, paths, job)
}

fn report(inputs: &[PathBuf]) -> Value {
    let mut command = tool::tool();
    command.arg("report").args(inputs).args(["--json", "-"]);
    tool::summary(&mut command)
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn rows(report: &Value) -> &[Value] {
    report["late"]["known"]["lateness"].as_array().map_or(&[], Vec::as_slice)
}

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or_else(|| panic!("no {field} in {row}"))
}

fn notes(report: &Value) -> String {
    report["complete"]["notes"].to_string()
}

/// Returns the communicators and ranks that are late at all.
fn late(report: &Value) -> Vec<(&str, i64)> {
    let late = rows(report).iter().filter(|row| row["last"] != 0 || row["mean_us"].is_number());
    late.map(|row| (row["comm"].as_str().unwrap(), row["rank"].as_i64().unwrap())).collect()
}

/// The arrivals of a summary.
fn arrivals(summary: &Value) -> Arrivals {
    let field = summary["processes"][0]["arrivals"].clone();
    let encoded: common::summary::Arrivals = serde_json::from_value(field).unwrap();
    assert!(encoded.encoded.len() <= MOST_BYTES, "{} bytes", encoded.encoded.len());
    encoded.decode().unwrap()
}

/// Checks the row of the rank that is late, of so many collectives, of which every tenth is late.
fn check_late(row: &Value, operations: f64, late: f64) {
    assert_eq!((number(row, "operations"), number(row, "last")), (operations, late), "{row}");
    let error = number(row, "error_us");
    assert!((0.1..100.0).contains(&error), "{row}");
    // all others begin within 2 us
    let mean = LATE.1 * late / operations;
    assert!((number(row, "mean_us") - mean).abs() <= error + 2.0, "{mean}: {row}");
    assert!((number(row, "p99_us") - LATE.1).abs() <= error + 2.0, "{row}");
}

#[test]
fn who_is_late_is_said_by_the_summaries_alone() {
    let (_directory, paths, _) = played("apart_late", 1000, &[]);
    let report = report(&paths);
    assert_eq!(late(&report), [(WORLD, LATE.0)], "{:#}", report["late"]);
    let row = rows(&report).iter().find(|row| row["comm"] == WORLD && row["rank"] == LATE.0).unwrap();
    check_late(row, 1000.0, 100.0);
    assert_eq!(row["one_in"], 1);
    // the clocks of two nodes, by the collectives alone
    assert_eq!(report["complete"]["nodes"], 2, "{:#}", report["complete"]);
    let said = notes(&report);
    assert!(said.contains("Rank 5 of communicator 000000000000feed was last in 100 of 1000"), "{said}");
    let speed = report["speed"]["known"]["rows"].as_array().unwrap();
    let of_all: BTreeSet<&str> =
        speed.iter().filter(|row| row["busbw"].is_number()).map(|row| row["comm"].as_str().unwrap()).collect();
    assert_eq!(of_all, BTreeSet::from([WORLD, NODES[0], NODES[1]]), "{speed:#?}");
}

/// The plant without its fault: the check above would find it.
#[test]
fn nobody_is_late_where_all_are_in_time() {
    let (_directory, paths, _) = played("apart_even", 1000, &[]);
    let report = report(&paths);
    assert!(late(&report).iter().all(|(comm, rank)| (*comm, *rank) != (WORLD, LATE.0)), "{:#}", report["late"]);
    assert!(rows(&report).iter().all(|row| row["p99_us"].as_f64().unwrap_or_default() < 100.0), "{:#}", report["late"]);
    assert!(rows(&report).iter().any(|row| row["comm"] == WORLD && row["operations"] == 1000));
}

/// The figures of a slow and plain reference, from the arrivals that the summaries have: how much later than the first
/// rank of its node each rank begins.
#[test]
fn long_jobs_keep_a_part_that_all_processes_have() {
    let count = 20_000;
    let (_directory, paths, _) = played("apart_late", count, &[]);
    let summaries: Vec<Value> = paths.iter().map(|path| read(path)).collect();
    // by node, since nodes have clocks of their own: (communicator, number) to each rank's begin
    let mut begins: BTreeMap<(usize, u64, u64), Vec<(i32, Arrival)>> = BTreeMap::new();
    for (process, summary) in summaries.iter().enumerate() {
        for rank in arrivals(summary).ranks {
            for &arrival in &rank.arrivals {
                assert_eq!((arrival.known, arrival.occurrence), (KnownTime::Begin, 0));
                let key = (process / 4, rank.rank.comm, arrival.sequence);
                begins.entry(key).or_default().push((rank.rank.rank, arrival));
            }
        }
    }
    assert!(begins.values().all(|ranks| ranks.len() == 4), "all processes have chosen the same");
    let world: Vec<_> = begins.iter().filter(|((node, comm, _), _)| (*node, *comm) == (1, 0xfeed)).collect();
    let is_late = |ranks: &[(i32, Arrival)]| {
        let first = ranks.iter().map(|(_, arrival)| arrival.time).min().unwrap();
        ranks.iter().any(|&(rank, arrival)| i64::from(rank) == LATE.0 && arrival.time - first > 1_000_000)
    };
    let last = world.iter().filter(|(_, ranks)| is_late(ranks)).count();
    assert!(world.iter().all(|((.., number), ranks)| is_late(ranks) == number.is_multiple_of(10)));
    assert!((1000..=4096).contains(&world.len()), "{}", world.len());
    let report = report(&paths);
    assert_eq!(late(&report), [(WORLD, LATE.0)], "{:#}", report["late"]);
    let row = rows(&report).iter().find(|row| row["comm"] == WORLD && row["rank"] == LATE.0).unwrap();
    check_late(row, world.len() as f64, last as f64);
    assert!(number(row, "one_in") >= 8.0 && notes(&report).contains("one collective in"), "{row}");
    // the communicators with few collectives keep more of them
    let of_node = rows(&report).iter().find(|row| row["comm"] == NODES[0]).unwrap();
    assert!(number(of_node, "one_in") <= 4.0, "{of_node}");
}

#[test]
fn without_room_there_are_no_arrivals() {
    let (_directory, paths, _) = played("apart_late", 100, &[("NCCL_SCOREP_GATHER_KB", "0")]);
    assert!(paths.iter().all(|path| read(path)["processes"][0].get("arrivals").is_none()));
    let report = report(&paths);
    assert!(rows(&report).is_empty() && report["late"].to_string().contains("no GPU-timed collective"));
}

/// The job summary of a report's inputs has the result, and not the arrivals.
#[test]
fn experiments_of_score_p_without_mpi_are_one_job() {
    let job = plan("apart_late", 1000).with_substrate().run();
    let place = |rank: usize| job.path("").parent().unwrap().join(format!("experiment.rank{rank}"));
    let directories: Vec<PathBuf> = (0..8).map(place).collect();
    let summary = read(&directories[3].join("nccl/summary.json"));
    assert_eq!(arrivals(&summary).ranks.len(), 2);
    let report = report(&directories);
    assert_eq!(late(&report), [(WORLD, LATE.0)], "{:#}", report["late"]);
    let row = rows(&report).iter().find(|row| row["comm"] == WORLD && row["rank"] == LATE.0).unwrap();
    check_late(row, 1000.0, 100.0);
    let said = notes(&report);
    assert!(said.contains("The experiments of Score-P have no trace") && !said.contains("of one process"), "{said}");
    assert_eq!(report["complete"]["inputs"].as_array().unwrap().len(), 8);
}
