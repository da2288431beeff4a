//! A communicator, as NCCL's init introduces it.

use std::ffi::{CStr, c_int, c_void};

/// What init says of it.
#[derive(Debug, Clone, Copy)]
pub struct Introduction<'a> {
    /// Communicator id.
    pub id: u64,
    /// Its name, when it has one.
    pub name: Option<&'a CStr>,
    /// Nodes.
    pub nodes: c_int,
    /// Ranks.
    pub ranks: c_int,
    /// This one.
    pub rank: c_int,
    /// NCCL's function for log lines.
    pub logger: *const c_void,
}
