//! Inputs that are damaged, twice there, of two jobs, or none.

use crate::report::{json, ran, report};
use crate::support::tool;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Copies the recordings of a run.
fn copied(run: &str, to: &Path) -> Vec<PathBuf> {
    for capture in tool::captures(&tool::run(run)) {
        fs::copy(&capture, to.join(capture.file_name().unwrap())).unwrap();
    }
    tool::captures(to)
}

fn inputs(report: &Value) -> &[Value] {
    report["complete"]["inputs"].as_array().unwrap()
}

#[test]
fn a_recording_that_is_cut_off_is_named_and_left_out() {
    let (directory, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let captures = copied("nodes2x2_graph", directory.path());
    let whole = fs::read(&captures[2]).unwrap();
    fs::write(&captures[2], &whole[..whole.len() / 2]).unwrap();
    let place = out.path().join("report.json");
    let (status, printed, said) = ran(report([directory.path()]).arg("--json").arg(&place));
    assert_eq!(status, Some(1), "{said}");
    assert!(printed.starts_with("Not complete: 3 of 4 ranks are here"), "{printed}");
    let lines: Vec<&str> = said.lines().collect();
    let [problem, last] = lines[..] else { panic!("{said}") };
    assert!(problem.starts_with(&format!("scorep-nccl: {}, line ", captures[2].display())), "{said}");
    assert!(problem.contains("the gzip data ends too early"), "{said}");
    assert_eq!(last, "scorep-nccl: 1 of 4 inputs are not in the report, as said above");
    let report = json(&place);
    let bad: Vec<&Value> = inputs(&report).iter().filter(|input| input["problem"].is_string()).collect();
    let [bad] = bad[..] else { panic!("{:?}", inputs(&report)) };
    assert_eq!((bad["path"].as_str(), bad["kind"].as_str()), (captures[2].to_str(), Some("recording")));
    assert_eq!(bad["problem"].as_str(), problem.strip_prefix("scorep-nccl: "));
    // each input once
    assert_eq!(inputs(&report).len(), 4);
    assert_eq!(report["complete"]["unmatched"], 23);
}

#[test]
fn recordings_of_one_process_are_refused() {
    let directory = TempDir::new().unwrap();
    let run = tool::run("nvlink4_ring");
    let copy = directory.path().join("copy.jsonl.gz");
    fs::copy(&tool::captures(&run)[0], &copy).unwrap();
    for twice in [&copy, &run] {
        let (status, printed, said) = ran(&mut report([&run, twice]));
        assert_eq!((status, printed.as_str()), (Some(1), ""));
        assert!(said.contains("are recordings of one process") && said.contains("Leave one of them out"), "{said}");
    }
}

#[test]
fn a_second_table_of_a_process_is_left_out() {
    let directory = TempDir::new().unwrap();
    let dataset = directory.path().join("dataset");
    crate::report::table(&tool::run("nvlink2_graph"), &dataset);
    let one = tool::captures(&dataset)[0].join("operations.parquet");
    let (status, printed, said) = ran(report([&dataset, &one]).args(["--json", "-"]));
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("its operations would count twice, so this file is left out"), "{said}");
    let report: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((report["complete"]["operations"].as_u64(), report["gpus"].as_array().unwrap().len()), (Some(46), 2));
}

/// The header of its first dictionary asks for memory for two billion values.
#[test]
fn a_table_that_takes_all_memory_is_named_and_left_out() {
    let directory = TempDir::new().unwrap();
    let dataset = directory.path().join("dataset");
    crate::report::table(&tool::run("nvlink2_graph"), &dataset);
    let damaged = tool::captures(&dataset)[0].join("operations.parquet");
    let mut bytes = fs::read(&damaged).unwrap();
    // Thrift: the header's part for dictionaries, with their number in a byte, in the plain encoding
    let is_dictionary = |it: &[u8]| matches!(it, [0x4c, 0x15, 0..0x80, 0x15, 0]);
    let place = bytes.windows(5).position(is_dictionary).unwrap() + 2;
    bytes.splice(place..=place, [0xfe, 0xff, 0xff, 0xff, 0x0f]);
    fs::write(&damaged, bytes).unwrap();
    let (status, printed, said) = ran(&mut report([&dataset]));
    assert_eq!(status, Some(1), "{said}");
    assert!(printed.starts_with("Not complete: 1 of 2 ranks is here"), "{printed}");
    let lines: Vec<&str> = said.lines().collect();
    let [problem, last] = lines[..] else { panic!("{said}") };
    let expected = format!("scorep-nccl: {}: the process that reads it has ended by signal 6: ", damaged.display());
    assert!(problem.starts_with(&expected), "{said}");
    assert_eq!(last, "scorep-nccl: 1 of 1 inputs are not in the report, as said above");
}

#[test]
fn recordings_of_two_jobs_are_refused_and_each_has_a_report() {
    let runs = ["nvlink2_graph", "nodes2x2_graph"].map(tool::run);
    let (status, printed, said) = ran(&mut report(&runs));
    assert_eq!((status, printed.as_str()), (Some(1), ""));
    assert!(said.contains("the inputs are of 2 jobs") && said.contains("--job 2: "), "{said}");
    let of = |job: &str| -> Value {
        serde_json::from_str(&tool::succeed(report(&runs).args(["--json", "-", "--job", job]))).unwrap()
    };
    let jobs = ["1", "2"].map(of);
    let sum = |field: &str| jobs.iter().map(|job| job["complete"][field].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("matched"), sum("unmatched")), (46, 0));
    let sizes = jobs.each_ref().map(|job| job["gpus"].as_array().unwrap().len());
    assert_eq!(sizes.iter().sum::<usize>(), 6);
    assert!(jobs.iter().all(|job| job["complete"]["notes"].to_string().contains("The inputs are of 2 jobs")));
    assert!(jobs.iter().all(|job| inputs(job).len() < 6));
}

#[test]
fn a_directory_without_inputs_is_named() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("other.json"), "{}").unwrap();
    let path = directory.path().to_path_buf();
    let expected = format!("scorep-nccl: {}: there is no recording", path.display());
    let (status, printed, said) = ran(&mut report([&path]));
    assert_eq!((status, printed.as_str()), (Some(1), ""));
    assert!(said.starts_with(&expected) && said.lines().count() == 1, "{said}");
    // beside good ones it is left out
    let (status, printed, said) = ran(report([&path, &tool::run("nvlink2_graph")]).args(["--json", "-"]));
    assert_eq!(status, Some(1));
    assert!(said.starts_with(&expected) && said.contains("1 of 3 inputs are not in the report"), "{said}");
    let report: Value = serde_json::from_str(&printed).unwrap();
    assert!(inputs(&report)[0]["problem"].as_str().unwrap().contains("there is no recording"));
    assert_eq!(inputs(&report).len(), 3);
}
