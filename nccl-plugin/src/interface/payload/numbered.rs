//! Operations of v1, which names functions, types, algorithms and protocols by number.
//!
//! The numbers are those of NCCL 2.23 (ncclFunc_t, ncclDataType_t, NCCL_ALGO_*, NCCL_PROTO_*), the only release whose
//! newest interface is v1, and of the types that later releases added. NCCL has never renumbered an entry.

use super::pointer;
use crate::interface::descriptor::{self, Payload};
use common::text::CText;
use std::ffi::{CStr, c_char, c_int, c_void};

const FUNCTIONS: [&CStr; 8] =
    [c"Broadcast", c"Reduce", c"AllGather", c"ReduceScatter", c"AllReduce", c"SendRecv", c"Send", c"Recv"];
const DATATYPES: [&CStr; 12] = [
    c"ncclInt8",
    c"ncclUint8",
    c"ncclInt32",
    c"ncclUint32",
    c"ncclInt64",
    c"ncclUint64",
    c"ncclFloat16",
    c"ncclFloat32",
    c"ncclFloat64",
    c"ncclBfloat16",
    c"ncclFloat8e4m3",
    c"ncclFloat8e5m2",
];
const ALGORITHMS: [&CStr; 7] = [c"TREE", c"RING", c"COLLNET_DIRECT", c"COLLNET_CHAIN", c"NVLS", c"NVLS_TREE", c"PAT"];
const PROTOCOLS: [&CStr; 3] = [c"LL", c"LL128", c"SIMPLE"];
/// NCCL's -1 for no algorithm or protocol, in 8 bits.
const UNDEFINED: u8 = u8::MAX;

fn name(names: &[&'static CStr], number: u8) -> Option<CText<'static>> {
    names.get(usize::from(number)).copied().map(CText::from)
}

fn number(names: &[&CStr], name: Option<CText<'_>>) -> Option<u8> {
    let name = name?.c_str();
    let place = names.iter().position(|&known| known == name)?;
    u8::try_from(place).ok()
}

/// Returns an operation with the names whose numbers NCCL's wrapper writes for those without a number: a send of 64-bit
/// elements by PAT and SIMPLE.
pub(crate) fn wrapped<'a>(payload: Payload<'a>) -> Payload<'a> {
    let named = |names: &[&CStr], name: Option<CText<'a>>, other: &'static CStr| {
        number(names, name).map_or(Some(other.into()), |_| name)
    };
    let function = |name| named(&FUNCTIONS, name, c"Send");
    let datatype = |name| named(&DATATYPES, name, c"ncclFloat64");
    match payload {
        Payload::Coll(coll) => Payload::Coll(descriptor::Coll {
            function: function(coll.function),
            datatype: datatype(coll.datatype),
            algorithm: named(&ALGORITHMS, coll.algorithm, c"PAT"),
            protocol: named(&PROTOCOLS, coll.protocol, c"SIMPLE"),
            ..coll
        }),
        Payload::P2p(p2p) => {
            Payload::P2p(descriptor::P2p { function: function(p2p.function), datatype: datatype(p2p.datatype), ..p2p })
        }
        other => other,
    }
}

/// A collective operation of v1.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NumberedColl {
    /// As in [`super::Named`].
    pub name: *const c_char,
    /// As in [`super::Named`].
    pub communicator: u64,
    /// Sequence number among the communicator's operations of this function.
    pub sequence: u64,
    /// Number of the function.
    pub function: u8,
    /// Send buffer.
    pub send_buffer: *const c_void,
    /// Receive buffer.
    pub receive_buffer: *mut c_void,
    /// Number of elements.
    pub count: usize,
    /// Rank of the root.
    pub root: c_int,
    /// Number of the element type.
    pub datatype: u8,
    /// NCCL's reduction operation. Not read.
    pub reduction: u32,
    /// As in [`super::CollV2`].
    pub traffic: usize,
    /// Number of channels.
    pub channels: u8,
    /// Number of warps.
    pub warps: u8,
    /// Number of the algorithm.
    pub algorithm: u8,
    /// Number of the protocol.
    pub protocol: u8,
    /// Whether CollNet is in use. Not read.
    pub collnet: c_int,
    /// Whether NVLS is in use. Not read.
    pub nvls: c_int,
}

impl NumberedColl {
    /// # Safety
    /// The name is NCCL's, alive during the callback.
    #[inline(always)]
    pub(crate) unsafe fn decode<'a>(&self) -> descriptor::Coll<'a> {
        // SAFETY: the caller upholds the condition.
        let communicator = unsafe { CText::new(self.name) };
        descriptor::Coll {
            communicator: Some((self.communicator, communicator)),
            sequence: self.sequence,
            function: name(&FUNCTIONS, self.function),
            send: self.send_buffer as usize,
            receive: self.receive_buffer as usize,
            count: self.count as u64,
            root: self.root,
            datatype: name(&DATATYPES, self.datatype),
            channels: self.channels,
            warps: self.warps,
            algorithm: name(&ALGORITHMS, self.algorithm),
            protocol: name(&PROTOCOLS, self.protocol),
            ..Default::default()
        }
    }

    /// Encodes a collective operation. Fields that the neutral form lacks are 0, as in NCCL's wrapper.
    ///
    /// Returns `None` for a function or a type without a number. NCCL's wrapper wrongly writes a send of 64-bit
    /// elements for them.
    pub(crate) fn encode(coll: &descriptor::Coll<'_>) -> Option<Self> {
        let (communicator, name) = coll.communicator.unwrap_or_default();
        Some(Self {
            name: pointer(name),
            communicator,
            sequence: coll.sequence,
            function: number(&FUNCTIONS, coll.function)?,
            send_buffer: coll.send as *const c_void,
            receive_buffer: coll.receive as *mut c_void,
            count: coll.count as usize,
            root: coll.root,
            datatype: number(&DATATYPES, coll.datatype)?,
            reduction: 0,
            traffic: 0,
            channels: coll.channels,
            warps: coll.warps,
            algorithm: number(&ALGORITHMS, coll.algorithm).unwrap_or(UNDEFINED),
            protocol: number(&PROTOCOLS, coll.protocol).unwrap_or(UNDEFINED),
            collnet: 0,
            nvls: 0,
        })
    }
}

/// A send or receive of v1.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NumberedP2p {
    /// As in [`super::Named`].
    pub name: *const c_char,
    /// As in [`super::Named`].
    pub communicator: u64,
    /// Number of the function.
    pub function: u8,
    /// Buffer.
    pub buffer: *mut c_void,
    /// Number of the element type.
    pub datatype: u8,
    /// Number of elements.
    pub count: usize,
    /// Rank of the peer.
    pub peer: c_int,
}

impl NumberedP2p {
    /// # Safety
    /// The name is NCCL's, alive during the callback.
    #[inline(always)]
    pub(crate) unsafe fn decode<'a>(&self) -> descriptor::P2p<'a> {
        // SAFETY: the caller upholds the condition.
        let communicator = unsafe { CText::new(self.name) };
        descriptor::P2p {
            communicator: Some((self.communicator, communicator)),
            function: name(&FUNCTIONS, self.function),
            buffer: self.buffer as usize,
            datatype: name(&DATATYPES, self.datatype),
            count: self.count as u64,
            peer: self.peer,
            ..Default::default()
        }
    }

    /// Encodes a send or receive; `None` as in [`NumberedColl::encode`].
    pub(crate) fn encode(p2p: &descriptor::P2p<'_>) -> Option<Self> {
        let (communicator, name) = p2p.communicator.unwrap_or_default();
        Some(Self {
            name: pointer(name),
            communicator,
            function: number(&FUNCTIONS, p2p.function)?,
            buffer: p2p.buffer as *mut c_void,
            datatype: number(&DATATYPES, p2p.datatype)?,
            count: p2p.count as usize,
            peer: p2p.peer,
        })
    }
}
