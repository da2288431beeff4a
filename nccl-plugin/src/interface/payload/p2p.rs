//! Sends and receives of v2 and later.

use super::{Grouped, Tagged, pointer};
use crate::interface::descriptor;
use common::text::CText;
use std::ffi::{c_char, c_int, c_void};

/// The fields of a send or receive that all versions since v4 share.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct P2p {
    /// Name of the function.
    pub function: *const c_char,
    /// Buffer.
    pub buffer: *mut c_void,
    /// Name of the element type.
    pub datatype: *const c_char,
    /// Number of elements.
    pub count: usize,
    /// Rank of the peer.
    pub peer: c_int,
    /// Number of channels.
    pub channels: u8,
}

impl P2p {
    /// # Safety
    /// The strings are NCCL's, alive during the callback.
    #[inline(always)]
    pub(crate) unsafe fn decode<'a>(&self) -> descriptor::P2p<'a> {
        // SAFETY: the caller upholds the condition for both strings.
        let [function, datatype] = unsafe { [CText::new(self.function), CText::new(self.datatype)] };
        descriptor::P2p {
            function,
            buffer: self.buffer as usize,
            datatype,
            count: self.count as u64,
            peer: self.peer,
            channels: self.channels,
            ..Default::default()
        }
    }

    pub(crate) fn encode(p2p: &descriptor::P2p<'_>) -> Self {
        Self {
            function: pointer(p2p.function),
            buffer: p2p.buffer as *mut c_void,
            datatype: pointer(p2p.datatype),
            count: p2p.count as usize,
            peer: p2p.peer,
            channels: p2p.channels,
        }
    }
}

/// A send or receive of v2 and v3: preceded by its communicator, and without channels.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NamedP2p {
    /// As in [`super::Named`].
    pub name: *const c_char,
    /// As in [`super::Named`].
    pub communicator: u64,
    /// Name of the function.
    pub function: *const c_char,
    /// Buffer.
    pub buffer: *mut c_void,
    /// Name of the element type.
    pub datatype: *const c_char,
    /// Number of elements.
    pub count: usize,
    /// Rank of the peer.
    pub peer: c_int,
}

impl NamedP2p {
    /// # Safety
    /// The strings are NCCL's, alive during the callback.
    #[inline(always)]
    pub(crate) unsafe fn decode<'a>(&self) -> descriptor::P2p<'a> {
        // SAFETY: the caller upholds the condition for all three strings.
        let [name, function, datatype] =
            unsafe { [CText::new(self.name), CText::new(self.function), CText::new(self.datatype)] };
        descriptor::P2p {
            communicator: Some((self.communicator, name)),
            function,
            buffer: self.buffer as usize,
            datatype,
            count: self.count as u64,
            peer: self.peer,
            ..Default::default()
        }
    }

    pub(crate) fn encode(p2p: &descriptor::P2p<'_>) -> Self {
        let (communicator, name) = p2p.communicator.unwrap_or_default();
        let P2p { function, buffer, datatype, count, peer, .. } = P2p::encode(p2p);
        Self { name: pointer(name), communicator, function, buffer, datatype, count, peer }
    }
}

impl Grouped<P2p> {
    /// # Safety
    /// The strings are NCCL's, alive during the callback.
    #[inline(always)]
    pub(crate) unsafe fn decode<'a>(&self) -> descriptor::P2p<'a> {
        // SAFETY: the caller upholds the condition.
        descriptor::P2p { group: self.group as u64, ..unsafe { self.operation.decode() } }
    }

    pub(crate) fn encode(p2p: &descriptor::P2p<'_>) -> Self {
        Self { operation: P2p::encode(p2p), group: p2p.group as *mut c_void }
    }
}

impl Tagged<Grouped<P2p>> {
    /// # Safety
    /// The strings are NCCL's, alive during the callback.
    #[inline(always)]
    pub(crate) unsafe fn decode<'a>(&self) -> descriptor::P2p<'a> {
        // SAFETY: the caller upholds the condition.
        descriptor::P2p { tag: self.tag, ..unsafe { self.inner.decode() } }
    }

    pub(crate) fn encode(p2p: &descriptor::P2p<'_>) -> Self {
        Self { inner: Grouped::<P2p>::encode(p2p), tag: p2p.tag }
    }
}
