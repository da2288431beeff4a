//! The report against CUPTI's kernels of the same runs (tests/captures/truth_*, tests/truth), and against itself: from
//! the archive of a replay it has to say the same as from the recordings.
//!
//! A time by stamps is about 3 us shorter than CUPTI's kernel, since NCCL takes stamps inside the kernel. A time by CUDA
//! events is longer or shorter by some microseconds. Neither depends on the length of the kernel, so tolerances are a
//! number of microseconds for each operation. With `--kernels`, the times are those of NCCL's own kernels: CUPTI's.

mod archive;
mod launches;
mod overlap;
mod waits;

use crate::support::{cupti, report, tool};
use cupti::Span;
use report::Row;
use std::path::{Path, PathBuf};

/// Nanoseconds by which a transfer may differ from CUPTI's, on average over the operations of a function.
const OFF: f64 = 4e3;
/// Nanoseconds that stamps count at a time, and some more.
const TICKS: i64 = 100;
/// Nanoseconds by which the difference of two rounded times may be off.
const ROUNDED: i64 = 4;
/// A rank that begins later than the other by more nanoseconds is clearly last.
const CLEAR: i64 = 30_000;

/// An operation of two ranks: the rows of the report, and begin and end of CUPTI's kernels.
type Pair = [(Row, Span); 2];

fn runs() -> Vec<String> {
    let runs = tool::runs().into_iter().map(|(name, _)| name).filter(|name| name.starts_with("truth_"));
    let runs: Vec<String> = runs.collect();
    assert_eq!(runs.len(), 7);
    runs
}

/// Returns the operations of a run, with the times of their kernels. All were matched over both ranks, except for those
/// that NCCL reports no further.
fn pairs(run: &str, captures: &[PathBuf], options: &[&str]) -> Vec<Pair> {
    let (_, rows) = report::of(captures, options);
    let mut of_rank: [Vec<(Row, Span)>; 2] = [0, 1].map(|rank| {
        let mine: Vec<Row> = rows.iter().filter(|row| row.rank == rank).cloned().collect();
        cupti::Rank::of(run, rank as usize).joined(mine)
    });
    of_rank.iter_mut().for_each(|rows| rows.sort_by_key(|(row, _)| row.occurrence));
    let [first, second] = of_rank;
    assert_eq!(first.len(), second.len(), "{run}");
    let pairs: Vec<Pair> = first.into_iter().zip(second).map(|(one, other)| [one, other]).collect();
    assert!(pairs.iter().all(|[one, other]| one.0.occurrence == other.0.occurrence), "{run}");
    pairs
}

/// Returns the sum and the median of the transfers of a function: the report's, and CUPTI's.
fn transfers(pairs: &[Pair], function: &str) -> ([[f64; 2]; 2], usize) {
    let of = |pair: &Pair| {
        let [one, other] = pair.each_ref().map(|(_, span)| *span);
        let truth = one[1].max(other[1]) - one[0].max(other[0]);
        Some([pair[0].0.transfer? as f64, truth as f64])
    };
    let both: Vec<[f64; 2]> = pairs.iter().filter(|pair| pair[0].0.function == function).filter_map(of).collect();
    let figures = [0, 1].map(|side| {
        let mut all: Vec<f64> = both.iter().map(|both| both[side]).collect();
        all.sort_by(f64::total_cmp);
        [all.iter().sum(), all.get(all.len() / 2).copied().unwrap_or(0.0)]
    });
    (figures, both.len())
}

#[test]
fn transfers_are_those_of_cuptis_kernels() {
    for run in runs() {
        let pairs = pairs(&run, &tool::captures(&tool::run(&run)), &[]);
        let functions: std::collections::BTreeSet<&str> = pairs.iter().map(|pair| &*pair[0].0.function).collect();
        for function in functions {
            let ([[sum, median], [true_sum, true_median]], count) = transfers(&pairs, function);
            let found = format!(
                "{run} {function}: {count} transfers, sum {sum} of {true_sum} ns, median {median} of {true_median} ns"
            );
            tool::say(&found);
            assert!(count > 0 && (sum - true_sum).abs() <= OFF * count as f64 + 0.01 * true_sum, "{found}");
            assert!((median - true_median).abs() <= OFF + 0.01 * true_median, "{found}");
        }
    }
}

/// Writes CUPTI's kernels of a run's ranks as PyTorch's profiler does. Returns the option that names the files.
fn profiles(run: &str, directory: &Path) -> Vec<String> {
    let write = |rank| {
        let path = directory.join(format!("k{rank}.json"));
        std::fs::write(&path, cupti::kineto(run, rank).to_string()).unwrap();
        path.into_os_string().into_string().unwrap()
    };
    std::iter::once("--kernels".to_owned()).chain([0, 1].map(write)).collect()
}

/// Of an all-to-all, the sum of the transfers is CUPTI's within 15 %: a kernel of 20 us begins up to 2.5 us after its
/// begin by events.
#[test]
fn all_to_alls_transfer_as_long_as_cuptis_kernels() {
    for run in ["truth_moe", "truth_v232_moe"] {
        let pairs = pairs(run, &tool::captures(&tool::run(run)), &[]);
        let ([[sum, _], [truth, _]], count) = transfers(&pairs, "AlltoAll");
        tool::say(&format!("{run}: {count} all-to-alls, {sum} of {truth} ns"));
        assert!(count > 30 && (sum / truth - 1.0).abs() < 0.15, "{run}: {sum} of {truth} ns");
    }
}

/// With NCCL's own kernels in the profiles, every operation that the GPU has timed has the time and the transfer of
/// its kernel.
#[test]
fn with_profiles_times_are_those_of_cuptis_kernels() {
    for run in runs() {
        let directory = tempfile::tempdir().unwrap();
        let options = profiles(&run, directory.path());
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let pairs = pairs(&run, &tool::captures(&tool::run(&run)), &options);
        let (mut timed, mut transferred) = (0, 0);
        for pair in &pairs {
            for (row, [begin, end]) in pair.iter().filter(|(row, _)| row.begin.is_some()) {
                let is_exact = (row.duration - (end - begin)).abs() <= ROUNDED;
                assert!(row.source == "kernels" && is_exact, "{run}: {row:?} of {} ns", end - begin);
                timed += 1;
            }
            let [one, other] = pair.each_ref().map(|(_, span)| *span);
            if let Some(transfer) = pair[0].0.transfer {
                let truth = one[1].max(other[1]) - one[0].max(other[0]);
                // causality may move the clocks of two ranks by some nanoseconds
                assert!((transfer - truth).abs() <= TICKS + truth / 100, "{run}: {transfer}, not {truth} ns: {pair:?}");
                transferred += 1;
            }
        }
        tool::say(&format!("{run}: {timed} of {} times, {transferred} transfers", 2 * pairs.len()));
        assert!(timed as f64 >= 0.98 * 2.0 * pairs.len() as f64 && transferred > 0, "{run}: {timed}");
    }
}

/// A rank that shares its GPU: every launch waited for other work, and only the first all-reduces have CUDA events. By
/// the launches, exchanges lie 20 us before to 45 us after their kernels. The kernels are on another clock, so they are
/// compared with those of the all-reduces, which stamps time.
#[test]
fn exchanges_that_waited_lie_beside_their_kernels() {
    const APART: i64 = 12_000;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/truth/waited/waited.r0.jsonl.gz");
    let (_, mut rows) = report::of(&[path], &[]);
    rows.sort_by_key(|row| row.begin);
    let later = |function: &str, kernel: &str| {
        let begins = rows.iter().filter(|row| row.function == function).map(|row| row.begin.unwrap());
        let begins: Vec<i64> = begins.collect();
        let kernels = cupti::begins("waited", 0, kernel);
        assert_eq!(begins.len(), kernels.len(), "{function}");
        begins.iter().zip(kernels).map(|(begin, kernel)| begin - kernel).collect::<Vec<i64>>()
    };
    let mut all_reduces = later("AllReduce", "ncclDevKernel_AllReduce");
    all_reduces.sort_unstable();
    let usual = all_reduces[all_reduces.len() / 2];
    // the GPU was with the other rank when the first one could have begun (docs/score-p.md)
    let exchanges = &later("Exchange", "ncclDevKernel_SendRecv")[1..];
    let apart: Vec<i64> = exchanges.iter().map(|later| later - usual).collect();
    tool::say(&format!("exchanges {:?} to {:?} ns from there", apart.iter().min(), apart.iter().max()));
    let are_close = apart.iter().filter(|apart| apart.abs() <= APART).count();
    assert!(exchanges.len() == 149 && are_close * 100 >= 98 * exchanges.len(), "{apart:?}");
}
