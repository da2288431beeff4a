//! Transfers over the network of an operation, by the operation's size.

use super::adding::grow;
use crate::operation::Sends;

/// Operations of one function and class of size that sent transfers over the network. The class is the binary logarithm
/// of the operation's bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SendsSum {
    /// Number of operations that sent any.
    pub operations: u64,
    /// Number of transfers.
    pub transfers: u64,
    /// Bytes of the transfers.
    pub bytes: u64,
    /// Sum of the transfers' durations, ticks.
    pub ticks: u64,
}

impl SendsSum {
    /// Adds an operation.
    pub(super) fn add(&mut self, sends: Sends) {
        let Sends { count, bytes, ticks } = sends;
        self.merge(&Self { operations: 1, transfers: count, bytes, ticks });
    }

    /// Adds all operations of another sum.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.operations += other.operations;
        self.transfers += other.transfers;
        grow(&mut self.bytes, other.bytes);
        grow(&mut self.ticks, other.ticks);
    }
}
