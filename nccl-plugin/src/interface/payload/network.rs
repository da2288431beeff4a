//! Events of a network plugin, with the contents of NCCL's own networks.

use super::structure::{CMember, Structure, members};
use crate::interface::descriptor::Payload;
use crate::interface::kind::event;
use common::event::network::NetworkEvent;
use std::ffi::{c_int, c_void};
use std::mem::offset_of;

/// An event of a network plugin (v3 and later).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct NetPlugin {
    /// NCCL's id of the network plugin.
    id: i64,
    /// Data that only the network plugin understands.
    data: *mut c_void,
}

impl Structure for NetPlugin {
    const KIND: u64 = event::NET_PLUGIN;
    const MEMBERS: &'static [CMember] = members!(Self: id, data);

    #[inline(always)]
    unsafe fn decode<'a>(&self) -> Payload<'a> {
        // SAFETY: NCCL passes NULL, or the data of the network with that id, readable until the callback returns.
        let event = unsafe { network_event(self.id, self.data) };
        Payload::NetPlugin { id: self.id, data: self.data as usize, event }
    }

    fn encode(payload: &Payload<'_>) -> Option<Self> {
        let Payload::NetPlugin { id, data, .. } = *payload else { return None };
        Some(Self { id, data: data as *mut c_void })
    }
}

/// The structures of the contents: the network, offset, and members by their offset in it.
pub const CONTENTS: [(&str, usize, &[CMember]); 4] = [
    ("infiniband", 0, members!(InfinibandEvent: kind)),
    ("infiniband", offset_of!(InfinibandEvent, request), members!(WorkRequest: device, id, opcode, queue_pair, length)),
    ("sockets", 0, members!(SocketEvent: kind)),
    ("sockets", offset_of!(SocketEvent, transfer), members!(SocketTransfer: descriptor, operation, length)),
];

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
struct InfinibandEvent {
    /// Type of the event: 1 for a queue pair's work request.
    kind: u8,
    /// The work request.
    request: WorkRequest,
}

/// A work request of a queue pair.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct WorkRequest {
    /// Place of the device among those that NCCL has merged into one, else 0.
    device: c_int,
    /// Id of the work request.
    id: u64,
    /// Verb's opcode; of no meaning for a receive.
    opcode: c_int,
    /// Number of the queue pair.
    queue_pair: c_int,
    /// Bytes; 0 for a receive.
    length: usize,
}

/// Contents of an event of NCCL's socket network, version 1.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct SocketEvent {
    /// Type of the event: 1 for a transfer.
    kind: u8,
    /// The transfer.
    transfer: SocketTransfer,
}

/// A transfer over a socket.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct SocketTransfer {
    /// File descriptor.
    descriptor: c_int,
    /// 0 for a send, 1 for a receive.
    operation: c_int,
    /// Bytes.
    length: usize,
}

/// The contents of an event of one of NCCL's own networks, for a replay.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) union Contents {
    infiniband: InfinibandEvent,
    socket: SocketEvent,
}

impl Contents {
    /// Returns the contents of an event; `None` where they are not known.
    pub(crate) fn new(event: NetworkEvent) -> Option<Self> {
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
