//! Tables and traces as other programs read them.

use crate::report::{Place, json, python, report, tagged};
use crate::support::edited::Edited;
use crate::support::tool;
use std::path::Path;
use tempfile::TempDir;

#[test]
fn the_queries_of_the_documentation_give_the_figures_of_the_summary() {
    let Some(python) = python::python() else { return };
    let directory = TempDir::new().unwrap();
    let (run, summary) = (tool::run("nodes2x2_train"), directory.path().join("summary.json"));
    crate::report::table(&run, &directory.path().join("dataset"));
    let replayed = tool::succeed(tool::tool().arg("replay").arg(run).args(["--format", "json"]));
    std::fs::write(&summary, replayed).unwrap();
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/report.md");
    let printed = python::run(&python, "queries.py", [document, directory.path().join("dataset"), summary]);
    // an all-reduce in each of two communicators, sends and receives in each of two
    assert_eq!(printed, "DuckDB: 6 rows\nDask: 6 rows\n");
}

#[test]
fn pandas_and_duckdb_read_the_tables_of_a_report() {
    let Some(python) = python::python() else { return };
    let directory = TempDir::new().unwrap();
    let recordings = directory.path().join("recordings");
    std::fs::create_dir(&recordings).unwrap();
    for tagged in tagged::tagged().iter().map(Edited::path) {
        std::fs::copy(&tagged, recordings.join(tagged.file_name().unwrap())).unwrap();
    }
    let place = Place::make(&recordings, directory.path().join("train"));
    let arguments = ["parquet", "csv", "report.json"].map(|name| place.path(name).display().to_string());
    let operations = json(&place.path("report.json"))["complete"]["operations"].to_string();
    let printed = python::run(&python, "readers.py", arguments.into_iter().chain([operations]));
    // of 4 ranks 192 all-reduces, 24 sends and 24 receives
    assert_eq!(printed, "960 rows\n");
}

/// Exchanges, all-to-alls, operations that share a kernel, a communicator of one rank, and operations without a time.
#[test]
fn perfetto_reads_the_trace_of_a_report() {
    let Some(python) = python::python() else { return };
    let directory = TempDir::new().unwrap();
    for (run, slices) in [("nodes2x2_train", 960), ("truth_moe", 158), ("nvlink4_single", 684), ("nvlink4_ring", 0)] {
        let place = Place::make(&tool::run(run), directory.path().join(run));
        let arguments = [place.path("trace"), place.path("parquet/operations.parquet")];
        assert_eq!(python::run(&python, "slices.py", arguments), format!("{slices} slices\n"), "{run}");
    }
}

/// The report of recordings is that of their tables, except for the inputs.
#[test]
fn recordings_and_their_tables_have_one_report() {
    let directory = TempDir::new().unwrap();
    for run in ["nodes2x2_train", "truth_moe"] {
        let dataset = directory.path().join(run);
        crate::report::table(&tool::run(run), &dataset);
        let [mut of_tables, mut of_recordings] = [dataset, tool::run(run)].map(|input| {
            let text = tool::succeed(report([input]).args(["--json", "-"]));
            serde_json::from_str::<serde_json::Value>(&text).unwrap()
        });
        let inputs = |report: &mut serde_json::Value| report["complete"]["inputs"].take();
        assert_ne!(inputs(&mut of_tables), inputs(&mut of_recordings));
        assert!(of_tables == of_recordings, "{run}");
    }
}
