//! A row of the answer from its sums.

use super::cell::{Algorithm, Cell};
use super::function::OccurrenceFunction;
use crate::analysis::factor::factors;
use crate::answer::SpeedRow;
use crate::job::Communicator;
use common::name::NcclName;

/// Most of a link's rate that its calls reach. A machine's link with more than that is not the one that they use.
const MAX_LINK_SHARE: f64 = 1.1;

/// The rate of a link, GB/s, and whether the user has given it.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkRate {
    pub(super) rate: f64,
    pub(super) is_given: bool,
}

impl LinkRate {
    /// Returns a rate as a share of the link's.
    fn share(self, busbw: f64) -> Option<f64> {
        let share = (self.rate > 0.0).then(|| busbw / self.rate)?;
        (self.is_given || share <= MAX_LINK_SHARE).then_some(share)
    }
}

/// Keys of a row, and the link.
pub(super) struct RowKeys<'a> {
    pub(super) function: OccurrenceFunction,
    pub(super) communicator: &'a Communicator,
    pub(super) nnodes: i32,
    pub(super) dimension: &'a str,
    pub(super) range: [u64; 2],
    pub(super) how: Algorithm,
    pub(super) link: Option<LinkRate>,
}

/// Returns a row. Bytes over nanoseconds are GB/s.
pub(super) fn speed_row(known: &RowKeys<'_>, cell: &Cell) -> SpeedRow {
    let (function, communicator) = (known.function.text(), known.communicator);
    let (size, bus) = factors(known.function.kind(), NcclName::of_text(&function), communicator.nranks);
    let times = &cell.transfers;
    let microseconds = |nanoseconds: f64| nanoseconds / 1e3;
    let over = |bytes: u64, time: u64, factor: Option<f64>| {
        factor.filter(|_| time > 0 && bytes > 0).map(|factor| bytes as f64 * factor / time as f64)
    };
    let is_equal = !cell.is_unequal;
    let busbw = over(cell.largest, times.sum, bus).filter(|_| is_equal);
    let busiest = over(cell.largest, times.sum, Some(1.0)).filter(|_| cell.is_unequal);
    let mean = (cell.timed > 0).then(|| cell.durations as f64 / cell.timed as f64);
    SpeedRow {
        comm: format!("{:016x}", communicator.comm),
        nranks: communicator.nranks,
        nnodes: known.nnodes,
        dimension: known.dimension.to_owned(),
        from_bytes: known.range[0],
        to_bytes: known.range[1],
        algorithm: text(known.how.algorithm),
        protocol: text(known.how.protocol),
        count: cell.count,
        compared: times.count,
        min_us: times.ends.map(|[least, _]| microseconds(least as f64)),
        median_us: times.percentile(0.5).map(microseconds),
        p95_us: times.percentile(0.95).map(microseconds),
        max_us: times.ends.map(|[_, longest]| microseconds(longest as f64)),
        mean_us: mean.map(microseconds),
        algbw: over(cell.largest, times.sum, size).filter(|_| is_equal),
        busbw,
        busbw_mean: over(cell.timed_bytes, cell.durations, bus).filter(|_| is_equal),
        imbalance: (cell.is_unequal && cell.mean > 0.0).then(|| cell.largest as f64 / cell.mean),
        busiest,
        utilisation: busbw.zip(known.link).and_then(|(busbw, link)| link.share(busbw)),
        function,
        ..SpeedRow::default()
    }
}

/// Returns a name; an empty text where it is unknown.
fn text(name: NcclName) -> String {
    if name == NcclName::none() { String::new() } else { name.text() }
}
