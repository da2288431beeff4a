//! Operations of which nothing more will come, on their way into the figures.

use crate::assembly::Judged;
use crate::figures::Figures;
use crate::operation::Operation;
use crate::series::{Place, Sums};
use crate::totals::Rank;

/// A collective is in the window in which it was enqueued.
fn show(operation: &Operation, judged: Judged, (place, nranks): (Place, i32), figures: &mut Figures) {
    if !operation.is_collective() {
        return;
    }
    let mut sums = Sums { collectives: 1, ..Sums::default() };
    if let Some((start, stop)) = judged.timing(operation).on_gpu() {
        (sums.timed, sums.nanoseconds) = (1, stop - start);
        if let Some(bytes) = operation.bus_bytes(nranks) {
            sums.bus_bytes = bytes;
            sums.bus_nanoseconds = if operation.is_first_of_kernel() { stop - start } else { 0 };
        }
    }
    figures.series.add(place, operation.start, None, &sums);
}

/// Takes in an operation of which nothing more will come.
pub(super) fn take(
    operation: &mut Operation,
    judged: Judged,
    (series, nranks): (Option<Place>, i32),
    (rank, place): (Rank, Option<u8>),
    figures: &mut Figures,
) {
    if operation.is_invisible(judged.timing(operation)) {
        figures.totals.invisible += 1;
        return;
    }
    if let Some(series) = series {
        show(operation, judged, (series, nranks), figures);
    }
    figures.settle(rank, place, operation, judged);
}
