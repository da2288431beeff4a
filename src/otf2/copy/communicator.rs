//! Communicators for the copy.

/// A communicator to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AddedCommunicator {
    /// Its name.
    pub(crate) name: String,
    /// The location of each of its ranks, in their order.
    pub(crate) locations: Vec<u64>,
}
