//! Where a rank of a communicator stands.

use common::name::NcclName;

/// An operation by which people recognise where a rank stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stand {
    pub(super) function: NcclName,
    pub(super) sequence: Option<u64>,
    pub(super) bytes: u64,
}

/// Where a rank stands.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RankCourse {
    pub(super) gpu: usize,
    pub(super) begun: u64,
    pub(super) ended: u64,
    pub(super) collectives: u64,
    pub(super) last_begun: Option<Stand>,
    pub(super) last_ended: Option<Stand>,
}

impl RankCourse {
    /// Returns whether an operation that it has begun has not ended.
    pub(super) fn waits(&self) -> bool {
        self.ended < self.begun
    }
}
