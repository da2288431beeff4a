//! The part of the sample on tags: the forward pass has one, the backward pass another, and the rest none.

use super::groups::Groups;
use super::scale::{CALLS, STEP_US, STEPS};
use report::answer::{TaggedOperations, Tags};

/// Makes the rows.
pub(super) fn of(groups: &Groups) -> Tags {
    let calls = groups.ranks as u64 * CALLS * (STEPS + 3);
    let row = |(tag, share, functions): (&str, u64, &[&str])| TaggedOperations {
        tag: tag.to_owned(),
        functions: functions.iter().map(|&function| function.to_owned()).collect(),
        operations: calls / share,
        bytes: (calls / share) << 20,
        timed: calls / share,
        time_us: Some(STEP_US * groups.ranks as f64 / share as f64),
    };
    let rows =
        [("2", 2, &["AllGather", "ReduceScatter"][..]), ("1", 4, &["AllGather"]), (Tags::NONE, 4, &["AllReduce"])];
    Tags { rows: rows.into_iter().map(row).collect() }
}
