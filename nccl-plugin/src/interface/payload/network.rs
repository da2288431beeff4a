//! Events on the network: proxy operations, their steps, and events of a network plugin.

use crate::interface::descriptor::{self, Payload};
use std::ffi::{c_int, c_void};

/// A proxy operation.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ProxyOperation {
    /// Id of the process that the operation belongs to; with PXN, another process.
    pub pid: libc::pid_t,
    /// Channel id.
    pub channel: u8,
    /// Rank of the peer.
    pub peer: c_int,
    /// Number of steps of the operation.
    pub steps: c_int,
    /// Bytes per chunk.
    pub chunk: c_int,
    /// Not 0 for a send.
    pub send: c_int,
}

impl ProxyOperation {
    #[inline(always)]
    pub(crate) fn decode<'a>(&self) -> Payload<'a> {
        let Self { pid, channel, peer, steps, chunk, send } = *self;
        Payload::ProxyOp(descriptor::ProxyOp { pid, channel, peer, steps, chunk, send })
    }

    pub(crate) fn encode(operation: &descriptor::ProxyOp) -> Self {
        let descriptor::ProxyOp { pid, channel, peer, steps, chunk, send } = *operation;
        Self { pid, channel, peer, steps, chunk, send }
    }
}

/// A step of a proxy operation.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ProxyStep {
    /// Number of the step.
    pub step: c_int,
}

impl ProxyStep {
    #[inline(always)]
    pub(crate) fn decode<'a>(&self) -> Payload<'a> {
        Payload::ProxyStep { step: self.step }
    }
}

/// An event of a network plugin (v3 and later).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NetPlugin {
    /// NCCL's id of the network plugin.
    pub id: i64,
    /// Data that only the network plugin understands.
    pub data: *mut c_void,
}

impl NetPlugin {
    #[inline(always)]
    pub(crate) fn decode<'a>(&self) -> Payload<'a> {
        Payload::NetPlugin { id: self.id, data: self.data as usize }
    }

    pub(crate) fn encode(id: i64, data: usize) -> Self {
        Self { id, data: data as *mut c_void }
    }
}
