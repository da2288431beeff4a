//! Bad input gives a clear error with file and line, exit status 1, and no half-written output.

use crate::support::tool;

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const META: &str = r#"{"cb":"meta","format":1,"api":5,"mask":4095,"pid":7,"real0":0,"mono0":0,"dropped":0}"#;
const INIT: &str = r#"{"t":1,"tid":1,"cb":"init","ctx":1,"comm":"ab","name":"","nnodes":1,"nranks":2,"rank":0}"#;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn capture(directory: &TempDir, lines: &[&str]) -> PathBuf {
    let path = directory.path().join("odd.r0.jsonl.gz");
    fs::write(&path, gzip((lines.join("\n") + "\n").as_bytes())).unwrap();
    path
}

/// Replays a source that must be refused, and returns the error message.
fn refused(directory: &TempDir, source: &Path) -> String {
    let (summary, archive) = (directory.path().join("summary.json"), directory.path().join("archive"));
    let mut command = tool::tool();
    command.arg("replay").arg(source).arg("--summary").arg(&summary).arg("--otf2").arg(&archive);
    let output = command.output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(output.stdout.is_empty());
    let left: Vec<_> = directory.path().read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.iter().all(|path| path == source || source.starts_with(path)), "left behind: {left:?}");
    message
}

/// Checks that the message names the file, the line and the problem.
fn says(message: &str, path: &Path, line: usize, trouble: &str) {
    let place = format!("{}:{line}:", path.display());
    assert!(message.contains(&place) && message.contains(trouble), "wanted {place} {trouble}, got {message}");
}

#[test]
fn what_a_host_would_never_do_is_refused_with_its_line() {
    let cases = [
        (r#"{"t":2,"tid":1,"cb":"start","ctx":1,"h":1,"type":"Nonsense","parent":0,"rank":0}"#, "Nonsense"),
        (r#"{"t":2,"tid":1,"cb":"stop","h":9}"#, "9"),
        (r#"{"t":2,"tid":1,"cb":"state","h":9,"state":9}"#, "9"),
        (r#"{"t":2,"tid":1,"cb":"start","ctx":5,"h":1,"type":"Group","parent":0,"rank":0}"#, "5"),
        (r#"{"t":2,"tid":1,"cb":"start","ctx":1,"h":1,"type":"ProxyCtrl","parent":3,"rank":0}"#, "3"),
        (r#"{"t":2,"tid":1,"cb":"dance","h":1}"#, "dance"),
        (r#"{"t":2,"tid":1,"cb":"st"#, ""),
    ];
    for (line, trouble) in cases {
        let directory = tempfile::tempdir().unwrap();
        let path = capture(&directory, &[META, INIT, line]);
        says(&refused(&directory, &path), &path, 3, trouble);
    }
}

#[test]
fn states_of_a_newer_nccl_pass_and_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let start = r#"{"t":2,"tid":1,"cb":"start","ctx":1,"h":1,"type":"ProxyCtrl","parent":0,"rank":0}"#;
    let lines =
        [META, INIT, start, r#"{"t":2,"tid":1,"cb":"state","h":1,"state":99}"#, r#"{"t":3,"tid":1,"cb":"stop","h":1}"#];
    let path = capture(&directory, &lines);
    let summary = tool::summary(tool::tool().arg("replay").arg(&path).args(["--format", "json"]));
    assert_eq!(summary["processes"][0]["callbacks"], 4);
}

#[test]
fn more_threads_than_anybody_has_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let groups = (1..=4200).map(|tid| {
        let start =
            format!(r#"{{"t":2,"tid":{tid},"cb":"start","ctx":1,"h":{tid},"type":"Group","parent":0,"rank":0}}"#);
        start + &format!("\n{{\"t\":3,\"tid\":{tid},\"cb\":\"stop\",\"h\":{tid}}}")
    });
    let lines: Vec<String> = [META.to_owned(), INIT.to_owned()].into_iter().chain(groups).collect();
    let path = capture(&directory, &lines.iter().map(String::as_str).collect::<Vec<_>>());
    let message = refused(&directory, &path);
    // after two lines, and a start and a stop of each thread
    says(&message, &path, 2 + 2 * 4096 + 1, "more than 4096 threads call");
}

#[test]
fn another_format_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = capture(&directory, &[&META.replace(r#""format":1"#, r#""format":2"#), INIT]);
    says(&refused(&directory, &path), &path, 1, "format 2");
}

#[test]
fn a_truncated_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let whole = fs::read(tool::run("nodes2x1_comms").join("comms.r0.jsonl.gz")).unwrap();
    let path = directory.path().join("cut.r0.jsonl.gz");
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let message = refused(&directory, &path);
    assert!(message.contains(&format!("{}:", path.display())), "{message}");
}

#[test]
fn what_is_not_gzip_or_empty_is_refused() {
    for bytes in [&b"{\"cb\":\"meta\"}\n"[..], b"", &gzip(b"")] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("odd.r0.jsonl.gz");
        fs::write(&path, bytes).unwrap();
        let message = refused(&directory, &path);
        assert!(message.contains(&format!("{}:1:", path.display())), "{message}");
    }
}

#[test]
fn places_without_captures_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let inside = directory.path().join("inside");
    fs::create_dir(&inside).unwrap();
    for path in [inside.clone(), inside.join("missing.jsonl.gz")] {
        let message = refused(&directory, &path);
        assert!(message.contains(&path.display().to_string()), "{message}");
    }
}

#[test]
fn every_bad_capture_is_named_and_the_good_ones_are_replayed() {
    let directory = tempfile::tempdir().unwrap();
    let inside = directory.path().join("run");
    fs::create_dir(&inside).unwrap();
    let good = tool::run("nodes2x1_comms");
    for capture in tool::captures(&good) {
        fs::copy(&capture, inside.join(capture.file_name().unwrap())).unwrap();
    }
    // between the good files, and after them
    let bad = [inside.join("comms.r0a.jsonl.gz"), inside.join("comms.r2.jsonl.gz")];
    for path in &bad {
        fs::write(path, gzip(format!("{META}\n{INIT}\nnonsense\n").as_bytes())).unwrap();
    }
    let (missing, summary) = (directory.path().join("missing.jsonl.gz"), directory.path().join("summary.json"));
    let replay = |more: &[&str]| {
        let mut command = tool::tool();
        command.arg("replay").args([&inside, &missing]).args(more).arg("--summary").arg(&summary);
        let output = command.output().unwrap();
        let [printed, said] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(output.status.code(), Some(1), "{said}");
        bad.iter().for_each(|path| says(&said, path, 3, ""));
        assert!(said.contains(&missing.display().to_string()), "{said}");
        assert!(said.ends_with("scorep-nccl: 3 of 5 recordings were not replayed, as said above\n"), "{said}");
        printed
    };
    let tables = replay(&[]);
    assert!(
        tables.starts_with("2 of 5 recordings: the others are left out, since they could not be replayed\n"),
        "{tables}"
    );
    let whole = tool::summary(tool::tool().arg("replay").arg(&good).args(["--format", "json"]));
    let mut found: serde_json::Value = serde_json::from_slice(&fs::read(&summary).unwrap()).unwrap();
    let notes = found.as_object_mut().unwrap().remove("notes").unwrap();
    assert_eq!(notes.as_array().unwrap().len(), 3, "{notes}");
    for list in ["communicators", "operations", "transfers"] {
        assert_eq!(found[list], whole[list], "{list}");
    }
    assert_eq!(found["processes"].as_array().unwrap().len(), 2);
    assert!(replay(&["--format", "json"]).starts_with('{'));
}

#[test]
fn outputs_that_cannot_be_written_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "in the way").unwrap();
    let run = tool::run("nodes2x1_comms");
    for (option, place) in [("--summary", file.join("s.json")), ("--otf2", file.join("t")), ("--otf2", file.clone())] {
        let output = tool::tool().arg("replay").arg(&run).arg(option).arg(&place).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains(&place.display().to_string()), "{message}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "in the way");
}

/// Before the work: nothing is replayed, and nothing is made.
#[test]
fn two_outputs_with_one_place_are_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let run = tool::run("nodes2x1_comms");
    for (command, one, other) in [
        ("replay", "--summary", "--otf2"),
        ("report", "--html", "--json"),
        ("report", "--perfetto", "--json"),
        ("report", "--csv", "--html"),
    ] {
        let (place, same) = (directory.path().join("x"), directory.path().join("./x"));
        let output = tool::tool().arg(command).arg(&run).arg(one).arg(&place).arg(other).arg(&same).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && output.stdout.is_empty(), "{command}: {message}");
        assert!(message.contains(one) && message.contains(other) && message.contains("have one place"), "{message}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "{command}");
    }
}

#[test]
fn unknown_event_types_pass_and_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let start = r#"{"t":2,"tid":1,"cb":"start","ctx":1,"h":1,"type":1048576,"parent":0,"rank":0}"#;
    let lines =
        [META, INIT, start, r#"{"t":3,"tid":1,"cb":"state","h":1,"state":22}"#, r#"{"t":3,"tid":1,"cb":"stop","h":1}"#];
    let path = capture(&directory, &lines);
    let summary = tool::summary(tool::tool().arg("replay").arg(&path).args(["--format", "json"]));
    let process = &summary["processes"][0];
    let counts =
        ["callbacks", "events", "unknown_events", "ignored_handles"].map(|field| process[field].as_u64().unwrap());
    assert_eq!(counts, [4, 1, 1, 0]);
}
