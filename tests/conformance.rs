//! NCCL's whole contract: every unusual order of callbacks (tests/c/nccl/nccl_host.c), through every version of the
//! interface, against the shipped library. The host prints the expected figures; the tests compare them with the
//! library's summary.

use crate::support::{host, tool};

use host::{VERSIONS, play};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

fn check_all(scenario: &str, settings: &[(&str, &str)]) {
    VERSIONS.iter().for_each(|&version| play(scenario, version, settings, 0).check());
}

/// Checks that a recording and a second plugin change no figure.
fn check_beside_listeners(scenario: &str, settings: &[(&str, &str)]) {
    let directory = tempfile::tempdir().unwrap();
    let listeners =
        [("NCCL_SCOREP_RECORD", directory.path().to_str().unwrap()), ("NCCL_SCOREP_CHAIN", env!("SECOND_PLUGIN_V6"))];
    // up to v3 a second plugin is not loaded, and a warning says so
    for (version, listeners) in [(3, &listeners[..1]), (7, &listeners)] {
        play(scenario, version, &[settings, listeners].concat(), 0).check();
    }
}

/// Makes two tests for each scenario, with the settings it needs: one alone, and one with a recording and a second
/// plugin.
macro_rules! scenarios {
    ($($name:ident [$($setting:literal = $value:literal)*];)*) => {
        const SCENARIOS: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                check_all(stringify!($name), &[$(($setting, $value)),*]);
            }
        )*

        mod beside_listeners {
            $(
                #[test]
                fn $name() {
                    super::check_beside_listeners(stringify!($name), &[$(($setting, $value)),*]);
                }
            )*
        }
    };
}

scenarios! {
    null_arguments [];
    odd_contexts [];
    ranks [];
    made_again [];
    many_communicators [];
    others ["NCCL_SCOREP_SETTLE_SECONDS" = "0.001"];
    reaped ["NCCL_SCOREP_DEADLINE_SECONDS" = "0.3" "NCCL_SCOREP_WINDOW_SECONDS" = "0.2" "NCCL_SCOREP_SETTLE_SECONDS" = "0.01"];
    every_type [];
    datatypes [];
    odd_names [];
    huge_counts [];
    nothing_before_the_start [];
    stopped_again [];
    invented_handles [];
    every_state [];
    stopped_after_finalize [];
    children_in_every_order [];
    restarted_steps ["NCCL_SCOREP_MEMORY_MB" = "1" "NCCL_SCOREP_WINDOW_EVENTS" = "1000"];
    many_states [];
    aborted [];
    odd_stamps [];
    early_stamps [];
    odd_channels [];
    to_oneself_with_kernel [];
    to_oneself_without_kernel [];
    invisible_calls [];
    graph [];
    parents_of_others [];
    copy_engine [];
    progress_threads [];
    network_plugins [];
    pxn [];
    split_share [];
    shrink_abort [];
    shrunk_again [];
    finalized_under_threads ["NCCL_SCOREP_WINDOW_EVENTS" = "64"];
    two_threads ["NCCL_SCOREP_WINDOW_EVENTS" = "64"];
    stopped_by_two [];
    finalized_while_busy ["NCCL_SCOREP_WINDOW_EVENTS" = "64"];
    last_callbacks [];
    short_threads [];
    moved_between_threads [];
    small_memory ["NCCL_SCOREP_MEMORY_MB" = "1"];
    one_mask [];
    min_bytes ["NCCL_SCOREP_MIN_BYTES" = "4096"];
    forked [];
    forked_communicator [];
    forked_under_threads [];
    forked_before_init [];
    forked_amidst_init [];
    cancelled [];
    without_finalize [];
    all_devices [];
    a_thread_a_device [];
    one_thread_with_groups [];
    group_of_collectives [];
}

/// Scenarios with a test of their own, below or in tests/listeners.rs.
const OTHERS: [&str; 14] = [
    "callbacks_at_exit",
    "calls_without_end",
    "communicator_among_many",
    "counters_at_their_end",
    "exit_of_a_thread",
    "exit_under_threads",
    "fault",
    "masks",
    "score_p",
    "send_among_endless",
    "send_among_many",
    "starved_at_the_end",
    "steps_again",
    "storm",
];

#[test]
fn every_scenario_of_the_host_is_played() {
    let listed = tool::succeed(&mut Command::new(env!("HOST_CONFORMANCE_HOST")));
    let listed: BTreeSet<&str> = listed.lines().collect();
    let played: BTreeSet<&str> = SCENARIOS.iter().chain(&OTHERS).copied().collect();
    assert_eq!(listed, played);
}

/// Eight threads on one communicator at full speed, while windows rotate all the time: nothing hangs, and every start
/// callback is in a figure or a counter. `SCOREP_NCCL_STORM_SECONDS=30` makes it longer.
#[test]
fn storm() {
    let seconds: u32 = std::env::var("SCOREP_NCCL_STORM_SECONDS").map_or(3, |seconds| seconds.parse().unwrap());
    for version in [4, 7] {
        play("storm", version, &[("NCCL_SCOREP_WINDOW_EVENTS", "64")], seconds * 1000).check();
    }
}

/// The process ends while threads are inside callbacks: there is a summary, or a line that explains its absence.
#[test]
fn an_exit_amidst_callbacks_is_an_exit() {
    for scenario in ["exit_under_threads", "exit_of_a_thread"] {
        [3, 7].iter().for_each(|&version| play(scenario, version, &[], 0).check());
    }
}

/// On a crowded machine the collector may have no processor for longer than the end waits for one that is blocked.
#[test]
fn the_end_waits_for_a_collector_without_a_processor() {
    [4, 7].iter().for_each(|&version| play("starved_at_the_end", version, &[], 0).check());
}

/// For days, a job may make nothing but API calls for which NCCL reports no operations. Those of captures wait for a
/// replay, a bounded number of them, however fast they come. Their table takes 12 MiB beside the process' own memory,
/// which is larger where the library is not optimized; all calls would take 50 more.
#[test]
fn calls_that_nothing_follows_do_not_pile_up() {
    let peak = |calls| {
        let run = play("calls_without_end", 5, &[("NCCL_SCOREP_SETTLE_SECONDS", "0.01")], calls);
        run.check();
        run.found("peak_memory_bytes") >> 20
    };
    let (few, many) = (peak(10), peak(1_200_000));
    assert!(many < few + 24, "{many} MiB, and {few} MiB for ten calls");
}

/// While the job runs, one line says which operations the GPU cannot time, and why.
#[test]
fn operations_out_of_step_are_told() {
    let cases = [
        ("to_oneself_without_kernel", "oneself"),
        ("invisible_calls", "NCCL_ALLGATHERV_ENABLE=0"),
        ("early_stamps", "stamps"),
    ];
    for (scenario, cause) in cases {
        for version in [5, 7] {
            let run = play(scenario, version, &[("NCCL_SCOREP_SETTLE_SECONDS", "0.01")], 1500);
            run.check();
            assert!(run.lines()[0].contains(cause), "{}: {:?}", run.what, run.lines());
        }
    }
}

/// A job may end before the collector has settled any operation.
#[test]
fn operations_out_of_step_are_told_by_a_short_job_too() {
    for scenario in ["to_oneself_without_kernel", "invisible_calls", "early_stamps"] {
        let run = play(scenario, 5, &[], 0);
        assert!(run.found("out_of_step") > 0 && run.lines().len() == 1, "{}: {:?}", run.what, run.lines());
    }
}

#[test]
fn communicators_past_the_most_are_told_of_once() {
    let run = play("many_communicators", 5, &[], 0);
    let beginnings = ["scorep-nccl: warning: too many communicators", "scorep-nccl: warning: 904 events were dropped"];
    let lines = run.lines();
    assert!(
        lines.len() == 2 && lines.iter().zip(beginnings).all(|(line, begins)| line.starts_with(begins)),
        "{lines:?}"
    );
}

#[test]
fn counters_never_fall() {
    VERSIONS.iter().for_each(|&version| drop(play("counters_at_their_end", version, &[], 0)));
}

/// Returns the mask of event types that NCCL gets.
fn mask(version: u32, settings: &[(&str, &str)]) -> u32 {
    let run = play("masks", version, settings, 0);
    let text = String::from_utf8_lossy(&run.output.stdout);
    text.lines().find_map(|line| line.strip_prefix("mask ")).unwrap().parse().unwrap()
}

#[test]
fn presets_and_masks_decide_what_is_asked_for() {
    let operations = 0x1706;
    // events time kernels by their launches, which NCCL reports from v5 on
    let presets =
        [("api", operations), ("light", operations | 0x840), ("network", operations | 0x858), ("full", 0xffff)];
    let known = [0x3f, 0x3f, 0xbf, 0xff, 0xfff, 0x7fff, 0xffff];
    for (version, known) in VERSIONS.into_iter().zip(known) {
        assert_eq!(mask(version, &[]), (operations | 0x858) & known, "v{version}");
        for (preset, types) in presets {
            assert_eq!(mask(version, &[("NCCL_SCOREP_PRESET", preset)]), types & known, "{preset}, v{version}");
        }
        for (number, types) in [("0", 0), ("0x12", 0x12), ("2", 2), ("0xffffffff", 0xffff)] {
            let settings = [("NCCL_SCOREP_MASK", number), ("NCCL_SCOREP_PRESET", "api")];
            assert_eq!(mask(version, &settings), types & known, "{number}, v{version}");
        }
    }
}

/// A panic of the library ends in the callback: the process goes on, the plugin is off, and one line says so.
#[test]
fn a_fault_in_a_callback_of_nccls_ends_there() {
    for callback in ["init", "start_event", "stop_event", "record_event_state", "finalize"] {
        for version in [1, 4, 5, 7] {
            // before v4 a state carries nothing to record, but NCCL makes the callback all the same
            let run = play("fault", version, &[("NCCL_SCOREP_PANIC", callback)], 0);
            run.check();
            assert!(run.lines()[0].contains(callback) && run.lines()[0].contains(".rs:"), "{:?}", run.lines());
            // earlier events are not lost, and the summary explains why recording ends
            let noted = |summary: &Value| summary["processes"][0]["notes"].to_string().contains(callback);
            assert!(callback == "init" || run.summaries.iter().any(noted), "{}", run.what);
        }
    }
}

#[test]
fn a_fault_in_a_callback_of_score_ps_ends_there() {
    assert_eq!(play("score_p", 5, &[], 0).lines(), Vec::<String>::new());
    let ours = ["initialize", "get_event_info", "add_counter", "set_clock_function", "synchronize"];
    for callback in ours.into_iter().chain(["scorep_nccl_flush"]) {
        let run = play("score_p", 5, &[("NCCL_SCOREP_PANIC", callback)], 0);
        let lines = run.lines();
        assert!(lines.len() == 1 && lines[0].contains(callback), "{callback}: {lines:?}");
    }
}

/// A status file and the standing kept for it change no figure.
#[test]
fn a_status_file_changes_no_figure() {
    let directory = tempfile::tempdir().unwrap();
    let status = [("NCCL_SCOREP_STATUS", directory.path().to_str().unwrap())];
    let settled = [("NCCL_SCOREP_SETTLE_SECONDS", "0.001"), status[0]];
    for scenario in [
        "ranks",
        "made_again",
        "every_type",
        "huge_counts",
        "children_in_every_order",
        "aborted",
        "pxn",
        "invisible_calls",
        "graph",
        "copy_engine",
        "to_oneself_without_kernel",
        "parents_of_others",
        "two_threads",
        "forked",
        "forked_before_init",
    ] {
        check_all(scenario, &status);
    }
    check_all("others", &settled);
    play("small_memory", 7, &[("NCCL_SCOREP_MEMORY_MB", "1"), status[0]], 0).check();
}
