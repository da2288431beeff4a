//! Sums of the operations of one row.

use crate::analysis::factor::moved;
use crate::analysis::fold::{Largest, merge_fields};
use crate::analysis::sketch::TimeSketch;
use crate::stream::Occurrence;
use common::name::NcclName;
use std::collections::BTreeMap;

/// How NCCL does an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Algorithm {
    pub(super) algorithm: NcclName,
    pub(super) protocol: NcclName,
}

/// Sums of operations. Bytes are those of `factor::moved`.
#[derive(Default)]
pub(super) struct Cell {
    pub(super) count: u64,
    /// Most channels of an operation; 0 where they are not known.
    pub(super) channels: Largest<u8>,
    /// Whether an operation shared its kernel with another. NCCL chose for them together.
    pub(super) is_grouped: bool,
    /// Times from the latest begin to the latest end.
    pub(super) transfers: TimeSketch,
    /// Sum of the largest bytes of a rank, of the compared operations.
    pub(super) largest: u64,
    /// Sum of the mean bytes of the ranks, of the compared operations.
    pub(super) mean: f64,
    /// Whether the ranks' bytes differ in an operation.
    pub(super) is_unequal: bool,
    /// Calls that the GPU has timed, the sum of their durations in nanoseconds, and of their bytes.
    pub(super) timed: u64,
    pub(super) durations: u64,
    pub(super) timed_bytes: u64,
}

impl Cell {
    /// Adds an operation whose busiest rank has this many bytes.
    ///
    /// A kernel's time is that of all of its operations: those that share one count without a time.
    pub(super) fn add(&mut self, occurrence: &Occurrence, largest: u64) {
        self.count += 1;
        self.channels.0 = occurrence.parts.iter().map(|part| part.call.channels).fold(self.channels.0, u8::max);
        let bytes = || occurrence.parts.iter().map(|part| moved(&part.call));
        self.is_unequal |= bytes().any(|bytes| bytes != largest);
        if occurrence.parts.iter().any(|part| part.call.is_fused) {
            self.is_grouped = true;
            return;
        }
        for part in occurrence.parts.iter().filter(|part| part.call.source.is_gpu() && part.call.duration > 0) {
            self.timed += 1;
            self.durations = self.durations.saturating_add(part.call.duration);
            self.timed_bytes = self.timed_bytes.saturating_add(moved(&part.call));
        }
        if let Some(compared) = occurrence.compared {
            self.transfers.add(compared.transfer().unsigned_abs());
            self.largest = self.largest.saturating_add(largest);
            self.mean += bytes().map(|bytes| bytes as f64).sum::<f64>() / occurrence.parts.len() as f64;
        }
    }
}

merge_fields!(Cell: count, channels, is_grouped, transfers, largest, mean, is_unequal, timed, durations, timed_bytes;);

/// Cells by algorithm and protocol.
pub(super) type Cells = BTreeMap<Algorithm, Cell>;
