//! Communicators for the copy.

/// A communicator to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AddedCommunicator {
    /// NCCL's id.
    pub(crate) id: u64,
    /// Its name for people.
    pub(crate) name: String,
    /// The location of each of its ranks, in their order.
    pub(crate) locations: Vec<u64>,
    /// All of its lanes.
    pub(crate) lanes: Vec<u64>,
}
