//! The source of times: where there are stamps alone, events alone or no times of the GPU's, and who takes whose place.

use crate::support::events::{WITH_EVENTS, of};

/// Scenarios with functions and algorithms of every kind.
const CASES: [&str; 7] = ["ring", "tree", "sends", "lone_sends", "exchange", "all_to_all", "alternating"];

#[test]
fn with_stamps_alone_no_function_of_cudas_is_called() {
    for version in WITH_EVENTS {
        for scenario in CASES {
            let played = of(scenario, version).gpu_time("stamps").play();
            played.check();
            assert_eq!(played.event_timed(), 0, "{}", played.what());
        }
        of("no_calls", version).gpu_time("stamps").play().check();
    }
}

#[test]
fn without_gpu_times_nothing_is_timed_by_the_gpu_and_nothing_is_missed() {
    for version in WITH_EVENTS {
        for settings in [("NCCL_SCOREP_GPU_TIME", "off"), ("NCCL_SCOREP_PRESET", "api")] {
            for scenario in CASES.into_iter().chain(["no_calls"]) {
                let played = of(scenario, version).setting(settings.0, settings.1).play();
                played.check();
                assert_eq!((played.gpu_timed(), played.untimed()), (0, 0), "{}", played.what());
            }
        }
    }
}

/// The library must not call CUDA within NCCL's barriers.
#[test]
fn with_nccls_launch_mode_group_no_function_of_cudas_is_called() {
    for version in WITH_EVENTS {
        for gpu_time in ["auto", "events"] {
            of("no_calls", version).gpu_time(gpu_time).setting("NCCL_LAUNCH_MODE", "GROUP").play().check();
        }
    }
}

#[test]
fn without_cuda_in_the_process_there_are_stamps_alone() {
    for version in WITH_EVENTS {
        for gpu_time in ["auto", "events"] {
            let played = of("no_calls", version).gpu_time(gpu_time).without_driver().play();
            played.check();
            assert_eq!(played.event_timed(), 0, "{}", played.what());
        }
    }
}

/// Without launches in the mask there are no events.
#[test]
fn a_mask_without_launches_is_a_mask_without_events() {
    for version in WITH_EVENTS {
        let played = of("no_calls", version).setting("NCCL_SCOREP_MASK", "0x746").play();
        played.check();
        assert_eq!(played.event_timed(), 0, "{}", played.what());
    }
}

/// NCCL 2.29 to before 2.31.2 may hang with kernel stamps unless a variable is set. Events time every kernel without
/// stamps.
#[test]
fn where_stamps_can_hang_a_job_events_are_enough() {
    for scenario in CASES {
        of(scenario, 6).without_setting("NCCL_ALLGATHERV_ENABLE").play().check();
    }
}

#[test]
fn where_stamps_come_late_events_take_their_place_for_a_while() {
    for version in WITH_EVENTS {
        let played = of("late_stamps", version).play();
        played.check();
        assert!(played.event_timed() >= played.number("without"), "{}", played.what());
    }
}

#[test]
fn a_capture_asks_for_stamps_at_once() {
    for version in WITH_EVENTS {
        of("late_stamps_and_capture", version).play().check();
    }
}
