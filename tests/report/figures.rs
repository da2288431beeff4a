//! The figures of reports against `reference.py`.

use crate::report::{Place, json, python, ran, report};
use crate::support::edited::Edited;
use crate::support::tool;
use serde_json::{Value, json as value};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Number of compared operations of a line that `figures.py` prints.
fn compared(printed: &str, run: &str) -> u64 {
    let line = printed.lines().find(|line| line.starts_with(&format!("{run}: "))).unwrap();
    line.rsplit(", ").next().unwrap().split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn the_figures_of_all_recorded_runs_are_those_of_the_reference() {
    let Some(python) = python::python() else { return };
    let directory = TempDir::new().unwrap();
    let runs = tool::runs();
    let places: Vec<PathBuf> = runs.iter().map(|(run, path)| Place::make(path, directory.path().join(run)).0).collect();
    let printed = python::run(&python, "figures.py", &places);
    assert_eq!(printed.lines().count(), runs.len(), "{printed}");
    for (run, expected) in [("nodes2x2_train", 480), ("truth_moe", 79), ("truth_ring", 16), ("nvlink4_ring", 0)] {
        assert_eq!(compared(&printed, run), expected, "{printed}");
    }
    // without GPU times there are no waits
    let late = json(&directory.path().join("nvlink4_ring/report.json"))["late"].clone();
    assert!(late["absent"].as_str().unwrap().starts_with("Waits are unknown"), "{late}");
}

/// Copies a run with changed lines into a directory. The change gets the number of the recording.
fn copied(run: &str, to: &Path, change: impl Fn(usize, &mut Value)) -> PathBuf {
    fs::create_dir_all(to).unwrap();
    for (number, capture) in tool::captures(&tool::run(run)).iter().enumerate() {
        let edited = Edited::of(capture, |line| change(number, line));
        fs::copy(edited.path(), to.join(capture.file_name().unwrap())).unwrap();
    }
    to.to_path_buf()
}

/// Moves all times of a line, and the GPU's, to later ones.
fn later(line: &mut Value, by: u64) {
    // state 22 is the end of a kernel, with the GPU's time
    let is_end = line["state"] == value!(22);
    for field in ["t", "ptimer", "arg"] {
        if let Some(time) = line.get(field).and_then(Value::as_u64).filter(|_| field != "arg" || is_end) {
            line[field] = value!(time + by);
        }
    }
}

#[test]
fn the_figures_of_edited_runs_are_those_of_the_reference() {
    let Some(python) = python::python() else { return };
    let directory = TempDir::new().unwrap();
    let recordings = |name: &str| directory.path().join("recordings").join(name);
    let same = |_: usize, _: &mut Value| {};
    // rank 1 of 4 does everything 30 us later
    copied("nodes2x2_train", &recordings("late"), |rank, line| {
        if rank == 1 {
            later(line, 30_000);
        }
    });
    // ranks 2 and 3 are on a machine that has booted an hour earlier
    copied("nodes2x2_train", &recordings("apart"), |rank, line| {
        if rank > 1 && line["cb"] == value!("meta") {
            line["mono0"] = value!(line["mono0"].as_u64().unwrap() + 3_600_000_000_000);
        }
    });
    // three of four ranks
    for run in ["nodes4x1_pipeline", "v230_nodes2x2_graph"] {
        let copy = copied(run, &recordings(run), same);
        fs::remove_file(&tool::captures(&copy)[2]).unwrap();
    }
    // another process claims rank 1
    for run in ["truth_v232_moe", "v232_nodes2x1_collectives"] {
        let copy = copied(run, &recordings(run), same);
        let twin = Edited::of(&tool::captures(&copy)[1], |line| {
            if line["cb"] == value!("meta") {
                line["pid"] = value!(99_999);
            }
        });
        fs::copy(twin.path(), copy.join("twin.r2.jsonl.gz")).unwrap();
    }
    // of rank 1 no kernel is known: its events are of an unknown type
    copied("truth_tree", &recordings("untimed"), |rank, line| {
        if rank == 1 && ["KernelCh", "KernelLaunch"].map(Value::from).contains(&line["type"]) {
            line["type"] = value!(1 << 20);
        }
    });
    let mut places = Vec::new();
    for run in tool::captures(&recordings("")) {
        places.push(Place::make(&run, directory.path().join(run.file_name().unwrap())).0);
    }
    let printed = python::run(&python, "figures.py", &places);
    assert_eq!(printed.lines().count(), 7, "{printed}");
    assert_eq!(["late", "apart"].map(|run| compared(&printed, run)), [480; 2], "{printed}");
    for run in ["truth_v232_moe", "v232_nodes2x1_collectives", "v230_nodes2x2_graph", "untimed"] {
        assert_eq!(compared(&printed, run), 0, "{printed}");
    }

    let of = |run: &str| json(&directory.path().join(run).join("report.json"));
    // of the two ranks of a stage, the late one is the last one at most all-reduces
    let late = of("late");
    let last = |gpu: usize| late["late"]["known"]["ranks"][gpu]["last"].as_u64().unwrap();
    assert!(last(1) > 3 * last(0), "{} and {}", last(0), last(1));
    let apart = &of("apart")["complete"];
    assert!(apart["nodes"] == value!(2) && apart["clock_error_us"].as_f64().unwrap() > 0.0, "{apart}");
    for run in ["truth_v232_moe", "v230_nodes2x2_graph", "untimed"] {
        assert!(of(run)["late"]["absent"].is_string(), "{run}: {}", of(run)["late"]);
    }
    assert_eq!(of("truth_v232_moe")["complete"]["communicators"][0]["repeated"], "1");
    let lacks = &of("v230_nodes2x2_graph")["complete"];
    assert_eq!((&lacks["communicators"][0]["missing"], &lacks["ranks_here"]), (&value!("2"), &value!(3)));
}

/// As NCCL up to 2.26 reports a run: through interface version 3, without GPU times and ranks of communicators.
#[test]
fn what_an_old_interface_lacks_is_absent() {
    let directory = TempDir::new().unwrap();
    let recordings = copied("truth_tree", &directory.path().join("v3"), |_, line| {
        if line["cb"] == value!("meta") {
            line["api"] = value!(3);
        } else if line["cb"] == value!("init") {
            line["comm"] = value!("0000000000000000");
            (line["nnodes"], line["nranks"], line["rank"]) = (value!(0), value!(0), value!(-1));
        }
    });
    let (status, printed, said) = ran(report([recordings]).args(["--json", "-"]));
    assert_eq!(status, Some(0), "{said}");
    let report: Value = serde_json::from_str(&printed).unwrap();
    for part in ["steps", "budget", "phases", "late", "pairs"] {
        assert!(report[part]["absent"].is_string(), "{part}: {}", report[part]);
    }
    let complete = ["operations", "untimed", "matched", "compared"].map(|figure| &report["complete"][figure]);
    assert_eq!(complete, [54, 54, 0, 0].map(Value::from).each_ref());
    for row in report["speed"]["known"]["rows"].as_array().unwrap() {
        assert!(["min_us", "mean_us", "algbw", "busbw", "busbw_mean"].iter().all(|it| row[it].is_null()), "{row}");
    }
}
