//! The course of conditions over the recording, in bins of equal length.

use super::means::{gpu_of, share_of_thread};
use super::{PlacedRow, ProcessRows};
use crate::answer::ConditionMap;
use common::conditions::{ConditionRow, GpuRow};

/// Most bins.
const MAX_BINS: usize = 120;
/// Most rows; of more GPUs, neighbours share one.
const MAX_ROWS: usize = 256;
/// Shortest bin, nanoseconds: the interval of the looks.
const MIN_BIN_NS: i64 = 1_000_000_000;

/// A condition whose course is kept.
#[derive(Debug)]
struct Followed {
    value: fn(&ConditionRow, Option<&GpuRow>) -> Option<f64>,
    /// Which one of two GPUs' values a row shows: the one that is worth a look.
    shown: fn(f32, f32) -> f32,
    /// Rows of bins.
    rows: Vec<Vec<Option<f32>>>,
}

/// The course so far.
#[derive(Debug)]
pub(super) struct Course {
    begin: i64,
    /// Length of a bin, nanoseconds.
    bin: i64,
    bins: usize,
    gpus_in_row: usize,
    waiting: Followed,
    sm_clock: Followed,
    power: Followed,
}

impl Course {
    /// Begins with an empty course of this time.
    pub(super) fn new(gpus: usize, [begin, end]: [i64; 2]) -> Self {
        let length = end.saturating_sub(begin).max(1);
        let bins = usize::try_from(length / MIN_BIN_NS).unwrap_or(MAX_BINS).clamp(1, MAX_BINS);
        let bin = (length - 1) / bins as i64 + 1;
        let gpus_in_row = gpus.div_ceil(MAX_ROWS).max(1);
        let followed =
            |value, shown| Followed { value, shown, rows: vec![vec![None; bins]; gpus.div_ceil(gpus_in_row)] };
        let waiting = |row: &ConditionRow, _: Option<&GpuRow>| share_of_thread(row, |it| it.waiting_us);
        Self {
            begin,
            bin,
            bins,
            gpus_in_row,
            waiting: followed(waiting, f32::max),
            sm_clock: followed(|_, gpu| ratio(gpu?.sm_mhz?, gpu?.sm_max_mhz?), f32::min),
            power: followed(|_, gpu| ratio(gpu?.power_w?, gpu?.power_limit_w?), f32::max),
        }
    }

    /// Takes in the rows of a GPU. `gpu` is its place in the job, `index` that in its process.
    pub(super) fn add(&mut self, gpu: usize, index: usize, rows: &ProcessRows) {
        let bus = rows.bus(index);
        let (begin, bin, bins, row) = (self.begin, self.bin, self.bins, gpu / self.gpus_in_row);
        for followed in [&mut self.waiting, &mut self.sm_clock, &mut self.power] {
            let value = |it: &PlacedRow| (followed.value)(&it.row, gpu_of(&it.row, bus));
            let means = means(&rows.rows, value, [begin, bin], bins);
            for (kept, mean) in followed.rows.get_mut(row).into_iter().flatten().zip(means) {
                let Some(mean) = mean else { continue };
                *kept = Some(kept.map_or(mean, |kept| (followed.shown)(kept, mean)));
            }
        }
    }

    /// Returns the answer.
    pub(super) fn finish(self) -> ConditionMap {
        let rows = |followed: Followed| {
            let is_known = followed.rows.iter().flatten().any(Option::is_some);
            if is_known { followed.rows } else { vec![] }
        };
        ConditionMap {
            bin_us: self.bin as f64 / 1e3,
            gpus_in_row: self.gpus_in_row as u64,
            waiting: rows(self.waiting),
            sm_clock: rows(self.sm_clock),
            power: rows(self.power),
        }
    }
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// Returns the mean of a value in each bin, by the time for which rows with it lie in the bin.
fn means(
    rows: &[PlacedRow],
    value: impl Fn(&PlacedRow) -> Option<f64>,
    [begin, bin]: [i64; 2],
    bins: usize,
) -> Vec<Option<f32>> {
    let mut sums = vec![[0.0; 2]; bins];
    for row in rows {
        let Some(value) = value(row) else { continue };
        let [from, until] = row.span.map(|time| time.saturating_sub(begin).clamp(0, bin.saturating_mul(bins as i64)));
        let first = usize::try_from(from / bin).unwrap_or(0);
        for (place, [sum, all]) in sums.iter_mut().enumerate().skip(first) {
            let edge = bin.saturating_mul(place as i64);
            if edge >= until {
                break;
            }
            let time = (until.min(edge.saturating_add(bin)) - from.max(edge)) as f64;
            (*sum, *all) = (*sum + value * time, *all + time);
        }
    }
    // four digits are enough for a picture, and keep a report small
    let mean = |[sum, all]: [f64; 2]| (all > 0.0).then(|| ((sum / all * 1e4).round() / 1e4) as f32);
    sums.into_iter().map(mean).collect()
}
