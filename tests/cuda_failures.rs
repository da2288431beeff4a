//! CUDA functions that fail, contexts that are destroyed, and a driver that shuts down: they end the times by events
//! and nothing else. Played as in cuda_events.

use crate::support::events;

use events::{Played, WITH_EVENTS, of};

/// The stand-in's functions; a line about a failure must name its function.
const FUNCTIONS: [&str; 8] = [
    "cuCtxGetCurrent",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventElapsedTime",
    "cuStreamIsCapturing",
    "cuThreadExchangeStreamCaptureMode",
    "cuGetErrorName",
    "cuCtxGetId",
];

/// Checks that there is one line, with these words.
fn check_line(played: &Played, words: &[&str]) {
    let lines = played.lines();
    assert!(
        lines.len() == 1 && words.iter().all(|word| lines[0].contains(word)),
        "{}: {words:?} {lines:?}",
        played.what()
    );
}

#[test]
fn a_function_that_fails_ends_events_and_nothing_else() {
    for version in WITH_EVENTS {
        for (place, function) in FUNCTIONS.into_iter().enumerate() {
            // the library asks for a context's number once per look, so there is no 50th call
            let calls: &[i64] = if function == "cuCtxGetId" { &[1, 2, 3, 10] } else { &[1, 2, 3, 10, 50] };
            for call in calls {
                let number = place as i64 * 100 + call;
                of("fails", version).number(number).under_score_p().play().check();
                let played = of("fails", version).number(number).play();
                played.check();
                // a function that is not called does not fail, and a stream with an unknown state is not used
                if !["cuStreamIsCapturing", "cuGetErrorName"].contains(&function) && played.says("failed") {
                    check_line(&played, &[function, "CUDA_ERROR_LAUNCH_FAILED", "719"]);
                }
                assert!(
                    *call > 10 || played.says("failed") || function == "cuGetErrorName",
                    "{}: it is not called",
                    played.what()
                );
            }
        }
    }
}

#[test]
fn a_function_that_fails_once_is_not_called_again() {
    for version in WITH_EVENTS {
        for (place, function) in FUNCTIONS.into_iter().enumerate() {
            if ["cuStreamIsCapturing", "cuGetErrorName"].contains(&function) {
                continue;
            }
            for call in [1, 10] {
                let played = of("fails_once", version).number(place as i64 * 100 + call).play();
                played.check();
                check_line(&played, &[function, "CUDA_ERROR_LAUNCH_FAILED", "719"]);
            }
        }
    }
}

#[test]
fn a_stream_that_cannot_be_destroyed_ends_events_and_nothing_else() {
    for version in WITH_EVENTS {
        let played = of("own_stream_stays", version).play();
        played.check();
        check_line(&played, &["cuStreamDestroy", "CUDA_ERROR_LAUNCH_FAILED", "719"]);
    }
}

#[test]
fn events_that_cannot_be_destroyed_end_events_and_nothing_else() {
    for version in WITH_EVENTS {
        let played = of("destroy_fails", version).play();
        played.check();
        check_line(&played, &["cuEventDestroy", "CUDA_ERROR_LAUNCH_FAILED", "719"]);
    }
}

#[test]
fn an_error_without_a_name_is_told_by_its_number() {
    let played = of("fails_without_a_name", 7).play();
    played.check();
    check_line(&played, &["cuEventRecord", "719"]);
    let played = of("unknown_error", 7).play();
    played.check();
    check_line(&played, &["cuEventRecord", "12345"]);
}

#[test]
fn a_context_that_goes_ends_events_and_nothing_else() {
    for version in WITH_EVENTS {
        let played = of("context_goes", version).play();
        played.check();
        check_line(&played, &["CUDA_ERROR_CONTEXT_IS_DESTROYED", "709"]);
    }
}

/// `cudaDeviceReset` while communicators exist: the library asks nothing about the events from before, and the events
/// of later communicators time kernels.
#[test]
fn a_gpu_that_is_reset_under_a_communicator_is_left_alone() {
    for version in WITH_EVENTS {
        for again in [0, 3] {
            let played = of("reset_amidst", version).number(again).play();
            played.check();
            let (timed, untimed) = (played.gpu_timed(), played.untimed_for("not_believed"));
            let communicators = again.unsigned_abs() + 1;
            assert_eq!((timed, untimed), (10 * communicators, 3 * communicators), "{}", played.what());
        }
    }
}

#[test]
fn a_driver_that_shuts_down_before_the_figures_are_written_takes_none_away() {
    let played = of("driver_goes_at_the_end", 7).play();
    played.check();
    assert!(played.gpu_timed() >= 10 && played.lines().len() <= 1, "{:?}", played.lines());
}
