//! How fast operations are, by function, communicator, size, algorithm and protocol.

mod baseline;
mod cell;
mod forced;
mod function;
mod row;
pub mod shape;
#[cfg(test)]
mod tests;

use super::factor::moved;
use super::sizes::BySize;
use crate::answer::{Dimension, Part, Speed, SpeedRow};
use crate::job::{Job, Links, reduces_in_network};
use crate::stream::{Listener, Occurrence};
pub use baseline::Baseline;
use cell::{Algorithm, Cell, Cells};
pub(super) use forced::{Forcing, Ran};
pub(super) use function::OccurrenceFunction;
use row::LinkRate;
use rustc_hash::FxHashMap;

/// Where rates of links are from that the processes have read.
pub const MACHINES: &str = "the machines: NVLink, PCIe and network adapters";

/// Listens for the times of operations.
#[derive(Default)]
pub struct Speeds {
    /// By communicator and function.
    cells: FxHashMap<(usize, OccurrenceFunction), BySize<Cells>>,
}

impl Speeds {
    /// Returns the part of the answer. Dimensions are by place of the communicator.
    pub fn finish(self, job: &Job, dimensions: &[Dimension], links: &Links) -> Part<Speed> {
        if self.cells.is_empty() {
            return Part::Absent("There is no operation.".into());
        }
        let mut rows: Vec<SpeedRow> = vec![];
        let forcing: Vec<Forcing> = job.communicators.iter().map(|of| Forcing::new(job, of)).collect();
        for ((place, function), sizes) in self.cells {
            let Some((communicator, forcing)) = job.communicators.get(place).zip(forcing.get(place)) else { continue };
            let dimension = dimensions.get(place).map_or("unknown", |dimension| dimension.name.as_str());
            let rate = links.rate(communicator.comm, function.kind());
            let by_size: Vec<([u64; 2], Cells)> = sizes.into_cells().collect();
            // the last operation of a group may be alone in a kernel: then others of the function are not
            let are_alone = !by_size.iter().any(|(_, cells)| cells.values().any(|cell| cell.is_grouped));
            for (range, cells) in by_size {
                let row = |(how, cell): (Algorithm, Cell)| {
                    let is_given = links.is_given(communicator.comm);
                    let link = rate.filter(|_| is_given || !reduces_in_network(&how.algorithm.text()));
                    let link = link.map(|rate| LinkRate { rate, is_given });
                    let nnodes = job.nodes_of(communicator);
                    let known = row::RowKeys { function, communicator, nnodes, dimension, range, how, link };
                    let mut row = row::speed_row(&known, &cell);
                    row.forced = forcing.of_row(&row, Ran { channels: cell.channels.0, are_alone });
                    row
                };
                rows.extend(cells.into_iter().map(row));
            }
        }
        rows.sort_by(|one, other| key(one).cmp(&key(other)));
        shape::expect(&mut rows);
        let link = rows.iter().any(|row| row.utilisation.is_some()).then(|| MACHINES.into());
        Part::Known(Speed { rows, link, ..Speed::default() })
    }
}

fn key(row: &SpeedRow) -> (&str, &str, u64, &str, &str) {
    (&row.function, &row.comm, row.from_bytes, &row.algorithm, &row.protocol)
}

impl Listener for Speeds {
    fn occurrence(&mut self, _job: &Job, occurrence: &Occurrence) {
        let (Some(function), Some(first)) = (OccurrenceFunction::of_occurrence(occurrence), occurrence.parts.first())
        else {
            return;
        };
        let bytes = occurrence.parts.iter().map(|part| moved(&part.call)).max().unwrap_or(0);
        let how = Algorithm { algorithm: first.call.algorithm, protocol: first.call.protocol };
        let sizes = self.cells.entry((first.call.communicator, function)).or_default();
        sizes.cell(bytes).entry(how).or_default().add(occurrence, bytes);
    }
}
