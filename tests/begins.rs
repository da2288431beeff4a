//! Begins of operations against those of CUPTI's kernels, for jobs under default settings whose kernels CUDA events time:
//! exchanges in groups beside computation, and uneven exchanges, gathers, scatters and broadcasts.

use crate::support::{cupti, lines, report, tool};

use std::collections::BTreeSet;
use std::path::Path;

/// Holds a run's begins against CUPTI's. 95 % of them may be off by `most` nanoseconds, and the middle of a rank's by
/// `middle_most`: both clocks are the system's.
fn hold(run: &str, most: i64, middle_most: i64) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/truth").join(run);
    let recordings = tool::captures(&directory);
    let (_, rows) = report::of(&recordings, &[]);
    for (rank, recording) in recordings.iter().enumerate() {
        let (head, _) = lines::all(recording);
        let real = head["real0"].as_i64().unwrap() - head["mono0"].as_i64().unwrap();
        // operations that share a kernel share its begin; CUPTI looked from the second kernel on
        let begins: BTreeSet<i64> =
            rows.iter().filter(|row| row.rank == rank as i64).filter_map(|row| row.begin).collect();
        let kernels = cupti::begins(run, rank, "ncclDevKernel");
        let nearest = |begin: i64| kernels.iter().map(|kernel| begin - kernel).min_by_key(|off| off.abs()).unwrap();
        let mut off: Vec<i64> = begins.iter().skip(1).map(|begin| nearest(begin + real)).collect();
        assert!(off.len() <= kernels.len() && off.len() * 100 >= 95 * kernels.len(), "{run} rank {rank}");
        off.sort_unstable();
        let middle = off[off.len() / 2];
        let close = off.iter().filter(|off| off.abs() <= most).count();
        tool::say(&format!("{run} rank {rank}: {} begins, off by {middle} ns in the middle, {off:?}", off.len()));
        assert!(close * 100 >= 95 * off.len() && middle.abs() <= middle_most, "{run} rank {rank}: {off:?}");
    }
}

#[test]
fn grouped_exchanges_begin_where_their_kernels_do() {
    hold("context", 4_000, 3_000);
}

#[test]
fn short_kernels_begin_where_they_do_whatever_they_are() {
    hold("uneven", 4_000, 3_000);
}

/// Ranks on two nodes, whose recordings have anchors.
#[test]
fn anchors_place_begins_closely() {
    hold("anchored", 2_000, 1_000);
}
