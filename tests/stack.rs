//! The stack that callbacks take on the application's threads (tests/c/nccl/stack_host.c), with the shipped library.

use crate::support::tool;

use std::path::Path;

/// Most stack of a callback for an event, bytes, even of a thread's first callback.
const OF_A_CALLBACK: u64 = 4 << 10;
/// Most stack of creating or destroying a communicator, bytes. NCCL itself does so on the same thread.
const OF_A_COMMUNICATOR: u64 = 16 << 10;
/// Number of calls of each kind after the first: they fill two blocks of slots.
const LATER: &str = "150";

fn host(library: &Path, version: u32, more: &[&str]) -> String {
    let mut command = tool::host(env!("HOST_STACK_HOST"));
    command.arg(library).args([&version.to_string(), LATER]).args(more);
    // so that kernel events are asked for, and no line is printed about them
    command.env("NCCL_ALLGATHERV_ENABLE", "0").env("NCCL_SCOREP_LOG", "off");
    // the loader resolves functions at start: its stack at a first call is not the library's
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
            // less stack than a call needs would mean that nothing was measured
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
    // the tests' own build is not optimized, so only the shipped library is measured
    let Ok(library) = tool::shipped(tool::LIBRARY).inspect_err(|missing| tool::skip(missing)) else { return };
    for version in [1, 4, 7] {
        host(&library, version, &["small"]);
    }
}
