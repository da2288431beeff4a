//! Inputs that are small and hold much: what the tool keeps of them is bounded.

use crate::report::{report, table};
use crate::support::tool;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// Writes a file of gzip's members: the first one, the second one `times` times, the last one.
fn packed(file: &Path, [first, again, last]: [&str; 3], times: usize) {
    let member = |text: &str| {
        let mut member = GzEncoder::new(Vec::new(), Compression::best());
        member.write_all(text.as_bytes()).unwrap();
        member.finish().unwrap()
    };
    let again = member(again);
    let mut file = File::create(file).unwrap();
    file.write_all(&member(first)).unwrap();
    (0..times).for_each(|_| file.write_all(&again).unwrap());
    file.write_all(&member(last)).unwrap();
}

/// 4 MB for 4 GB of text, in a string, in brackets, or in kernels.
#[test]
fn a_profile_takes_no_memory_beyond_its_bound() {
    let directory = TempDir::new().unwrap();
    let (tables, profile) = (directory.path().join("tables"), directory.path().join("trace.json.gz"));
    table(&tool::run("nvlink2_graph"), &tables);
    let megabyte = |text: &str| text.repeat((1 << 20) / text.len());
    let event = r#"{"cat":"kernel","ts":1,"dur":1},"#;
    let (begin, end) = (r#"{"distributedInfo":{"rank":0},"traceEvents":["#, "{}]}");
    for (parts, times, refusal) in [
        ([r#"{"traceEvents":[{"name":""#, &megabyte("x"), "\"}]}"], 4096, "a string has more than 1 MiB"),
        ([r#"{"a":"#, &megabyte("["), "}"], 4096, "more than 128 brackets are open"),
        ([begin, &megabyte(event), end], 140, "it has more than 4194304 kernels"),
    ] {
        packed(&profile, parts, times);
        assert!(fs::metadata(&profile).unwrap().len() < 6 << 20);
        let mut command = report([&tables]);
        command.arg("--kernels").arg(&profile);
        let ended = crate::support::bounded::ended(&command, directory.path(), Duration::from_secs(60));
        assert_eq!((ended.code, ended.fault()), (Some(1), None), "{refusal}");
        assert!(ended.said.contains("trace.json.gz") && ended.said.contains(refusal), "{}", ended.said);
    }
}

/// A device has no end.
#[test]
fn files_of_facts_have_an_end() {
    let directory = TempDir::new().unwrap();
    let summary = directory.path().join("0.json");
    let capture = &tool::captures(&tool::run("nvlink2_graph"))[0];
    tool::succeed(tool::tool().arg("replay").arg(capture).arg("--summary").arg(&summary));
    for option in ["--steps", "--dimensions", "--link-gbps", "--baseline"] {
        let mut command = report([&summary]);
        command.arg(option).arg("/dev/zero");
        let ended = crate::support::bounded::ended(&command, directory.path(), Duration::from_secs(60));
        assert_eq!((ended.code, ended.fault()), (Some(1), None), "{option}");
        assert!(ended.said.contains("/dev/zero: it has more than"), "{option}: {}", ended.said);
    }
}
