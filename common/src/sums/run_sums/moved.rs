//! Bytes that NCCL's operations should have moved over NVLink.

use super::adding::grow;
use crate::hardware::Ways;
use crate::operation::Operation;
use crate::operation::nvlink::{Unknown, moved};
use std::collections::BTreeMap;

/// What the operations of a rank, or of several ranks, should have moved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moved {
    /// Numbers of ranks and nodes of the communicator.
    pub(crate) members: (i32, i32),
    /// Number of operations whose bytes are known.
    pub known: u64,
    /// Their bytes.
    pub bytes: Ways<u64>,
    /// Numbers of operations whose bytes are not known, by the reason.
    pub unknown: BTreeMap<Unknown, u64>,
}

impl Moved {
    /// Makes the sums of a rank of a communicator with these numbers of ranks and nodes.
    pub(super) fn of(members: (i32, i32)) -> Self {
        Self { members, ..Self::default() }
    }

    /// Adds an operation of rank `rank`.
    pub(super) fn add(&mut self, operation: &Operation, rank: i32) {
        match moved(operation, rank, self.members) {
            Ok(bytes) => {
                self.known += 1;
                self.grow(bytes);
            }
            Err(why) => *self.unknown.entry(why).or_default() += 1,
        }
    }

    /// Adds other sums.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.known += other.known;
        self.grow(other.bytes);
        other.unknown.iter().for_each(|(&why, count)| *self.unknown.entry(why).or_default() += count);
    }

    /// Returns the number of operations whose bytes are not known.
    pub(crate) fn unknown(&self) -> u64 {
        self.unknown.values().sum()
    }

    fn grow(&mut self, by: Ways<u64>) {
        grow(&mut self.bytes.sent, by.sent);
        grow(&mut self.bytes.received, by.received);
    }
}
