//! How many instructions each callback takes of the thread that makes it: of the library as it is shipped, counted by
//! callgrind, against the numbers kept in `tests/instructions/baseline.json`. Instructions are the same in every run,
//! where times never are.
//!
//! `tests/c/nccl/instructions_host.c` makes each kind of call some thousand times, with a clock of its own.

mod baseline;
mod steps;

use crate::support::{callgrind, tool};
use baseline::{Baseline, TAKE};
use std::path::Path;

/// Calls of each kind: 100 blocks of slots are filled, so what a block costs once is in the mean.
const CALLS: u64 = 6400;

/// What there is to count with, and the baseline where it was taken for that; says what is missing.
fn shipped() -> Option<(std::path::PathBuf, Baseline)> {
    if !callgrind::is_there() {
        tool::skip("no valgrind");
        return None;
    }
    let library = tool::shipped(tool::LIBRARY).inspect_err(|missing| tool::skip(missing)).ok()?;
    let found = Baseline::of(&library);
    Some((library, found))
}

#[test]
fn no_callback_takes_more_instructions_than_it_did() {
    let Some((library, mut now)) = shipped() else { return };
    now.paths = callgrind::count(&library, CALLS, &[]);
    if std::env::var_os(TAKE).is_some() {
        now.write();
        return;
    }
    let kept = Baseline::read();
    if let Some(other) = kept.of_another_machine(&now) {
        tool::leave_out(&other);
        return;
    }
    kept.of_another_compiler(&now).inspect(|other| tool::say(other));
    let (worse, better) = kept.compare(&now);
    better.iter().for_each(|line| tool::say(line));
    assert!(worse.is_empty(), "\n{}", worse.join("\n"));
}

/// The environment moves the stack, and the collector's thread does something else at every moment.
#[test]
fn another_run_counts_the_same() {
    let Some((library, _)) = shipped() else { return };
    let padding = "x".repeat(1234);
    let runs = [callgrind::count(&library, CALLS, &[]), callgrind::count(&library, CALLS, &[("PADDING", &padding)])];
    for (name, first) in &runs[0] {
        let second = runs[1][name];
        assert!((first - second).abs() <= 0.002 * first, "{name}: {first} and {second}");
    }
}

#[test]
fn what_is_counted_is_what_the_host_calls() {
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/instructions/snippet.txt")).unwrap();
    let found = callgrind::parse(&text, 100);
    let expected = [("coll_start", 250.5), ("group_api_state", 12.0)].map(|(name, count)| (name.to_owned(), count));
    assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
}
