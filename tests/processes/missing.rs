//! Ranks and callbacks that are missing: each table says of how many ranks it is, and a note names the missing ones.

use crate::processes::jobs::{replay_all, two_pairs};
use crate::processes::{ranks, replay, with_meta};
use crate::support::edited::Edited;
use crate::support::tool;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Returns the headings of all tables.
fn heads(text: &str) -> Vec<&str> {
    let words = ["Communicators;", "Operations;", "Transfers over", "Bus bandwidth", "Arrival at"];
    text.lines().filter(|line| words.iter().any(|word| line.starts_with(word))).collect()
}

#[test]
fn every_table_says_of_how_many_ranks_it_is() {
    let all: Vec<PathBuf> = ranks("nodes2x2_collectives");
    let all: Vec<&Path> = all.iter().map(PathBuf::as_path).collect();
    let text = |captures: &[&Path]| tool::succeed(replay(captures, "table").arg("--lateness"));
    let whole = text(&all);
    assert!(heads(&whole).len() >= 4 && heads(&whole).iter().all(|head| head.contains("; 4 of 4 ranks")), "{whole}");
    assert!(!whole.contains("these are not here"), "{whole}");

    let part = text(&[all[0], all[1], all[3]]);
    assert!(heads(&part).len() >= 2, "{part}");
    assert!(heads(&part).iter().all(|head| head.contains("; 3 of 4 ranks of communicator ")), "{part}");
    assert!(part.contains("these are not here: 2\n"), "{part}");
    let summary = tool::summary(&mut replay(&all[..1], "json"));
    assert!(summary["notes"].to_string().contains("these are not here: 1 to 3"), "{}", summary["notes"]);
}

/// A job of 8 ranks, two of which share the largest known communicator.
#[test]
fn ranks_of_the_job_that_no_communicator_tells_of_are_missed() {
    let few = two_pairs([(Some("slurm 9"), [0, 1], 8, 0), (None, [0, 1], 8, 0)]);
    let text = tool::succeed(&mut replay_all(&few[..2], "table"));
    assert!(
        !heads(&text).is_empty() && heads(&text).iter().all(|head| head.contains("; 2 of 8 ranks of the job")),
        "{text}"
    );
    let note = "of the 8 ranks of job slurm 9 these are not here, or have not called NCCL: 2 to 7";
    assert_eq!(tool::summary(&mut replay_all(&few[..2], "json"))["notes"], json!([note]));
    assert!(text.contains(&format!("note: {note}\n")), "{text}");
}

/// Operations are paired by their order, so all of them must be known: a missing operation would shift all later pairs.
#[test]
fn ranks_are_not_compared_where_a_recording_lacks_callbacks() {
    let all: Vec<PathBuf> = ranks("nodes2x2_collectives");
    let lacking: Vec<Edited> = all.iter().map(|path| with_meta(path, |meta| meta["dropped"] = json!(1))).collect();
    let lacking: Vec<PathBuf> = lacking.iter().map(Edited::path).collect();
    let [whole, lacking] = [&all, &lacking].map(|captures| {
        let captures: Vec<&Path> = captures.iter().map(PathBuf::as_path).collect();
        let output = replay(&captures, "json").arg("--lateness").output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    });
    let rows = |summary: &Value| ["lateness", "bandwidth"].map(|list| summary[list].as_array().map_or(0, Vec::len));
    assert!(!rows(&whole).contains(&0) && rows(&lacking) == [0, 0], "{:?} {:?}", rows(&whole), rows(&lacking));
    let said = "this process has no lateness and no bandwidth";
    assert!(lacking["processes"].to_string().contains(said) && !whole.to_string().contains(said), "{lacking}");
}

/// NCCL's first interfaces do not give the number of ranks of a communicator.
#[test]
fn where_nobody_says_how_many_ranks_there_are_that_is_said() {
    let one = ranks("nodes2x1_comms");
    let text = tool::succeed(replay(&[&one[0]], "table").args(["--interface", "1"]));
    assert!(
        !heads(&text).is_empty() && heads(&text).iter().all(|head| head.contains("it is not known of how many ranks")),
        "{text}"
    );
}
