//! Times of collectives by size and by the way that NCCL ran them. They are kept only where NCCL's predictions are there
//! to be compared with them.

use crate::config::Regression;
use crate::event::kind::EventKind;
use crate::event::name::NcclName;
use crate::operation::kernels::Kernel;
use crate::operation::{Operation, Timing};
use crate::sums::services::{Service, Services};
use std::collections::BTreeMap;

/// Number of shapes that are kept.
const MOST: usize = 1024;

/// Collectives of one communicator that NCCL runs alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    /// Communicator id.
    pub comm: u64,
    /// Function.
    pub function: NcclName,
    /// Bytes, as NCCL reports them.
    pub bytes: u64,
    /// Algorithm.
    pub algorithm: NcclName,
    /// Protocol.
    pub protocol: NcclName,
    /// Number of channels.
    pub channels: u8,
}

/// Times of a shape.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShapeSum {
    /// Number of operations.
    pub count: u64,
    /// Number of operations among them that are alone in their kernels and timed by the GPU. The times are theirs.
    pub timed: u64,
    /// All of one size, nanoseconds.
    times: Services,
}

impl ShapeSum {
    /// Returns the median time, nanoseconds: off by less than an eighth ([`Services`]).
    pub fn median(&self) -> Option<f64> {
        self.of(Regression::Median)
    }

    /// Returns the least time, nanoseconds.
    pub fn least(&self) -> Option<f64> {
        self.of(Regression::Min)
    }

    fn of(&self, regression: Regression) -> Option<f64> {
        self.times.points(regression).first().map(|(_, time)| *time)
    }
}

/// The shapes of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shapes {
    sums: BTreeMap<Shape, ShapeSum>,
    /// Number of operations of shapes that found no room.
    pub lost: u64,
}

impl Shapes {
    /// Adds a collective that a kernel runs.
    pub(super) fn add(
        &mut self,
        comm: u64,
        operation: &Operation,
        kernel: Kernel,
        timing: Timing,
        nanoseconds_per_tick: f64,
    ) {
        if operation.kind != EventKind::Coll {
            return;
        }
        let Operation { function, bytes, algorithm, protocol, channels, .. } = *operation;
        let shape = Shape { comm, function, bytes, algorithm, protocol, channels };
        if self.sums.len() >= MOST && !self.sums.contains_key(&shape) {
            self.lost += 1;
            return;
        }
        let sum = self.sums.entry(shape).or_default();
        sum.count += 1;
        if matches!(timing, Timing::Stamps { .. } | Timing::Events(_)) && !kernel.shared {
            sum.timed += 1;
            sum.times.add(Service { bytes: 0, ticks: timing.nanoseconds(nanoseconds_per_tick), in_flight: 0 });
        }
    }

    /// Returns all shapes with their times.
    pub fn iter(&self) -> impl Iterator<Item = (&Shape, &ShapeSum)> {
        self.sums.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::tests::recorded;
    use crate::record::payload::OfOperation;

    #[test]
    fn operations_alone_in_their_kernels_give_the_times_and_the_rest_is_counted() {
        let mut shapes = Shapes::default();
        let mut add = |bytes, kernel, timing| {
            let [function, algorithm] = ["AllReduce", "RING"].map(NcclName::of_text);
            let of = OfOperation { bytes, function, algorithm, channels: 2, ..OfOperation::default() };
            shapes.add(7, &recorded(EventKind::Coll, 1, of), kernel, timing, 1.0);
        };
        let alone = Kernel::default();
        for time in [100, 300, 200] {
            add(8, alone, Timing::Stamps { start: 50, stop: 50 + time });
        }
        add(8, Kernel { shared: true, ..alone }, Timing::Stamps { start: 0, stop: 9 });
        add(8, alone, Timing::Enqueue(1));
        (0..MOST as u64 + 5).for_each(|bytes| add(bytes, alone, Timing::Enqueue(1)));
        assert_eq!((shapes.iter().count(), shapes.lost), (MOST, 5));
        let (shape, sum) = shapes.iter().find(|(shape, _)| shape.bytes == 8).unwrap();
        assert_eq!((shape.comm, shape.channels, sum.count, sum.timed), (7, 2, 6, 3));
        assert_eq!((sum.median(), sum.least()), (Some(200.0), Some(100.0)));
    }
}
