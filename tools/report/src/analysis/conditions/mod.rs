//! The conditions of the processes: means by GPU, and their course over time.
//!
//! ```text
//! tables ──► rows of one process ──┬──► overview ──► answer
//!                                  └──► causes of late ranks
//! ```
//! The rows of a process are dropped before those of the next one are read, so memory does not grow with the number of
//! processes.

mod course;
mod means;
mod overview;
#[cfg(test)]
mod tests;

use crate::job::{Job, OperationTables};
use crate::stream::CommonClock;
use common::conditions::ConditionRow;
pub use means::{Means, blocked};
pub use overview::{Overview, of_process};

/// Conditions of a process in an interval on the common clock.
#[derive(Debug, Clone, PartialEq)]
struct PlacedRow {
    /// Begin and end, nanoseconds.
    span: [i64; 2],
    row: ConditionRow,
}

/// The conditions of a process on the common clock.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProcessRows {
    rows: Vec<PlacedRow>,
    /// Places on the PCI bus of the process' GPUs, by their places in the job; `None` unless both rows and job have one
    /// GPU of this process, since nothing says which of several is whose.
    buses: Option<Vec<String>>,
}

impl ProcessRows {
    /// Places the rows of a process that has a number of GPUs. `time` is from its clock to the common one.
    pub(super) fn place(rows: Vec<ConditionRow>, gpus: usize, time: impl Fn(u64) -> i64) -> Self {
        let mut buses: Vec<String> = vec![];
        for gpu in rows.iter().flat_map(|row| &row.gpus) {
            if !buses.contains(&gpu.bus) {
                buses.push(gpu.bus.clone());
            }
        }
        let place = |row: ConditionRow| {
            let end = time(row.until);
            let length = i64::try_from(row.length_us.saturating_mul(1000)).unwrap_or(i64::MAX);
            PlacedRow { span: [end.saturating_sub(length), end], row }
        };
        Self {
            rows: rows.into_iter().map(place).collect(),
            buses: Some(buses).filter(|buses| buses.len() == 1 && gpus == 1),
        }
    }

    /// Returns the rows of all the time, for the GPU at this place among those of the process.
    pub fn all(&self, gpu: usize) -> Means<'_> {
        self.those(gpu, |_| true)
    }

    /// Returns the rows that lie in a time, at least by half.
    pub fn inside(&self, gpu: usize, [begin, end]: [i64; 2]) -> Means<'_> {
        let is_inside = |it: &PlacedRow| {
            let part = it.span[1].min(end).saturating_sub(it.span[0].max(begin));
            part.saturating_mul(2) >= it.span[1].saturating_sub(it.span[0])
        };
        self.those(gpu, is_inside)
    }

    /// Returns the rows that touch a time, and all others.
    pub fn apart(&self, gpu: usize, [begin, end]: [i64; 2]) -> [Means<'_>; 2] {
        let is_then = |it: &PlacedRow| it.span[0] < end && it.span[1] > begin;
        [self.those(gpu, is_then), self.those(gpu, |it| !is_then(it))]
    }

    /// Returns the time of the rows that touch a time; `None` if none does.
    pub fn touching(&self, [begin, end]: [i64; 2]) -> Option<[i64; 2]> {
        let spans = self.rows.iter().map(|it| it.span).filter(|span| span[0] < end && span[1] > begin);
        spans.reduce(|one, other| [one[0].min(other[0]), one[1].max(other[1])])
    }

    fn those(&self, gpu: usize, are: impl Fn(&PlacedRow) -> bool) -> Means<'_> {
        Means::new(self.rows.iter().filter(|it| are(it)).map(|it| &it.row).collect(), self.bus(gpu))
    }

    fn bus(&self, gpu: usize) -> Option<&str> {
        self.buses.as_ref()?.get(gpu).map(String::as_str)
    }
}

/// Reads the conditions of one process after the other. A process without conditions is left out.
pub fn each_process(
    job: &Job,
    table: &dyn OperationTables,
    clocks: &CommonClock,
    mut take: impl FnMut(usize, &ProcessRows),
) {
    let mut gpus = vec![0; job.processes.len()];
    job.gpus.iter().for_each(|gpu| gpus.get_mut(gpu.process).into_iter().for_each(|gpus| *gpus += 1));
    for (process, gpus) in gpus.into_iter().enumerate() {
        // a report without them is better than none; the program that gives the tables names the damage
        let rows = table.conditions(process).unwrap_or_default();
        if !rows.is_empty() {
            take(process, &ProcessRows::place(rows, gpus, |own| clocks.time(process, own)));
        }
    }
}
