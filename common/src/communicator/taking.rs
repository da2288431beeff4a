//! Operations of which nothing more will come, on their way into the figures.

use crate::assembly::Judged;
use crate::figures::Figures;
use crate::kind::Kind;
use crate::operation::{Operation, Source};
use crate::series;
use crate::totals::Rank;

/// GPU-timed collectives since the last window, for the series.
#[derive(Debug, Default)]
pub(super) struct Collectives {
    pub(super) count: u64,
    pub(super) nanoseconds: u64,
    pub(super) bus_bytes: f64,
    pub(super) bus_nanoseconds: u64,
}

impl Collectives {
    fn add(&mut self, operation: &Operation, judged: Judged, nranks: i32) {
        if !(series::are_wanted() && operation.is_collective()) {
            return;
        }
        let Some((start, stop)) = judged.timing(operation).on_gpu() else { return };
        self.count += 1;
        self.nanoseconds += stop - start;
        if let Some(bytes) = operation.bus_bytes(nranks) {
            self.bus_bytes += bytes;
            self.bus_nanoseconds += stop - start;
        }
    }
}

/// Takes in an operation of which nothing more will come.
pub(super) fn take(
    operation: &mut Operation,
    judged: Judged,
    (collectives, nranks): (&mut Collectives, i32),
    (rank, place): (Rank, Option<u16>),
    figures: &mut Figures,
) {
    if operation.kind == Kind::CollApi && judged.timing(operation).source() != Source::Events {
        // a call that NCCL reports no further, and of which events tell nothing either
        figures.totals.invisible += 1;
        return;
    }
    collectives.add(operation, judged, nranks);
    figures.settle(rank, place, operation, judged);
}
