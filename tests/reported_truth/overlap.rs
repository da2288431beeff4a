//! The overlap of computation and communication, the other rows of the budget, and lateness, against CUPTI's intervals.

use crate::reported_truth::{CLEAR, ROUNDED, profiles};
use crate::support::cupti::{self, Span, clipped, length, shared, united};
use crate::support::{report, tool};
use serde_json::Value;

/// The overlap of computation and communication, and the other rows of the budget, from CUPTI's intervals alone.
#[test]
fn the_overlap_is_that_of_cuptis_intervals() {
    let run = "truth_fsdp";
    let captures = tool::captures(&tool::run(run));
    let directory = tempfile::tempdir().unwrap();
    let ranks = [0, 1].map(|rank| cupti::Rank::of(run, rank));
    let options = profiles(run, directory.path());
    let (report, _) = report::of(&captures, &options.iter().map(String::as_str).collect::<Vec<_>>());
    let notes = report["complete"]["notes"].to_string();
    assert!(notes.contains("200 of NCCL's kernels in the profiles have timed their operations."), "{notes}");
    let steps = &report["steps"]["known"];
    // 16 all-gathers, 8 reduce-scatters and an all-reduce; four times, of which the first is warm-up
    assert_eq!((&steps["period"], &steps["warm_up"], &steps["count"]), (&25.into(), &1.into(), &3.into()));
    let budget = &report["budget"]["known"];
    let (mut overlapped, mut in_nccl) = (0, 0);
    for (gpu, [rank, other]) in budget["gpus"].as_array().unwrap().iter().zip([[0, 1], [1, 0]]) {
        let (mine, other) = (&ranks[rank], &ranks[other]);
        assert_eq!(mine.nccl.len(), 4 * 25);
        let step = [mine.nccl[25][0], mine.nccl.iter().map(|kernel| kernel[1]).max().unwrap()];
        let nccl = clipped(&united(&mine.nccl), step);
        let computing = clipped(&united(&mine.computing), step);
        let waits = mine.collectives.iter().map(|(key, span)| [span[0], other.collectives[key][0].min(span[1])]);
        let waits: Vec<Span> = waits.filter(|wait| wait[0] < wait[1]).collect();
        let waits = clipped(&united(&waits), step);
        let beside = shared(&nccl, &computing);
        let waiting = length(&waits) - shared(&waits, &computing);
        let rows = [
            ("total_ns", step[1] - step[0], 75 * ROUNDED),
            ("waiting_ns", waiting, 75 * ROUNDED),
            ("overlapped_ns", beside, 75 * ROUNDED),
            ("transferring_ns", length(&nccl) - beside - waiting, 75 * ROUNDED),
            ("computing_ns", length(&computing) - beside, 75 * ROUNDED),
        ];
        let value = |name: &str| gpu[name].as_i64().unwrap();
        for (name, truth, within) in rows {
            let found = value(name);
            tool::say(&format!("rank {rank} {name}: {found} of {truth} ns"));
            assert!((found - truth).abs() <= within, "rank {rank} {name}: {found}, not {truth} ns");
        }
        // the computation is CUPTI's own, but for the begin and the end of the steps
        let computed = value("computing_ns") + value("overlapped_ns");
        assert!(
            (computed - length(&computing)).abs() <= 75 * ROUNDED,
            "rank {rank}: {computed} of {}",
            length(&computing)
        );
        let parts = ["waiting_ns", "transferring_ns", "overlapped_ns", "computing_ns", "idle_ns"];
        assert_eq!(parts.iter().map(|name| value(name)).sum::<i64>(), value("total_ns"));
        (overlapped, in_nccl) = (overlapped + beside, in_nccl + length(&nccl));
    }
    lateness(&report["late"]["known"]["ranks"], &ranks);
    let (overlap, truth) = (budget["overlap"].as_f64().unwrap(), overlapped as f64 / in_nccl as f64);
    tool::say(&format!("overlap {overlap:.5} of {truth:.5}"));
    assert!((overlap / truth - 1.0).abs() < 1e-4, "overlap {overlap} of {truth}");
}

/// Compares the waits of each rank in the steps behind the warm-up, and those that it cost the other.
fn lateness(late: &Value, ranks: &[cupti::Rank; 2]) {
    let steps = ranks.each_ref().map(|rank| rank.nccl[25][0]);
    for (own, other) in [(0, 1), (1, 0)] {
        let begins = ranks[own].collectives.iter().filter(|(_, span)| span[0] >= steps[own]);
        let late_by: Vec<i64> = begins.map(|(key, span)| span[0] - ranks[other].collectives[key][0]).collect();
        assert_eq!((late_by.len(), &late[own]["calls"]), (75, &75.into()));
        let sum = |sign: i64| late_by.iter().map(|late| (sign * late).max(0)).sum::<i64>() as f64 / 1e3;
        // what is not resolved costs nothing: at most 7 us of a few operations
        for (name, truth) in [("wait_us", sum(-1)), ("cost_us", sum(1))] {
            let found = late[own][name].as_f64().unwrap();
            tool::say(&format!("rank {own} {name}: {found} of {truth} us"));
            assert!((found - truth).abs() <= 75.0, "rank {own} {name}: {found}, not {truth} us");
        }
        let clear = late_by.iter().filter(|late| **late > CLEAR).count() as u64;
        let all = late_by.iter().filter(|late| **late > 0).count() as u64;
        assert!((clear..=all).contains(&late[own]["last"].as_u64().unwrap()), "rank {own}: {late}");
    }
}
