//! Summaries of a run beside that of a replay: counts and bytes must agree exactly.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::tool;

/// Rows by what identifies them, with two numbers each.
type Rows = BTreeMap<String, [u64; 2]>;

/// What a replay says of captures.
pub(crate) fn replay(captures: &[PathBuf]) -> Value {
    tool::summary(tool::tool().arg("replay").args(captures).args(["--format", "json"]))
}

fn rows(summaries: &[Value], section: &str, key: &[&str], numbers: [&str; 2]) -> Rows {
    let mut rows = Rows::new();
    for row in summaries.iter().flat_map(|summary| summary[section].as_array().into_iter().flatten()) {
        let name: Vec<String> = key.iter().map(|&field| row[field].to_string()).collect();
        let sums = rows.entry(format!("{section} {}", name.join(" "))).or_default();
        for (sum, field) in sums.iter_mut().zip(numbers) {
            *sum += row[field].as_u64().unwrap_or(0);
        }
    }
    rows
}

fn all_rows(summaries: &[Value]) -> Rows {
    let mut all = rows(summaries, "operations", &["comm", "rank", "kind", "func", "peer"], ["count", "bytes"]);
    all.extend(rows(summaries, "transfers", &["comm", "rank", "peer"], ["transfers", "bytes"]));
    all
}

/// Communicators with the ranks that are there.
fn membership(summaries: &[Value]) -> BTreeSet<(String, i64)> {
    let communicators = summaries.iter().flat_map(|summary| summary["communicators"].as_array().into_iter().flatten());
    let ranks = communicators.flat_map(|communicator| {
        let ranks = communicator["ranks"].as_array().into_iter().flatten();
        ranks.map(|rank| (communicator["comm"].to_string(), rank["rank"].as_i64().unwrap_or(-1)))
    });
    ranks.collect()
}

/// Where summaries of some or all processes of a run differ from the replay's.
pub(crate) fn differences(found: &[Value], replayed: &Value) -> Vec<String> {
    let replayed = std::slice::from_ref(replayed);
    let (found_rows, wanted_rows) = (all_rows(found), all_rows(replayed));
    let names: BTreeSet<&String> = found_rows.keys().chain(wanted_rows.keys()).collect();
    let differ = names.into_iter().filter(|name| found_rows.get(*name) != wanted_rows.get(*name));
    let mut wrong: Vec<String> = differ
        .map(|name| format!("{name}: {:?} instead of {:?}", found_rows.get(name), wanted_rows.get(name)))
        .collect();
    let (members, wanted) = (membership(found), membership(replayed));
    if members != wanted {
        wrong.push(format!("communicators {members:?} instead of {wanted:?}"));
    }
    for process in found.iter().flat_map(|summary| summary["processes"].as_array().into_iter().flatten()) {
        for field in ["dropped", "ignored_handles", "unknown_events"] {
            if process[field] != 0 {
                wrong.push(format!("{field} is {}", process[field]));
            }
        }
    }
    wrong
}

/// What is wrong with the job's summary in an experiment's directory.
pub(crate) fn wrong_of_job(experiment: &Path, processes: usize, replayed: &Value) -> Vec<String> {
    let read = |name: &str| std::fs::read_to_string(experiment.join(name)).map_err(|error| format!("{name}: {error}"));
    let checked = || -> Result<Vec<String>, String> {
        let summary: Value =
            serde_json::from_str(&read("nccl/summary.json")?).map_err(|error| format!("summary.json: {error}"))?;
        let mut wrong = differences(std::slice::from_ref(&summary), replayed);
        let there = summary["processes"].as_array().map_or(0, Vec::len);
        if there != processes || summary["schema"] != "scorep-nccl-summary-1" {
            wrong.push(format!("{there} processes instead of {processes}, schema {}", summary["schema"]));
        }
        wrong.extend(
            [("clocks", true), ("lateness", processes > 1)]
                .iter()
                .filter(|&&(field, wanted)| wanted && summary.get(field).is_none())
                .map(|(field, _)| format!("no {field}")),
        );
        let func = summary["operations"][0]["func"].as_str().unwrap_or("AllReduce");
        if !read("nccl/summary.txt")?.contains(func) {
            wrong.push(format!("summary.txt does not tell of {func}"));
        }
        if !read("MANIFEST.md")?.contains("nccl/summary.json") {
            wrong.push("MANIFEST.md does not tell of the summary".to_owned());
        }
        Ok(wrong)
    };
    checked().unwrap_or_else(|error| vec![error])
}

/// Operations of each communicator and rank at the GPU's time.
pub(crate) fn gpu_timed(summaries: &[Value]) -> BTreeMap<(String, i64), usize> {
    let mut timed: BTreeMap<(String, i64), usize> = BTreeMap::new();
    for row in summaries.iter().flat_map(|summary| summary["operations"].as_array().into_iter().flatten()) {
        let key = (row["comm"].as_str().unwrap_or_default().to_owned(), row["rank"].as_i64().unwrap_or(-1));
        *timed.entry(key).or_default() += row["gpu_timed"].as_u64().unwrap_or(0) as usize;
    }
    timed
}

/// Bytes sent from rank to peer, by communicator.
pub(crate) fn transfers(summary: &Value) -> BTreeMap<(String, i64, i64), u64> {
    let rows = summary["transfers"].as_array().into_iter().flatten();
    let number = |row: &Value, field: &str| row[field].as_i64().unwrap_or(-1);
    rows.map(|row| {
        let comm = row["comm"].as_str().unwrap_or_default().to_owned();
        ((comm, number(row, "rank"), number(row, "peer")), row["bytes"].as_u64().unwrap_or(0))
    })
    .collect()
}
