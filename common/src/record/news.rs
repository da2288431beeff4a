//! News for the collector thread from callbacks.

use crate::event::InitCommunicator;
use crate::event::handle::Handle;

/// News of a communicator.
#[derive(Debug)]
pub(crate) enum News {
    /// A communicator was made.
    Opened {
        /// Its context.
        id: Handle,
        /// What NCCL passed at init.
        communicator: InitCommunicator,
    },
    /// An operation gave its communicator's identity.
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
        /// Time of the end, in ticks.
        time: u64,
    },
}
