//! What must not happen to a job that is measured: somebody else gets at its user's files, it dies or hangs for a line,
//! a file, a limit or a signal, or it is shown a wrong number afterwards. One process of a host a scenario
//! (tests/c/harm/harm_host.c, tests/c/nccl/surroundings_host.c).

mod allocators;
mod clocks;
mod disks;
mod file_systems;
mod files;
mod forks;
mod job;
mod limits;
mod logs;
mod mounts;
mod pipes;
mod statuses;
mod system_calls;
mod threads;
mod users;

use crate::support::tool;
use std::collections::BTreeSet;
use std::process::Command;

/// The host's scenarios, each of which a test plays.
const SCENARIOS: [&str; 29] = [
    "attack",
    "begun_on_a_small_stack",
    "descriptors_closed_again_and_again",
    "descriptors_taken",
    "ended_in_a_crowd",
    "ended_within_an_init",
    "failing",
    "file_system_that_never_answers",
    "forked_amid_recording",
    "forked_in_a_handler",
    "forked_in_silence",
    "interrupted",
    "interrupted_by_callbacks",
    "interrupted_for_ever",
    "left_to_own_threads",
    "left_within_the_loader",
    "limited",
    "locked",
    "logged_by_a_thread_that_ends",
    "logged_by_one_that_begins_again",
    "main_thread_that_ends_first",
    "moved_to_another_root",
    "refusable_calls",
    "refused",
    "removed",
    "small_stacks",
    "standard_streams_closed",
    "wild_score_p",
    "wild_system",
];

#[test]
fn every_scenario_of_the_host_is_known() {
    let listed = tool::succeed(&mut Command::new(env!("HOST_HARM_HOST")));
    assert_eq!(listed.lines().collect::<BTreeSet<_>>(), SCENARIOS.into());
}
