//! Bytes that NCCL's operations should have moved over NVLink.

use super::CommunicatorRank;
use super::adding::grow;
use crate::hardware::Ways;
use crate::operation::Operation;
use crate::operation::nvlink::{UnknownBytes, moved};
use std::collections::BTreeMap;

/// What the operations of each rank should have moved; after its communicator's end, by the GPU that the rank was on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OverNvlink {
    ranks: BTreeMap<CommunicatorRank, MovedBytes>,
    ended: BTreeMap<Option<String>, MovedBytes>,
}

impl OverNvlink {
    /// Returns the sums of a rank.
    pub(super) fn of(&mut self, rank: CommunicatorRank) -> &mut MovedBytes {
        self.ranks.entry(rank).or_default()
    }

    /// Notes the numbers of ranks and nodes of a rank's communicator. The first ones hold.
    pub(super) fn count_members(&mut self, rank: CommunicatorRank, members: (i32, i32)) {
        self.ranks.entry(rank).or_insert_with(|| MovedBytes { members, ..MovedBytes::default() });
    }

    /// Keeps the sums of a rank, whose communicator has ended, under its GPU alone.
    pub(super) fn close(&mut self, rank: CommunicatorRank, gpu: Option<String>) {
        if let Some(moved) = self.ranks.remove(&rank) {
            self.ended.entry(gpu).or_default().merge(&moved);
        }
    }

    /// Returns the sums of each GPU; `gpu` names that of a rank. Ranks whose GPU is not known stand under `None`.
    pub fn by_gpu(&self, gpu: impl Fn(CommunicatorRank) -> Option<String>) -> BTreeMap<Option<String>, MovedBytes> {
        let mut sums = self.ended.clone();
        self.ranks.iter().for_each(|(&rank, moved)| sums.entry(gpu(rank)).or_default().merge(moved));
        sums
    }
}

/// What the operations of a rank, or of several ranks, should have moved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MovedBytes {
    /// Numbers of ranks and nodes of the communicator.
    pub(crate) members: (i32, i32),
    /// Number of operations whose bytes are known.
    pub known: u64,
    /// Their bytes.
    pub bytes: Ways<u64>,
    /// Numbers of operations whose bytes are not known, by the reason.
    pub unknown: BTreeMap<UnknownBytes, u64>,
}

impl MovedBytes {
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
    fn merge(&mut self, other: &Self) {
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
