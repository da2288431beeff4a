//! Clocks that go backwards, jump or stand still. No sum is negative or endless, and all is counted.

use crate::harm::job::{Found, Job};
use serde_json::Value;

/// Sums of times are not below zero, and rates not either.
fn check(found: &Found, what: &str) {
    let summary = &found.figures().summaries[0];
    for list in ["operations", "transfers", "channels"] {
        for row in summary[list].as_array().unwrap() {
            let numbers = row.as_object().unwrap().iter().filter_map(|(name, value)| Some((name, value.as_f64()?)));
            for (name, number) in numbers.filter(|(name, _)| !["rank", "peer"].contains(&name.as_str())) {
                assert!((0.0..1e24).contains(&number), "{what}: {name} of {list} is {number}");
            }
        }
    }
    let counters = summary["processes"][0]["counters"].as_object().unwrap();
    assert!(counters.values().all(Value::is_u64), "{what}: {counters:?}");
}

#[test]
fn clocks_of_the_systems_may_go_anywhere() {
    for bend in ["behind", "negative", "far"] {
        for moment in 0..=2 {
            let what = format!("{bend} at {moment}");
            let found = Job::scenario("wild_system", moment, &[bend]).set("NCCL_SCOREP_RECORD", ".").check();
            // deadlines are by such a clock, too: the collector may have been given up where the end waits for it and
            // where the summary does, which a line each says, and stamps of the GPU do not fit it
            let has_said = |text: &str| found.said.iter().filter(|line| line.contains(text)).count();
            let [given_up, untimed] = ["the collector thread", "not GPU-timed"].map(has_said);
            assert_eq!(given_up + untimed, found.said.len(), "{what}: {:?}", found.said);
            assert!(given_up == 0 || bend == "behind" && given_up <= 2, "{what}: {:?}", found.said);
            if given_up == 0 || found.files()[0] > 0 {
                check(&found, &what);
            }
        }
    }
}

/// Nothing of the library is right by a clock of any value, but it goes on, and the summary is written.
#[test]
fn clocks_of_any_value_stop_nothing() {
    for moment in 0..=2 {
        let job = Job::scenario("wild_system", moment, &["anything"]).set("NCCL_SCOREP_STATUS", "status");
        let job = job.before(r#""$@"; status=$?; rm -rf status; exit $status"#);
        job.play();
        assert!(!job.said().contains("a fault"), "at {moment}: {}", job.said());
        let is_given_up = job.said().contains("the collector thread");
        assert!(is_given_up || job.files() == ["summary.json"], "at {moment}: {:?}: {}", job.files(), job.said());
    }
}

#[test]
fn score_ps_clock_may_go_anywhere() {
    for goes in ["backwards", "still", "zero", "anything", "signed", "wrapping", "jumping"] {
        let found = Job::scenario("wild_score_p", 0, &[goes]).check();
        // stamps of the GPU do not fit such a clock, which is said once a communicator
        assert!(found.said.iter().all(|line| line.contains("not GPU-timed")), "{goes}: {:?}", found.said);
        check(&found, goes);
    }
}
