//! Other allocators than the C library's, which take their own locks at a fork and need other stacks.

use crate::harm::job::Job;
use crate::harm::threads::busy;
use crate::support::tool;

/// Debian's libraries.
const ALLOCATORS: [&str; 2] = ["libjemalloc.so.2", "libtcmalloc_minimal.so.4"];

fn installed() -> impl Iterator<Item = &'static str> {
    ALLOCATORS.into_iter().filter(|name| {
        // where it is not there, the loader says so and goes on
        let output = std::process::Command::new("true").env("LD_PRELOAD", name).output().unwrap();
        let is_there = output.stderr.is_empty();
        if !is_there {
            tool::skip(&format!("no {name} (`make test-packages`)"));
        }
        is_there
    })
}

#[test]
fn the_allocator_may_be_any() {
    for name in installed() {
        for scenario in ["interrupted", "forked_amid_recording", "forked_in_a_handler"] {
            busy(scenario, 100).set("LD_PRELOAD", name).check().figures();
        }
    }
}

#[test]
fn small_stacks_are_large_enough_for_any_allocator() {
    let Ok(library) = tool::shipped(tool::LIBRARY).inspect_err(|missing| tool::skip(missing)) else { return };
    for name in installed() {
        for kibibytes in [0, 16] {
            let job = Job::scenario("small_stacks", kibibytes, &[]).with_library(library.clone());
            job.set("LD_PRELOAD", name).check().figures();
        }
    }
}
