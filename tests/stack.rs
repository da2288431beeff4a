//! How much stack of the application's threads callbacks take (tests/c/nccl/stack_host.c): of the library as it is shipped.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "support/tool/mod.rs"]
mod tool;

use std::path::Path;

/// What a callback for an event may take, bytes, the first one of its thread too.
const OF_A_CALLBACK: u64 = 4 << 10;
/// What making and destroying a communicator may take, on a thread that NCCL does the same on.
const OF_A_COMMUNICATOR: u64 = 16 << 10;
/// Calls of each kind that follow the first: two blocks of slots are filled.
const LATER: &str = "150";

fn host(library: &Path, version: u32, more: &[&str]) -> String {
    let mut command = tool::host(env!("HOST_STACK_HOST"));
    command.arg(library).args([&version.to_string(), LATER]).args(more);
    // so that kernel events are asked for, and nothing is said of them
    command.env("NCCL_ALLGATHERV_ENABLE", "0").env("NCCL_SCOREP_LOG", "off");
    // the loader's part in the host's first call of a function is none of the library's
    command.env("LD_BIND_NOW", "1");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3), "v{version}, {more:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn no_callback_takes_more_stack_than_threads_can_spare() {
    let Ok(library) = tool::shipped(tool::LIBRARY).inspect_err(|missing| tool::skip(missing)) else { return };
    let mut greatest = [0; 2];
    for version in 1..=7 {
        let printed = host(&library, version, &[]);
        let mut kinds = 0;
        for line in printed.lines() {
            let [kind, when, used] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
            let used: u64 = used.parse().unwrap();
            let of_communicator = ["init", "finalize"].contains(&kind);
            let most = if of_communicator { OF_A_COMMUNICATOR } else { OF_A_CALLBACK };
            // less than a call takes was not measured
            assert!((64..=most).contains(&used), "v{version}: {kind}, {when}: {used} bytes of stack");
            let greatest = &mut greatest[usize::from(of_communicator)];
            *greatest = used.max(*greatest);
            kinds += 1;
        }
        assert_eq!(kinds, 60, "{printed}");
    }
    tool::say(&format!("stack: callbacks {} bytes, inits and finalizes {}", greatest[0], greatest[1]));
}

#[test]
fn a_thread_with_the_smallest_stack_survives_its_callbacks() {
    // not of the tests' own build, in which nothing is optimized
    let Ok(library) = tool::shipped(tool::LIBRARY).inspect_err(|missing| tool::skip(missing)) else { return };
    for version in [1, 4, 7] {
        host(&library, version, &["small"]);
    }
}
