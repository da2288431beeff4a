//! Collective operations of v2 and later.

use super::pointer;
use crate::interface::descriptor;
use common::text::CText;
use std::ffi::{c_char, c_int, c_void};

/// The fields of a collective operation that all versions since v3 share.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Coll {
    /// Sequence number among the communicator's operations of this function.
    pub sequence: u64,
    /// Name of the function.
    pub function: *const c_char,
    /// Send buffer.
    pub send_buffer: *const c_void,
    /// Receive buffer.
    pub receive_buffer: *mut c_void,
    /// Number of elements.
    pub count: usize,
    /// Rank of the root.
    pub root: c_int,
    /// Name of the element type.
    pub datatype: *const c_char,
    /// Number of channels.
    pub channels: u8,
    /// Number of warps.
    pub warps: u8,
    /// Name of the algorithm.
    pub algorithm: *const c_char,
    /// Name of the protocol.
    pub protocol: *const c_char,
}

impl Coll {
    /// # Safety
    /// The strings are NCCL's, alive during the callback.
    #[inline(always)]
    pub(crate) unsafe fn decode<'a>(&self) -> descriptor::Coll<'a> {
        // SAFETY: the caller upholds the condition for all four strings.
        let [function, datatype, algorithm, protocol] = unsafe {
            [
                CText::new(self.function),
                CText::new(self.datatype),
                CText::new(self.algorithm),
                CText::new(self.protocol),
            ]
        };
        descriptor::Coll {
            sequence: self.sequence,
            function,
            send: self.send_buffer as usize,
            receive: self.receive_buffer as usize,
            count: self.count as u64,
            root: self.root,
            datatype,
            channels: self.channels,
            warps: self.warps,
            algorithm,
            protocol,
            ..Default::default()
        }
    }

    pub(crate) fn encode(coll: &descriptor::Coll<'_>) -> Self {
        Self {
            sequence: coll.sequence,
            function: pointer(coll.function),
            send_buffer: coll.send as *const c_void,
            receive_buffer: coll.receive as *mut c_void,
            count: coll.count as usize,
            root: coll.root,
            datatype: pointer(coll.datatype),
            channels: coll.channels,
            warps: coll.warps,
            algorithm: pointer(coll.algorithm),
            protocol: pointer(coll.protocol),
        }
    }
}

/// A collective operation of v2: v3's fields with the traffic between them.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CollV2 {
    /// Sequence number among the communicator's operations of this function.
    pub sequence: u64,
    /// Name of the function.
    pub function: *const c_char,
    /// Send buffer.
    pub send_buffer: *const c_void,
    /// Receive buffer.
    pub receive_buffer: *mut c_void,
    /// Number of elements.
    pub count: usize,
    /// Rank of the root.
    pub root: c_int,
    /// Name of the element type.
    pub datatype: *const c_char,
    /// Bytes that NCCL expects to move. Not read: newer NCCL does not report them.
    pub traffic: usize,
    /// Number of channels.
    pub channels: u8,
    /// Number of warps.
    pub warps: u8,
    /// Name of the algorithm.
    pub algorithm: *const c_char,
    /// Name of the protocol.
    pub protocol: *const c_char,
}

impl CollV2 {
    /// # Safety
    /// The strings are NCCL's, alive during the callback.
    #[inline(always)]
    pub(crate) unsafe fn decode<'a>(&self) -> descriptor::Coll<'a> {
        let Self { sequence, function, send_buffer, receive_buffer, count, root, datatype, .. } = *self;
        let Self { channels, warps, algorithm, protocol, .. } = *self;
        let common = Coll {
            sequence,
            function,
            send_buffer,
            receive_buffer,
            count,
            root,
            datatype,
            channels,
            warps,
            algorithm,
            protocol,
        };
        // SAFETY: the caller upholds the condition.
        unsafe { common.decode() }
    }

    /// Encodes a collective operation. The traffic is 0, as in NCCL's wrapper.
    pub(crate) fn encode(coll: &descriptor::Coll<'_>) -> Self {
        let Coll {
            sequence,
            function,
            send_buffer,
            receive_buffer,
            count,
            root,
            datatype,
            channels,
            warps,
            algorithm,
            protocol,
        } = Coll::encode(coll);
        Self {
            sequence,
            function,
            send_buffer,
            receive_buffer,
            count,
            root,
            datatype,
            traffic: 0,
            channels,
            warps,
            algorithm,
            protocol,
        }
    }
}

/// An operation preceded by its communicator (v2 and v3).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Named<T> {
    /// Name of the communicator; NULL from the wrappers of newer NCCL.
    pub name: *const c_char,
    /// Id of the communicator; 0 from the wrappers of newer NCCL.
    pub communicator: u64,
    /// The operation.
    pub operation: T,
}

impl<T> Named<T> {
    /// # Safety
    /// The strings are NCCL's, alive during the callback.
    #[inline(always)]
    pub(crate) unsafe fn decode<'a>(&self, operation: descriptor::Coll<'a>) -> descriptor::Coll<'a> {
        // SAFETY: the caller upholds the condition.
        let name = unsafe { CText::new(self.name) };
        descriptor::Coll { communicator: Some((self.communicator, name)), ..operation }
    }

    pub(crate) fn encode(coll: &descriptor::Coll<'_>, operation: T) -> Self {
        let (communicator, name) = coll.communicator.unwrap_or_default();
        Self { name: pointer(name), communicator, operation }
    }
}

/// An operation followed by its group (v5 and later).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Grouped<T> {
    /// The operation.
    pub operation: T,
    /// Handle of the group.
    pub group: *mut c_void,
}

impl Grouped<Coll> {
    /// # Safety
    /// The strings are NCCL's, alive during the callback.
    #[inline(always)]
    pub(crate) unsafe fn decode<'a>(&self) -> descriptor::Coll<'a> {
        // SAFETY: the caller upholds the condition.
        descriptor::Coll { group: self.group as u64, ..unsafe { self.operation.decode() } }
    }

    pub(crate) fn encode(coll: &descriptor::Coll<'_>) -> Self {
        Self { operation: Coll::encode(coll), group: coll.group as *mut c_void }
    }
}

/// A collective operation of v7.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CollV7 {
    /// v5's fields.
    pub grouped: Grouped<Coll>,
    /// Name of the kernel variant.
    pub variant: *const c_char,
    /// Whether the kernel is symmetric: a C bool, declared as a byte because NCCL may write values other than 0 and 1.
    pub symmetric: u8,
    /// The user's tag; 0 for none.
    pub tag: u64,
}

impl CollV7 {
    /// # Safety
    /// The strings are NCCL's, alive during the callback.
    #[inline(always)]
    pub(crate) unsafe fn decode<'a>(&self) -> descriptor::Coll<'a> {
        // SAFETY: the caller upholds the condition for the variant and for v5's strings.
        let (variant, grouped) = unsafe { (CText::new(self.variant), self.grouped.decode()) };
        descriptor::Coll { variant, symmetric: self.symmetric != 0, tag: self.tag, ..grouped }
    }

    pub(crate) fn encode(coll: &descriptor::Coll<'_>) -> Self {
        let (variant, symmetric) = (pointer(coll.variant), u8::from(coll.symmetric));
        Self { grouped: Grouped::<Coll>::encode(coll), variant, symmetric, tag: coll.tag }
    }
}
