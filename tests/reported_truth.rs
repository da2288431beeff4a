//! The report against CUPTI's kernels of the same runs (tests/captures/truth_*, tests/truth), and against itself: from
//! the archive of a replay it has to say the same as from the recordings.
//!
//! A time by stamps is about 3 us shorter than CUPTI's kernel, since NCCL takes stamps inside the kernel. A time by CUDA
//! events is longer or shorter by some microseconds. Neither depends on the length of the kernel, so tolerances are a
//! number of microseconds for each operation. With `--kernels`, the times are those of NCCL's own kernels: CUPTI's.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod cupti;
#[path = "support/edited/mod.rs"]
mod edited;
#[path = "support/lines/mod.rs"]
mod lines;
#[path = "support/report/mod.rs"]
mod report;
#[path = "support/tool/mod.rs"]
mod tool;

use cupti::{Span, clipped, length, shared, united};
use edited::Edited;
use report::Row;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Nanoseconds by which a transfer may differ from CUPTI's, on average over the operations of a function.
const OFF: f64 = 4e3;
/// Part of the waits that differ from CUPTI's by no more than their likely error.
const LIKELY: f64 = 0.95;
/// Nanoseconds that stamps count at a time, and some more.
const TICKS: i64 = 100;
/// Nanoseconds by which the difference of two rounded times may be off.
const ROUNDED: i64 = 4;
/// A rank that begins later than the other by more nanoseconds is clearly last.
const CLEAR: i64 = 30_000;
/// Part of the operations with a rank that is clearly last in which it is known: on one clock, and on two, of which
/// causality says least where all operations take milliseconds.
const KNOWN: [f64; 2] = [0.95, 0.75];

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

/// Which waits were right.
#[derive(Debug, Default)]
struct Waits {
    all: usize,
    likely: usize,
    /// Those above their likely error.
    resolved: usize,
    resolved_likely: usize,
    clear: usize,
    known: usize,
    wrong: Vec<String>,
}

impl Waits {
    fn add(&mut self, run: &str, pair: &Pair) {
        let [begin, others] = pair.each_ref().map(|(_, span)| span[0]);
        let is_clear = (begin - others).abs() > CLEAR;
        self.clear += usize::from(is_clear);
        // a rank whose kernel is over before the other one begins waits no longer
        let ends = pair.each_ref().map(|(_, span)| span[1]);
        let truth = [others.min(ends[0]) - begin, begin.min(ends[1]) - others].map(|wait| wait.max(0));
        for ((row, _), truth) in pair.iter().zip(truth) {
            let Some(wait) = row.wait else { continue };
            let holds = (wait - truth).abs() <= row.wait_error + TICKS;
            self.all += 1;
            self.likely += usize::from(holds);
            if wait > row.wait_error {
                self.resolved += 1;
                self.resolved_likely += usize::from(holds);
            }
            if row.cost.is_some() {
                // who came last does not wait
                if truth > 0 {
                    self.wrong.push(format!("{run}: rank {} is not last in {row:?}", row.rank));
                } else {
                    self.known += usize::from(is_clear);
                }
            }
        }
    }

    fn check(&self, name: &str, known: f64) {
        tool::say(&format!("{name}: {self:?}"));
        assert!(self.wrong.is_empty(), "{:#?}", self.wrong);
        let hold = |part: usize, of: usize, share: f64| part as f64 >= share * of as f64;
        assert!(self.resolved > 100 && hold(self.resolved_likely, self.resolved, LIKELY), "{name}: {self:?}");
        assert!(hold(self.likely, self.all, LIKELY) && hold(self.known, self.clear, known), "{name}: {self:?}");
    }
}

#[test]
fn waits_are_those_between_cuptis_kernels() {
    let mut waits = Waits::default();
    for run in runs() {
        pairs(&run, &tool::captures(&tool::run(&run)), &[]).iter().for_each(|pair| waits.add(&run, pair));
    }
    waits.check("one clock", KNOWN[0]);
}

/// As if the second rank were on another machine that booted an hour earlier and has a wrong time of day: its clock is
/// known by causality alone.
#[test]
fn waits_between_two_clocks_are_too() {
    const HOUR: u64 = 3_600_000_000_000;
    let mut waits = Waits::default();
    for run in runs() {
        let mut captures = tool::captures(&tool::run(&run));
        let edited = Edited::of(&captures[1], |line| {
            if line["cb"] == "meta" {
                line["mono0"] = (line["mono0"].as_u64().unwrap() + HOUR).into();
                line["real0"] = (line["real0"].as_u64().unwrap() + 3_000_000).into();
            }
            // times of events are on the clock with the wrong time of day
            for time in ["first", "last"] {
                if let Some(of_day) = line[time].as_u64() {
                    line[time] = (of_day + 3_000_000).into();
                }
            }
        });
        captures[1] = edited.path();
        pairs(&run, &captures, &[]).iter().for_each(|pair| waits.add(&run, pair));
    }
    waits.check("two clocks", KNOWN[1]);
}

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

fn has_otf2() -> bool {
    let is_there = Command::new("otf2-print").arg("--version").output().is_ok();
    if !is_there {
        tool::skip("otf2-print is not installed (Debian: otf2-tools)");
    }
    is_there
}

/// Replays a run and returns the rows of the reports: of its recordings, and of its archive.
fn both_ways(run: &str) -> ([Vec<Row>; 2], [Value; 2]) {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive");
    tool::succeed(tool::tool().arg("replay").arg(tool::run(run)).arg("--otf2").arg(&archive));
    let [recorded, archived] = [tool::run(run), archive].map(|input| report::of(&[input], &[]));
    let rows = [recorded.1, archived.1].map(|mut rows| {
        rows.sort_by_key(|row| (row.communicator.clone(), row.rank, row.begin, row.function.clone(), row.sequence));
        rows
    });
    (rows, [recorded.0, archived.0])
}

/// Without the summary beside it, an archive does not say how many ranks a communicator has: its collectives are not
/// compared, and the report says so. Messages name their other side.
#[test]
fn an_archive_without_a_summary_compares_messages_alone() {
    if !has_otf2() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive");
    tool::succeed(tool::tool().arg("replay").arg(tool::run("nodes2x2_train")).arg("--otf2").arg(&archive));
    std::fs::remove_dir_all(archive.join("nccl")).unwrap();
    let (report, rows) = report::of(&[archive], &[]);
    let notes = report["complete"]["notes"].to_string();
    assert!(notes.contains("The number of ranks of 4 communicators is unknown"), "{notes}");
    assert_eq!(rows.len(), 960);
    assert!(rows.iter().all(|row| row.wait.is_some() == (row.messages > 0)));
}

/// An archive has the operations, times and waits of the recordings, where the GPU has timed all operations.
#[test]
fn the_archive_of_a_replay_says_the_same() {
    if !has_otf2() {
        return;
    }
    for run in ["nodes2x2_train", "truth_moe"] {
        let ([recorded, archived], [of_recordings, of_archive]) = both_ways(run);
        assert_eq!(recorded.len(), archived.len(), "{run}");
        for (row, other) in recorded.iter().zip(&archived) {
            let facts = |row: &Row| (row.communicator.clone(), row.rank, row.function.clone(), row.kind.clone());
            let figures = |row: &Row| (row.sequence, row.bytes, row.messages, row.duration, row.wait, row.transfer);
            assert_eq!((facts(row), figures(row)), (facts(other), figures(other)), "{run}");
            // an archive does not say how well clocks are known, so its errors are never smaller
            assert!(other.wait_error >= row.wait_error, "{run}: {row:?} {other:?}");
        }
        for part in ["/steps/known/count", "/steps/known/period", "/steps/known/warm_up", "/complete/matched"] {
            assert_eq!(of_recordings.pointer(part), of_archive.pointer(part), "{run} {part}");
        }
        let rates = |report: &Value| report["complete"]["wait_error_us"].as_f64();
        assert!(rates(&of_archive) >= rates(&of_recordings) && rates(&of_archive) > Some(0.0), "{run}");
    }
}
