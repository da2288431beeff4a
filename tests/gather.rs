//! Data that the processes of a job gather by Score-P's own functions: the summary of all ranks and the lateness of
//! each rank, and what is left of them where the gathering fails. In tests/c/score_p/gather.h, the clocks of two nodes
//! began years apart and drift, and rank 2 begins 3 ms late.

use crate::support::job;

use job::{Job, Plan, plan};
use serde_json::Value;
use std::collections::BTreeSet;

/// The job's communicators: all four ranks, the even ranks, the odd ranks.
const WORLD: &str = "000000000000feed";
const EVEN: &str = "000000000000d00d";
const ODD: &str = "000000000000beef";

fn gather(scenario: &str, number: i64) -> Plan {
    plan(scenario, number).with_substrate()
}

fn rows<'a>(summary: &'a Value, list: &str) -> &'a Vec<Value> {
    summary[list].as_array().unwrap_or_else(|| panic!("no {list} in {summary}"))
}

/// Returns the communicator and the rank of a row.
fn place(row: &Value) -> (String, i64) {
    (row["comm"].as_str().unwrap().to_owned(), row["rank"].as_i64().unwrap())
}

/// Returns all numbers whose name contains `error`, microseconds.
fn errors(value: &Value) -> Vec<f64> {
    match value {
        Value::Object(fields) => {
            let own = fields.iter().filter(|(name, _)| name.contains("error")).filter_map(|(_, value)| value.as_f64());
            own.chain(fields.values().flat_map(errors)).collect()
        }
        Value::Array(values) => values.iter().flat_map(errors).collect(),
        _ => vec![],
    }
}

/// Checks that the summary has each rank's operations once: 200 in each of two communicators.
fn check_operations(summary: &Value, ranks: &[i64]) {
    let counts = rows(summary, "operations").iter();
    let found: BTreeSet<_> = counts
        .map(|row| (place(row), row["count"].as_u64(), row["gpu_timed"].as_u64(), row["bytes"].as_u64()))
        .collect();
    let row = |comm: &str, rank, bytes: u64| ((comm.to_owned(), rank), Some(200), Some(200), Some(200 * bytes));
    let expected = ranks.iter().flat_map(|&rank| {
        let half = if rank % 2 == 0 { EVEN } else { ODD };
        [row(WORLD, rank, 40_000), row(half, rank / 2, 80_000)]
    });
    assert_eq!(found, expected.collect());
}

/// Returns the ranks that begin later than the uncertainty; the summary has no list where there is nothing to compare.
fn lateness(summary: &Value) -> Vec<(String, i64)> {
    let rows = summary["lateness"].as_array().into_iter().flatten();
    rows.filter(|row| row["mean_us"].is_number()).map(place).collect()
}

#[test]
fn the_summary_has_all_ranks() {
    let job = gather("gather_all", 0).run();
    assert_eq!(job.said(), Vec::<&str>::new());
    assert_eq!(job.files(), ["summary.json", "summary.txt"]);
    let summary = job.json("summary.json");
    assert_eq!(summary["schema"], "scorep-nccl-summary-1");
    let processes: Vec<u64> = rows(&summary, "processes").iter().map(|row| row["process"].as_u64().unwrap()).collect();
    assert_eq!(processes, [0, 1, 2, 3]);
    check_operations(&summary, &[0, 1, 2, 3]);
    // the members are the ranks that processes report
    let members = |row: &Value| {
        let ranks = rows(row, "ranks")
            .iter()
            .map(|place| (place["rank"].as_i64().unwrap(), place["process"].as_u64().unwrap()));
        (row["comm"].as_str().unwrap().to_owned(), ranks.collect::<Vec<_>>())
    };
    let found: Vec<_> = rows(&summary, "communicators").iter().map(members).collect();
    let expected =
        [(ODD, vec![(0, 1), (1, 3)]), (EVEN, vec![(0, 0), (1, 2)]), (WORLD, vec![(0, 0), (1, 1), (2, 2), (3, 3)])];
    assert_eq!(found, expected.map(|(comm, ranks)| (comm.to_owned(), ranks)));
}

#[test]
fn a_rank_that_is_late_is_told_of_and_what_cannot_be_known_is_not() {
    let job = gather("gather_all", 0).run();
    let summary = job.json("summary.json");
    // rank 2 is 3 ms late in WORLD; rank 1 of ODD is 200 ns late, which is below the accuracy of the clocks
    assert_eq!(lateness(&summary), [(WORLD.to_owned(), 2)], "{}", summary["lateness"]);
    let row = rows(&summary, "lateness").iter().find(|row| place(row) == (WORLD.to_owned(), 2)).unwrap();
    // the summary states an error bound, the bound is small enough to be useful, and it holds
    let bounds = errors(&summary);
    assert!(!bounds.is_empty() && bounds.iter().all(|&bound| (0.2..100.0).contains(&bound)), "{bounds:?}");
    for field in ["mean_us", "p99_us"] {
        let late = row[field].as_f64().unwrap();
        assert!((late - 3000.0).abs() <= row["error_us"].as_f64().unwrap(), "{field} {late}");
    }
    let counts = ["last", "resolved", "operations"].map(|field| row[field].as_u64());
    assert_eq!(counts, [Some(200); 3], "{row}");
    assert!(row["estimated_error_us"].as_f64() <= row["error_us"].as_f64(), "{row}");
}

/// The end of the measurement names the ranks that are missing: it must not list 2^31 of them.
#[test]
fn a_number_of_ranks_that_no_machine_has_is_not_known() {
    let job = gather("gather_invented", i32::MAX.into()).run();
    let summary = job.json("summary.json");
    let communicators = rows(&summary, "communicators");
    assert_eq!((communicators.len(), &communicators[0]["nranks"]), (1, &0.into()), "{communicators:?}");
    // the largest one that is believed
    let summary = gather("gather_invented", 1 << 20).run().json("summary.json");
    assert_eq!(rows(&summary, "communicators")[0]["nranks"], 1 << 20);
    let notes = summary["notes"].to_string();
    assert!(notes.contains("these are not here: 1 to 1048575"), "{notes}");
}

/// The bus bytes of an all-reduce are 1.5 times its bytes with four ranks, and equal to its bytes with two.
#[test]
fn the_bus_bandwidth_of_the_job_is_that_of_the_rank_that_waits_for_nobody() {
    let job = gather("gather_all", 0).run();
    let summary = job.json("summary.json");
    let number = |row: &Value, field: &str| row[field].as_f64().unwrap();
    let found = rows(&summary, "bandwidth");
    assert_eq!(
        found.iter().map(|row| row["comm"].as_str().unwrap()).collect::<Vec<_>>(),
        [ODD, EVEN, WORLD],
        "{found:?}"
    );
    for row in found {
        let comm = row["comm"].as_str().unwrap();
        let factor = if comm == WORLD { 1.5 } else { 1.0 };
        let expected = factor * number(row, "bytes") / 1e3 / number(row, "least_us");
        assert!((number(row, "busbw_gb_s") / expected - 1.0).abs() < 1e-9, "{row}");
        // the least time is no longer than any rank's time for its operations
        let of_comm = rows(&summary, "operations").iter().filter(|of| of["comm"] == comm && of["func"] == row["func"]);
        let least = of_comm.map(|of| number(of, "time_us") / number(of, "gpu_timed")).reduce(f64::min).unwrap();
        assert!(number(row, "least_us") / number(row, "operations") <= 1.01 * least + 0.1, "{least}: {row}");
    }
}

#[test]
fn the_table_and_the_manifest_are_for_people() {
    let job = gather("gather_all", 0).run();
    let table = std::fs::read_to_string(job.path("nccl/summary.txt")).unwrap();
    assert!([WORLD, "AllReduce"].iter().all(|text| table.contains(text)), "{table}");
    let manifest = std::fs::read_to_string(job.path("MANIFEST.md")).unwrap();
    assert!(["summary.json", "summary.txt"].iter().all(|name| manifest.contains(name)), "{manifest}");
}

/// Checks that each of these ranks has written its own part with one line about it, and that there is no summary of
/// all.
fn check_parts(job: &Job, ranks: &[usize]) {
    let names: Vec<String> = ranks.iter().map(|rank| format!("summary.{rank}.json")).collect();
    assert_eq!(job.files(), names);
    for (rank, process) in job.processes.iter().enumerate() {
        let lines = usize::from(ranks.contains(&rank));
        assert!(
            process.said.len() == lines && process.said.iter().all(|line| line.contains("summary")),
            "{rank}: {:?}",
            process.said
        );
    }
    for (&rank, name) in ranks.iter().zip(&names) {
        let summary = job.json(name);
        assert_eq!(rows(&summary, "processes").len(), 1);
        check_operations(&summary, &[rank as i64]);
    }
}

#[test]
fn where_one_rank_has_no_plugin_each_writes_its_own_part() {
    check_parts(&gather("gather_missing", 0).run(), &[0, 1, 2]);
}

#[test]
fn where_the_first_rank_has_no_plugin_each_writes_its_own_part() {
    check_parts(&gather("gather_first_missing", 0).run(), &[1, 2, 3]);
}

#[test]
fn gathering_can_be_switched_off() {
    check_parts(&gather("gather_all", 0).with("NCCL_SCOREP_GATHER_KB", "0").run(), &[0, 1, 2, 3]);
}

/// A single process has all the data of its job.
#[test]
fn a_process_alone_writes_its_summary() {
    let job = gather("lanes", 0).run();
    assert_eq!(job.files(), ["summary.json", "summary.txt"]);
    let said = job.said();
    assert!(said.len() <= 1 && said.iter().all(|line| line.contains("summary")), "{said:?}");
    let summary = job.json("summary.json");
    let operations: u64 = rows(&summary, "operations").iter().map(|row| row["count"].as_u64().unwrap()).sum();
    assert_eq!(operations as usize, job.only().operations().len());
}

/// A MiB has room for 18,724 operations of 56 bytes. Further operations are on no lane, and are not compared.
#[test]
fn what_finds_no_room_on_the_timeline_is_said() {
    let job = gather("many", 30_000).with("NCCL_SCOREP_LANE_MB", "1").run();
    let summary = job.json("summary.json");
    let says = |notes: &Value, text: &str| {
        notes.as_array().unwrap().iter().filter(|note| note.as_str().unwrap().starts_with(text)).count()
    };
    let left_out = 30_000 - 18_724;
    assert_eq!(
        says(&summary["processes"][0]["notes"], &format!("{left_out} operations are on no lane, for want of room")),
        1
    );
    assert_eq!(
        says(&summary["notes"], &format!("{left_out} collectives are in no lateness and no bandwidth")),
        1,
        "{summary}"
    );
}

#[test]
fn a_process_without_nccl_says_nothing() {
    let job = gather("nothing", 0).run();
    assert_eq!(job.said(), Vec::<&str>::new());
    for name in job.files().iter().filter(|name| name.ends_with(".json")) {
        assert!(rows(&job.json(name), "operations").is_empty());
    }
}

/// A rank without NCCL is not late.
#[test]
fn a_rank_without_nccl_is_part_of_the_job() {
    let job = gather("gather_idle", 0).run();
    assert_eq!(job.said(), Vec::<&str>::new());
    let summary = job.json("summary.json");
    assert_eq!(rows(&summary, "processes").len(), 3);
    let found: Vec<_> = rows(&summary, "operations").iter().map(|row| (place(row), row["count"].as_u64())).collect();
    assert_eq!(found, [((WORLD.to_owned(), 0), Some(20)), ((WORLD.to_owned(), 1), Some(20))]);
    // the gathering process has no operations, but its clock is the reference
    assert_eq!(lateness(&summary), [(WORLD.to_owned(), 1)]);
    let late = rows(&summary, "lateness")[1]["mean_us"].as_f64().unwrap();
    assert!((late - 3000.0).abs() < 50.0, "{late}");
}

/// A panic of the library on the way to the job summary ends there: the process still makes the steps that others wait
/// for.
#[test]
fn a_fault_lets_nobody_wait() {
    for place in ["gather", "pre_unify", "init_mpp", "write_data", "program_end"] {
        let job = gather("gather_all", 0).with("NCCL_SCOREP_PANIC", place).run();
        for process in &job.processes {
            assert!(process.said.iter().any(|line| line.contains(place)), "{place}: {:?}", process.said);
        }
    }
}

/// The amount of gathered data is bounded; a message names the figures that are left out.
#[test]
fn more_than_may_be_gathered_is_left_out() {
    let much = |communicators| gather("gather_much", communicators).with("SCOREP_TOTAL_MEMORY", "1G");
    let job = much(400).with("NCCL_SCOREP_GATHER_KB", "16").run();
    let summary = job.json("summary.json");
    assert_eq!(rows(&summary, "processes").len(), 4);
    let told = rows(&summary, "processes").iter().any(|row| !rows(row, "notes").is_empty());
    assert!(told || !job.said().is_empty(), "nothing is said of it");
    assert!(rows(&summary, "operations").len() < 4 * 400);

    let job = much(90).run();
    assert_eq!(job.said(), Vec::<&str>::new());
    let operations: u64 =
        rows(&job.json("summary.json"), "operations").iter().map(|row| row["count"].as_u64().unwrap()).sum();
    assert_eq!(operations, 4 * 90 * 5);
}

/// Each process writes its own lanes.
#[test]
fn each_process_has_its_lanes_beside_the_summary() {
    let job = gather("gather_all", 0).run();
    for (rank, process) in job.processes.iter().enumerate() {
        let lanes = process.lanes();
        let half = if rank % 2 == 0 { EVEN } else { ODD };
        let expected = [format!("NCCL {WORLD} rank {rank}"), format!("NCCL {half} rank {}", rank / 2)];
        assert_eq!(lanes.keys().collect::<BTreeSet<_>>(), expected.iter().collect());
        assert!(lanes.values().all(|lane| lane.visits.len() == 200));
    }
}
