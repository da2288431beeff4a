//! Messages and collectives that `scorep-nccl trace` adds to a real experiment. tests/communication has their contents.

use super::tool;
use crate::support::installation;
use std::collections::BTreeSet;
use std::path::Path;

/// What otf2-print shows, line by line.
fn lines(experiment: &Path, flags: &[&str]) -> Vec<String> {
    let mut print = installation::command("otf2-print");
    let text = installation::say(print.args(flags).arg(experiment.join("traces.otf2")));
    text.lines().map(str::to_owned).collect()
}

/// Checks that a copy of the experiment has all of it, and a record for each send, receive and collective on its lanes.
pub(crate) fn check(experiment: &Path) {
    let scratch = tempfile::tempdir().unwrap();
    let copy = scratch.path().join("copy");
    // each rank plays its recording at its own pace, so messages may end before they begin, which is said
    installation::say(tool::tool().arg("trace").arg(experiment).arg("--to").arg(&copy));
    let of = |line: &str| line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let is_lane = |line: &&String| line.starts_with("LOCATION ") && line.contains("Name: \"NCCL ");
    let lanes: BTreeSet<String> = lines(experiment, &["-G"]).iter().filter(is_lane).map(|line| of(line)).collect();
    let is_added = |line: &String| line.starts_with("MPI_") && lanes.contains(&of(line));
    let (added, kept): (Vec<_>, Vec<_>) = lines(&copy, &[]).into_iter().partition(is_added);
    let original = lines(experiment, &[]);
    assert!(original == kept, "the copy has {} other lines, of {}", kept.len(), original.len());

    let count = |lines: &[String], kind: &str, text: &str| {
        lines.iter().filter(|line| line.starts_with(kind) && line.contains(text)).count()
    };
    let [sends, receives, all] = ["\"ncclSend", "\"ncclRecv", "\"nccl"].map(|name| count(&original, "ENTER ", name));
    let found = ["MPI_SEND ", "MPI_RECV ", "MPI_COLLECTIVE_END "].map(|kind| count(&added, kind, ""));
    assert!(sends > 0 && sends == receives && all > sends + receives);
    assert_eq!(found, [sends, receives, all - sends - receives]);
}
