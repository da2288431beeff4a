//! What callbacks report to the collector thread.

use crate::event::Communicator;
use crate::event::handle::Handle;

/// Of a communicator.
#[derive(Debug)]
pub(crate) enum News {
    /// A communicator was made.
    Opened {
        /// Its context.
        id: Handle,
        /// What NCCL told of it.
        communicator: Communicator,
    },
    /// An operation told what its communicator is.
    Told {
        /// Index of its context.
        index: u32,
        /// Communicator id.
        id: u64,
        /// Name, or empty.
        name: String,
        /// This process' rank in it.
        rank: i32,
    },
    /// A communicator was destroyed.
    Ended {
        /// Its context.
        id: Handle,
        /// When, in ticks.
        time: u64,
    },
}
