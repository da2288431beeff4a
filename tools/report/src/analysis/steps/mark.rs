//! What a call says of the optimizer.

use crate::job::RankOperation;
use common::name::NcclName;

/// Most bytes of a small call: norms, losses and flags are numbers, one or a few.
pub(super) const SMALL: u64 = 1 << 10;

/// What a call says of the optimizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// It leaves each rank a part of the gradients.
    Shards,
    /// It sums up a few numbers.
    Sum,
    /// Nothing.
    Other,
}

/// The functions that calls are marked by.
#[derive(Debug, Clone, Copy)]
pub(super) struct MarkedFunctions {
    reduce_scatter: NcclName,
    all_reduce: NcclName,
}

impl Default for MarkedFunctions {
    fn default() -> Self {
        Self { reduce_scatter: NcclName::of(Some(c"ReduceScatter")), all_reduce: NcclName::of(Some(c"AllReduce")) }
    }
}

impl MarkedFunctions {
    /// Returns the mark of a row that is no message.
    pub(super) fn mark(&self, row: &RankOperation) -> Mark {
        if row.function == self.reduce_scatter {
            Mark::Shards
        } else if row.function == self.all_reduce && (1..=SMALL).contains(&row.bytes) {
            Mark::Sum
        } else {
            Mark::Other
        }
    }
}
