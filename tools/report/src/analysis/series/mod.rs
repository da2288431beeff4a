//! Median transfers by step, for the comparison of two jobs.
//!
//! Without steps, a hundred equal slices of the job stand for them. A row of a communicator keeps the medians of at
//! most 512 steps. When there are more, every second one is given up: which ones, a hash of the step's number says, so
//! that all rows keep the same steps and no pattern of the job decides.

mod kept;

use kept::MAX_STEPS;
pub(crate) use kept::{ThinnedSeries, hash, is_kept, median};

use super::factor::moved;
use super::fold::Merge;
use super::sizes::BySize;
use super::speed::OccurrenceFunction;
use crate::answer::{Dimension, Series, SeriesRow};
use crate::job::Job;
use crate::stream::{CallKind, JudgedCall};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Number of slices of a job without steps.
const SLICES: i64 = 100;
/// Most transfers of a step that its median is taken of: the first ones.
const MAX_TRANSFERS: usize = 256;
/// Steps whose transfers are kept apart: ranks need not be in the same one.
const MAX_OPEN_STEPS: usize = 3;

/// Dimension, numbers of ranks and nodes, function, smallest and largest size.
type SeriesKey = (String, i32, i32, String, [u64; 2]);

/// The moments that a job is divided into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Division {
    Steps,
    /// Length of a slice, nanoseconds, and the begin of the first one on the common clock, once it is known.
    Slices(i64, Option<i64>),
}

/// Collects transfers by step.
#[derive(Debug)]
pub struct StepTransfers {
    division: Division,
    rows: FxHashMap<(usize, OccurrenceFunction), BySize<TransferRow>>,
}

impl StepTransfers {
    /// Begins to collect transfers by step.
    pub fn of_steps() -> Self {
        Self { division: Division::Steps, rows: FxHashMap::default() }
    }

    /// Begins to collect transfers by slices of the job.
    pub fn of_slices(job: &Job) -> Self {
        let length = job.processes.iter().map(|process| process.span[1].saturating_sub(process.span[0])).max();
        let slice = i64::try_from(length.unwrap_or(0)).unwrap_or(i64::MAX) / SLICES;
        Self { division: Division::Slices(slice.max(1), None), rows: FxHashMap::default() }
    }

    /// Adds the call of a GPU, with the number of its step after the warm-up; `None` for one that lies in no step. The
    /// steps are ignored if the job is divided into slices.
    ///
    /// A collective counts once, with the call of the first rank. Sends and receives count with each rank's exchange.
    pub fn call(&mut self, job: &Job, judged: &JudgedCall, step: Option<u64>) {
        let call = judged.call();
        let Some([latest_start, latest_stop]) = judged.latest.filter(|_| !call.is_fused) else { return };
        let Some(communicator) = job.communicators.get(call.communicator) else { return };
        let is_first = communicator.members.first().is_some_and(|member| member.rank == call.rank);
        if call.kind == CallKind::Collective && !is_first {
            return;
        }
        let step = match &mut self.division {
            Division::Steps => step,
            Division::Slices(length, begin) => {
                let begin = *begin.get_or_insert(latest_start);
                // calls of other GPUs may have begun before the first one that came
                u64::try_from((latest_start - begin).max(0) / *length).ok()
            }
        };
        let Some(step) = step else { return };
        let transfer = (latest_stop - latest_start).max(0) as f32 / 1e3;
        let sizes = self.rows.entry((call.communicator, OccurrenceFunction::of_call(call))).or_default();
        sizes.cell(moved(call)).add(step, transfer);
    }

    /// Returns the series. Dimensions are by place of the communicator.
    pub fn finish(self, job: &Job, dimensions: &[Dimension]) -> Series {
        let mut joined: BTreeMap<SeriesKey, DimensionTransfers> = BTreeMap::new();
        for ((place, function), sizes) in self.rows {
            let Some(communicator) = job.communicators.get(place) else { continue };
            let dimension = dimensions.get(place).map_or("unknown", |dimension| dimension.name.as_str());
            for (range, row) in sizes.into_cells() {
                let key = (dimension.to_owned(), communicator.nranks, communicator.nnodes, function.text(), range);
                joined.entry(key).or_default().add(row);
            }
        }
        let row = |((dimension, nranks, nnodes, function, [from_bytes, to_bytes]), joined): (
            SeriesKey,
            DimensionTransfers,
        )| SeriesRow {
            dimension,
            nranks,
            nnodes,
            function,
            from_bytes,
            to_bytes,
            count: joined.count,
            medians_us: joined.medians(),
        };
        let rows = joined.into_iter().map(row).collect();
        Series { of_steps: self.division == Division::Steps, rows, ..Series::default() }
    }
}

/// Transfers of one communicator, function and size, microseconds.
#[derive(Debug, Default)]
struct TransferRow {
    count: u64,
    open: BTreeMap<u64, Vec<f32>>,
    medians: BTreeMap<u64, f32>,
    thinned: u32,
}

impl TransferRow {
    fn add(&mut self, step: u64, transfer: f32) {
        self.count += 1;
        if !is_kept(step, self.thinned) || self.medians.contains_key(&step) {
            return;
        }
        let transfers = self.open.entry(step).or_default();
        if transfers.len() < MAX_TRANSFERS {
            transfers.push(transfer);
        }
        while self.open.len() > MAX_OPEN_STEPS {
            self.close_first();
        }
    }

    fn close_first(&mut self) {
        let Some((step, mut transfers)) = self.open.pop_first() else { return };
        if let Some(median) = median(&mut transfers) {
            self.medians.insert(step, median);
        }
        self.thin(0);
    }

    fn thin(&mut self, thinned: u32) {
        while self.thinned < thinned || self.medians.len() > MAX_STEPS {
            self.thinned += 1;
            self.medians.retain(|&step, _| is_kept(step, self.thinned));
        }
    }

    fn close(mut self) -> Self {
        while !self.open.is_empty() {
            self.close_first();
        }
        self
    }
}

/// Sizes are put together early in a job. The median of a step that both have is the mean of both, weighed alike.
impl Merge for TransferRow {
    fn merge(&mut self, other: Self) {
        let other = other.close();
        self.count += other.count;
        while !self.open.is_empty() {
            self.close_first();
        }
        for (step, median) in other.medians {
            self.medians.entry(step).and_modify(|own| *own = (*own + median) / 2.0).or_insert(median);
        }
        self.thin(other.thinned);
    }
}

/// Transfers of the communicators of one dimension.
#[derive(Debug, Default)]
struct DimensionTransfers {
    count: u64,
    thinned: u32,
    steps: BTreeMap<u64, Vec<f32>>,
}

impl DimensionTransfers {
    fn add(&mut self, row: TransferRow) {
        let row = row.close();
        self.count += row.count;
        self.thinned = self.thinned.max(row.thinned);
        for (step, median) in row.medians {
            self.steps.entry(step).or_default().push(median);
        }
    }

    /// Returns a step's median over the communicators, of each step that all of them have kept.
    fn medians(self) -> Vec<f32> {
        let thinned = self.thinned;
        let kept = self.steps.into_iter().filter(|(step, _)| is_kept(*step, thinned));
        kept.filter_map(|(_, mut medians)| median(&mut medians)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::occurrences::{collective, job, judged};
    use crate::stream::Occurrence;

    fn add(transfers: &mut StepTransfers, job: &Job, occurrence: &Occurrence, step: Option<u64>) {
        judged(occurrence).iter().for_each(|judged| transfers.call(job, judged, step));
    }

    #[test]
    fn a_step_has_its_median_over_operations_and_communicators() {
        let job = job(&[0; 4], &[&[0, 1], &[2, 3], &[0, 2]]);
        let mut transfers = StepTransfers::of_steps();
        for step in 0..4 {
            for (number, time) in [(0, 10_000), (1, 20_000), (2, 60_000)] {
                add(&mut transfers, &job, &collective(&job, number, 0, "AllReduce", 64, &[0, 0], time), Some(step));
            }
            add(&mut transfers, &job, &collective(&job, 3, 1, "AllReduce", 64, &[0, 0], 40_000), Some(step));
            add(&mut transfers, &job, &collective(&job, 3, 2, "AllReduce", 64, &[0, 0], 1_000), Some(step));
        }
        add(&mut transfers, &job, &collective(&job, 4, 0, "AllReduce", 64, &[0, 0], 1), None);
        let dimension = |name: &str| Dimension { name: name.into(), ..Dimension::default() };
        let series = transfers.finish(&job, &[dimension("DP"), dimension("DP"), dimension("TP")]);
        let [dp, tp] = series.rows.as_slice() else { panic!("two dimensions: {series:?}") };
        assert!(series.of_steps);
        assert_eq!((dp.dimension.as_str(), dp.count, dp.medians_us.clone()), ("DP", 16, vec![30.0; 4]));
        assert_eq!((tp.dimension.as_str(), tp.count, tp.medians_us.clone()), ("TP", 4, vec![1.0; 4]));
        assert_eq!((tp.function.as_str(), tp.from_bytes, tp.to_bytes, tp.nranks), ("AllReduce", 64, 64, 2));
    }

    #[test]
    fn a_long_job_keeps_some_of_its_steps() {
        let job = job(&[0; 2], &[&[0, 1]]);
        let mut transfers = StepTransfers::of_steps();
        for step in 0..100_000 {
            add(
                &mut transfers,
                &job,
                &collective(&job, 0, 0, "AllReduce", 64, &[0, 0], step as i64 * 1000),
                Some(step),
            );
        }
        let series = transfers.finish(&job, &[]);
        let kept = &series.rows[0].medians_us;
        assert!((150..=MAX_STEPS).contains(&kept.len()), "{}", kept.len());
        assert_eq!(series.rows[0].count, 100_000);
        // they are spread over the whole job
        let early = kept.iter().filter(|&&median| median < 50_000.0).count();
        assert!((kept.len() * 2 / 5..=kept.len() * 3 / 5).contains(&early), "{early} of {}", kept.len());
    }

    #[test]
    fn a_job_without_steps_is_cut_into_equal_slices() {
        let mut job = job(&[0; 2], &[&[0, 1]]);
        job.processes[0].span = [5_000, 1_005_000];
        let mut transfers = StepTransfers::of_slices(&job);
        for number in 0..1000 {
            let begin = number as i64 * 1000;
            let time = if number < 500 { 100 } else { 200 };
            add(
                &mut transfers,
                &job,
                &collective(&job, number, 0, "AllReduce", 64, &[begin, begin], begin + time),
                None,
            );
        }
        let series = transfers.finish(&job, &[]);
        assert!(!series.of_steps);
        let medians = &series.rows[0].medians_us;
        assert_eq!((medians.len(), medians[49], medians[50]), (100, 0.1, 0.2));
    }

    #[test]
    fn medians_are_exact() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [3.0]), Some(3.0));
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&mut [5.0, 1.0, 3.0]), Some(3.0));
    }
}
