//! Takes operations of which nothing more will come into the figures.

use crate::figures::Figures;
use crate::figures::series::{SeriesTarget, WindowTotals};
use crate::operation::verdict::JudgedTime;
use crate::operation::{Operation, bus_bytes};
use crate::sums::run_sums::CommunicatorRank;

/// Adds a collective to the series, in the window in which it was enqueued.
fn show(operation: &Operation, judged: JudgedTime, (place, nranks): (SeriesTarget, i32), figures: &mut Figures) {
    if !operation.is_collective() {
        return;
    }
    let mut sums = WindowTotals { collectives: 1, ..WindowTotals::default() };
    if let Some((start, stop)) = judged.timing(operation).on_gpu() {
        (sums.timed, sums.nanoseconds) = (1, stop - start);
        if let Some(bytes) = operation.bus_bytes(nranks) {
            sums.bus_bytes = bytes;
            // the kernel's time counts with its first operation that has a bus bandwidth: operations without one, or
            // not recorded, may start before it
            let has_one = |function| bus_bytes(function, 0, nranks).is_some();
            sums.bus_nanoseconds = if judged.kernel.is_first(operation.distance, has_one) { stop - start } else { 0 };
        }
    }
    figures.series.add(place, operation.start, None, &sums);
}

/// Takes an operation of which nothing more will come into the figures.
pub(super) fn take(
    operation: &mut Operation,
    judged: JudgedTime,
    (series, nranks): (Option<SeriesTarget>, i32),
    (rank, place): (CommunicatorRank, Option<u8>),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::kind::EventKind;
    use crate::event::name::NcclName;
    use crate::figures::series::{Of, SeriesName, want};
    use crate::launch::{KernelTime, Untimed};
    use crate::operation::kernels::{CommunicatorKernels, KernelTiming};
    use crate::operation::tests::recorded;
    use crate::operation::verdict::StampVerdict;
    use crate::record::payload::{OfOperation, StartOrder};
    use std::ffi::CStr;

    /// Returns an operation `distance` starts behind the first operation of the only kernel.
    fn operation(function: &CStr, distance: u64, kernels: &mut CommunicatorKernels) -> Operation {
        let function = NcclName::of(Some(function));
        kernels.begun(0, distance as u16, distance + 1, Some(function));
        let payload = OfOperation {
            bytes: 1 << 20,
            function,
            place: StartOrder::new(distance, distance),
            ..OfOperation::default()
        };
        recorded(EventKind::Coll, 1000 + distance, payload)
    }

    #[test]
    fn the_bus_bandwidth_of_a_window_has_the_time_of_a_kernel_once() {
        // an operation too small to be recorded and one without a bus bandwidth start before two that have one
        let number = 50;
        want(Of::Communicator(number));
        let mut kernels = CommunicatorKernels::default();
        kernels.expect_launches();
        kernels.begun(0, 0, 99, None);
        let operations = [c"Other", c"AllReduce", c"AllGather"];
        let operations =
            (1..).zip(operations).map(|(distance, of)| operation(of, distance, &mut kernels)).collect::<Vec<_>>();
        kernels.learn(
            0,
            KernelTiming::Timed(KernelTime {
                start: 5000,
                stop: 9096,
                first: 5000,
                before: 0,
                launched: 0,
                learnt: 0,
                anchor: None,
            }),
        );
        // in whatever order the operations are taken
        for order in [[0, 1, 2], [2, 1, 0]] {
            let mut figures = Figures::default();
            let place = (0..=number).filter_map(|_| figures.series.open(2)).last().unwrap();
            figures.series.window(place, 1000);
            figures.series.end(place, 2000);
            for index in order {
                let operation = &operations[index];
                let judged = JudgedTime {
                    verdict: StampVerdict::OutOfStep,
                    kernel: operation.kernel(&kernels),
                    unheard: Untimed::NotBelieved,
                };
                show(operation, judged, (place, 2), &mut figures);
            }
            let series = crate::figures::metric::series("nccl_window_effective_busbw").unwrap();
            let points = figures.series.points(SeriesName { series, of: Of::Communicator(number) }, 1.0);
            // 1 MiB each, by two ranks, factor 1, in 4096 ns
            assert_eq!(points.iter().map(|point| point.value).collect::<Vec<_>>(), [2.0 * 256e9]);
        }
    }
}
