//! Sums of the operations of a communicator.

use crate::analysis::fold::Merge;
use crate::answer::SpeedRow;
use common::name::NcclName;
use common::operation::bus_factor;
use common::summary::SummaryOperations;
use std::collections::BTreeMap;

/// Share of the operations that need a GPU time for a mean to stand for all (docs/metrics.md#operations).
const MIN_TIMED_SHARE: f64 = 0.9;

/// Sums of one function over ranks. Times are microseconds.
#[derive(Debug, Clone, Default)]
struct RankSum {
    is_collective: bool,
    count: u64,
    bytes: u64,
    timed: u64,
    time: f64,
    kernel_time: f64,
    least: Option<f64>,
    /// Longest time; `None` where a rank's is not known.
    longest: Option<f64>,
    is_longest_unknown: bool,
}

/// Returns whether a communicator's id stands for ended communicators that are summed up.
pub(super) fn is_others(comm: &str) -> bool {
    comm.bytes().all(|digit| digit == b'0')
}

/// Sums by function.
#[derive(Debug, Clone, Default)]
pub(super) struct FunctionSums(BTreeMap<String, RankSum>);

impl Merge for RankSum {
    fn merge(&mut self, other: Self) {
        self.is_collective |= other.is_collective;
        self.count.merge(other.count);
        self.bytes.merge(other.bytes);
        self.timed.merge(other.timed);
        self.time += other.time;
        self.kernel_time += other.kernel_time;
        self.least = self.least.into_iter().chain(other.least).reduce(f64::min);
        self.longest = self.longest.into_iter().chain(other.longest).reduce(f64::max);
        self.is_longest_unknown |= other.is_longest_unknown;
    }
}

impl RankSum {
    fn row(&self, function: &str, nranks: i32) -> SpeedRow {
        let enough = self.timed > 0 && self.timed as f64 >= MIN_TIMED_SHARE * self.count as f64;
        let mean_bytes = self.bytes.checked_div(self.count).unwrap_or(0);
        let timed_bytes = self.bytes as f64 * self.timed as f64 / self.count as f64;
        // bytes per microsecond are 10^-3 GB/s
        let bandwidth = |factor: f64| timed_bytes * factor / self.kernel_time / 1e3;
        let factor = bus_factor(NcclName::of_text(function), nranks)
            .filter(|_| self.is_collective && enough && self.kernel_time > 0.0);
        SpeedRow {
            function: function.to_owned(),
            nranks,
            dimension: "unknown".into(),
            from_bytes: mean_bytes,
            to_bytes: mean_bytes,
            count: self.count,
            compared: self.timed,
            min_us: self.least,
            max_us: self.longest.filter(|_| !self.is_longest_unknown),
            mean_us: enough.then(|| self.time / self.timed as f64),
            busbw_mean: factor.map(bandwidth),
            ..SpeedRow::default()
        }
    }
}

impl FunctionSums {
    pub(super) fn add(&mut self, row: &SummaryOperations) {
        let sum = RankSum {
            is_collective: row.kind == "Coll",
            count: row.count,
            bytes: row.bytes,
            timed: row.gpu_timed,
            time: row.time_us,
            kernel_time: row.kernel_time_us,
            least: row.min_us,
            longest: row.max_us,
            is_longest_unknown: row.max_us.is_none(),
        };
        self.0.entry(row.func.clone()).or_default().merge(sum);
    }

    pub(super) fn merge(&mut self, other: Self) {
        Merge::merge(&mut self.0, other.0);
    }

    /// Returns the number of operations, that of those without a GPU time, and the bytes.
    pub(super) fn totals(&self) -> (u64, u64, u64) {
        let add = |(count, untimed, bytes): (u64, u64, u64), sum: &RankSum| {
            let more = sum.count.saturating_sub(sum.timed);
            (count.saturating_add(sum.count), untimed.saturating_add(more), bytes.saturating_add(sum.bytes))
        };
        self.0.values().fold((0, 0, 0), add)
    }

    /// Returns a row for each function.
    pub(super) fn rows(&self, nranks: i32) -> impl Iterator<Item = SpeedRow> {
        self.0.iter().map(move |(function, sum)| sum.row(function, nranks))
    }
}
