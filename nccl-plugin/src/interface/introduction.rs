//! A communicator, as NCCL's init introduces it.

use std::ffi::{CStr, c_int, c_void};

/// The arguments of init that describe a communicator.
#[derive(Debug, Clone, Copy)]
pub struct Introduction<'a> {
    /// Communicator id.
    pub id: u64,
    /// Name, if the communicator has one.
    pub name: Option<&'a CStr>,
    /// Number of nodes.
    pub nodes: c_int,
    /// Number of ranks.
    pub ranks: c_int,
    /// Rank of this process.
    pub rank: c_int,
    /// NCCL's function for log lines, or NULL.
    pub logger: *const c_void,
}
