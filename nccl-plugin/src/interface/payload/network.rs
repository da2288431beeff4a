//! Events on the network: proxy operations, their steps, and events of a network plugin with the contents of NCCL's own
//! networks.

use crate::interface::descriptor::{self, Payload};
use common::event::network::NetworkEvent;
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
    /// # Safety
    /// The data are NULL, or what the network with that id passes, readable until the callback returns.
    #[inline(always)]
    pub(crate) unsafe fn decode<'a>(&self) -> Payload<'a> {
        // SAFETY: the caller upholds the condition.
        let event = unsafe { network_event(self.id, self.data) };
        Payload::NetPlugin { id: self.id, data: self.data as usize, event }
    }

    pub(crate) fn encode(id: i64, data: usize) -> Self {
        Self { id, data: data as *mut c_void }
    }
}

/// NCCL's id of its InfiniBand network: the network in the upper half, the version of its contents in the lower half.
const INFINIBAND: i64 = 1 << 16 | 1;
/// NCCL's id of its socket network.
const SOCKETS: i64 = 2 << 16 | 1;
/// The only type of event that either network has.
const FIRST_TYPE: u8 = 1;
/// NCCL's number of a socket's send.
const SEND: c_int = 0;

/// Contents of an event of NCCL's InfiniBand network, version 1.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct InfinibandEvent {
    /// Type of the event: 1 for a queue pair's work request.
    pub kind: u8,
    /// The work request.
    pub request: WorkRequest,
}

/// A work request of a queue pair.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct WorkRequest {
    /// Place of the device among those that NCCL has merged into one, else 0.
    pub device: c_int,
    /// Id of the work request.
    pub id: u64,
    /// Verb's opcode; of no meaning for a receive.
    pub opcode: c_int,
    /// Number of the queue pair.
    pub queue_pair: c_int,
    /// Bytes; 0 for a receive.
    pub length: usize,
}

/// Contents of an event of NCCL's socket network, version 1.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SocketEvent {
    /// Type of the event: 1 for a transfer.
    pub kind: u8,
    /// The transfer.
    pub transfer: SocketTransfer,
}

/// A transfer over a socket.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SocketTransfer {
    /// File descriptor.
    pub descriptor: c_int,
    /// 0 for a send, 1 for a receive.
    pub operation: c_int,
    /// Bytes.
    pub length: usize,
}

/// What one of NCCL's own networks passes with an event, for a replay.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) union Contents {
    infiniband: InfinibandEvent,
    socket: SocketEvent,
}

impl Contents {
    /// Returns the contents of an event; `None` where they are not known.
    pub(crate) fn of(event: NetworkEvent) -> Option<Self> {
        Some(match event {
            NetworkEvent::QueuePair { device, number, bytes } => {
                let request = WorkRequest { device, id: 0, opcode: 0, queue_pair: number, length: bytes as usize };
                Self { infiniband: InfinibandEvent { kind: FIRST_TYPE, request } }
            }
            NetworkEvent::Socket { descriptor, sends, bytes } => {
                let operation = if sends { SEND } else { SEND + 1 };
                let transfer = SocketTransfer { descriptor, operation, length: bytes as usize };
                Self { socket: SocketEvent { kind: FIRST_TYPE, transfer } }
            }
            NetworkEvent::Other => return None,
        })
    }
}

/// Reads the contents of an event, if its network is one of NCCL's own.
///
/// # Safety
/// `data` is NULL, or what the network with that id passes, readable during the callback.
#[inline(always)]
unsafe fn network_event(id: i64, data: *const c_void) -> NetworkEvent {
    // SAFETY: the caller passes NULL or the contents that the id names; NCCL's networks pass their own structures,
    // aligned.
    unsafe {
        match id {
            INFINIBAND => match data.cast::<InfinibandEvent>().as_ref() {
                Some(InfinibandEvent { kind: FIRST_TYPE, request }) => NetworkEvent::QueuePair {
                    device: request.device,
                    number: request.queue_pair,
                    bytes: request.length as u64,
                },
                _ => NetworkEvent::Other,
            },
            SOCKETS => match data.cast::<SocketEvent>().as_ref() {
                Some(SocketEvent { kind: FIRST_TYPE, transfer }) => NetworkEvent::Socket {
                    descriptor: transfer.descriptor,
                    sends: transfer.operation == SEND,
                    bytes: transfer.length as u64,
                },
                _ => NetworkEvent::Other,
            },
            _ => NetworkEvent::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T>(id: i64, data: *const T) -> NetworkEvent {
        // SAFETY: the tests pass NULL, or the structure of the id.
        unsafe { network_event(id, data.cast()) }
    }

    #[test]
    fn the_contents_of_nccls_own_networks_are_read() {
        let request = WorkRequest { device: 2, id: 7, opcode: 1, queue_pair: 300, length: 4096 };
        let pair = NetworkEvent::QueuePair { device: 2, number: 300, bytes: 4096 };
        let posted = InfinibandEvent { kind: 1, request };
        assert_eq!(read(0x1_0001, &raw const posted), pair);
        for operation in [0, 1] {
            let transfer = SocketTransfer { descriptor: 9, operation, length: 512 };
            let socket = NetworkEvent::Socket { descriptor: 9, sends: operation == 0, bytes: 512 };
            let begun = SocketEvent { kind: 1, transfer };
            assert_eq!(read(0x2_0001, &raw const begun), socket);
        }
        // newer contents, another type, another network, none
        let unknown = InfinibandEvent { kind: 2, request };
        assert_eq!(read(0x1_0001, &raw const unknown), NetworkEvent::Other);
        for id in [0x1_0002, 0x2_0002, 0x3_0001, 0, -1] {
            assert_eq!(read(id, std::ptr::dangling::<u8>()), NetworkEvent::Other, "{id:x}");
        }
        assert_eq!(read(0x1_0001, std::ptr::null::<u8>()), NetworkEvent::Other);
        assert_eq!(read(0x2_0001, std::ptr::null::<u8>()), NetworkEvent::Other);
    }
}
