//! The origin of figures: recordings and summaries name their process, job and time. Each process counts once, jobs
//! stand apart, and missing ranks are named.

mod jobs;
mod missing;
mod origin;

use crate::support::{edited, tool};
use edited::Edited;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

fn replay(captures: &[&Path], format: &str) -> Command {
    let mut command = tool::tool();
    command.args(["replay", "--format", format]).args(captures);
    command
}

/// Returns the message of a replay that must fail and print nothing.
fn refused(captures: &[&Path]) -> String {
    let output = replay(captures, "table").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && output.stdout.is_empty(), "{said}");
    said
}

fn ranks(run: &str) -> Vec<PathBuf> {
    tool::captures(&tool::run(run))
}

/// Returns a copy of a capture with a changed first line.
fn with_meta(capture: &Path, change: impl Fn(&mut Value)) -> Edited {
    Edited::of(capture, |line| {
        if line["cb"] == "meta" {
            change(line);
        }
    })
}

#[test]
fn a_process_that_is_there_twice_is_refused_by_name() {
    let one = &ranks("nodes2x1_comms")[0];
    let copy = with_meta(one, |_| {});
    for other in [one, &copy.path()] {
        let said = refused(&[one, other]);
        let named = format!("{} and {} are recordings of one process (process ", one.display(), other.display());
        assert!(said.contains(&named), "{said}");
    }
    // the process' own id decides, whatever else the files say
    let numbered = |real0: u64| {
        with_meta(one, move |meta| {
            meta["real0"] = json!(real0);
            meta["process"] = json!({"id": "00112233aabbccdd", "host": "a"});
        })
    };
    let (first, second) = (numbered(1), numbered(2));
    let said = refused(&[&first.path(), &second.path()]);
    assert!(said.contains(" on a, begun 1970-01-01T00:00:00"), "{said}");
}

/// An incomplete copy is a bad recording, and does not count as a second recording of its process.
#[test]
fn a_bad_copy_of_a_good_recording_is_left_out() {
    let all = ranks("nodes2x1_comms");
    let directory = tempfile::tempdir().unwrap();
    let cut = directory.path().join("cut.jsonl.gz");
    let bytes = std::fs::read(&all[0]).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let whole = tool::succeed(&mut replay(&[&all[0], &all[1]], "table"));
    for order in [[&cut, &all[0], &all[1]], [&all[0], &cut, &all[1]]] {
        let output = replay(&order.map(PathBuf::as_path), "table").output().unwrap();
        let (text, said) = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).into();
        assert!(output.status.code() == Some(1) && said.contains(&cut.display().to_string()), "{said}");
        assert!(
            text.starts_with("2 of 3 recordings: the others are left out") && !said.contains("recordings of one"),
            "{said}"
        );
        // the figures are those of the good recordings
        let operations =
            |text: &str| text.lines().filter(|line| line.starts_with('│')).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(operations(&text), operations(&whole));
    }
}

/// The first lines of both files differ, and a rank of a communicator is in both.
#[test]
fn a_rank_that_two_files_have_is_refused_by_name() {
    let one = &ranks("nodes2x1_comms")[1];
    let other = with_meta(one, |meta| meta["real0"] = json!(5));
    let said = refused(&[one, &other.path()]);
    assert!(said.contains("rank 1 of communicator "), "{said}");
    assert!(said.contains(&format!("is in {} and in {}: ", one.display(), other.path().display())), "{said}");
}
