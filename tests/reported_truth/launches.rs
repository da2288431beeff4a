//! Whether calls waited for their launch or for their GPU, against CUPTI's kernels and the recorded launches.

use crate::reported_truth::runs;
use crate::support::cupti::Rank;
use crate::support::{report, tool};
use std::collections::BTreeMap;

/// Nanoseconds behind its launch within which a kernel has not waited for its GPU, and behind which it has. Between them
/// lie what stamps and events differ from CUPTI's times, and what passes until NCCL reports the operation.
const AT_ONCE: i64 = 5_000;
const WAITED: i64 = 20_000;

#[test]
fn calls_wait_for_their_launch_or_for_their_gpu_as_cuptis_kernels_do() {
    let mut found: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for run in runs() {
        let (_, rows) = report::of(&tool::captures(&tool::run(&run)), &[]);
        for rank in 0..2 {
            let truth = Rank::of(&run, rank);
            let mine = rows.iter().filter(|row| row.rank == rank as i64).cloned().collect();
            for (row, span) in truth.joined(mine) {
                let queued = span[0] - truth.launched[&span];
                let really = match queued {
                    ..=AT_ONCE => "launch",
                    WAITED.. => "gpu",
                    _ => "either",
                };
                let later = match row.later.as_deref() {
                    Some("gpu") => "gpu",
                    Some("launch") => "launch",
                    later => later.map_or("unknown", |later| panic!("{later} is no cause")),
                };
                let is_right = later == "unknown" || really == "either" || later == really;
                assert!(is_right, "{run}: the kernel began {queued} ns behind its launch: {row:?}");
                *found.entry((later, really)).or_default() += 1;
            }
        }
    }
    tool::say(&format!("{found:?}"));
    let count = |later: &str| found.iter().filter(|((is, _), _)| *is == later).map(|(_, count)| count).sum::<usize>();
    let known = [count("gpu"), count("launch")];
    // both happen, and a quarter at most is unknown
    assert!(known.iter().all(|&known| known > 200) && 3 * count("unknown") < known[0] + known[1], "{found:?}");
}
