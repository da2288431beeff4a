//! The kind of a call.

/// The kind of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallKind {
    /// A collective that NCCL knows as one.
    Collective,
    /// Sends and receives of one group.
    Exchange,
    /// An exchange that sends to and receives from every other rank of its communicator.
    AllToAll,
}
