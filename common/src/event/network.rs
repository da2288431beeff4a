//! Events of network plugins, as far as NCCL documents their contents: those of NCCL's own InfiniBand and socket
//! networks.

/// An event of a network plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NetworkEvent {
    /// A work request of NCCL's InfiniBand network.
    QueuePair {
        /// Place of the device among those that NCCL has merged into one, else 0.
        device: i32,
        /// Number of the queue pair.
        number: i32,
        /// Bytes of the work request; 0 for a receive, of which the network reports none.
        bytes: u64,
    },
    /// A transfer over a socket of NCCL's socket network.
    Socket {
        /// The socket's file descriptor.
        descriptor: i32,
        /// Whether it sends.
        sends: bool,
        /// Bytes of the transfer.
        bytes: u64,
    },
    /// An event whose contents only the network plugin knows.
    Other,
}
