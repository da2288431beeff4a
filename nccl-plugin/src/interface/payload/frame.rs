//! The fields that every descriptor begins with: the event type, whose width differs between versions, the parent and
//! the rank.

use crate::interface::descriptor::{Descriptor, Payload};
use std::ffi::{c_int, c_void};

/// Access to the event type of a descriptor that is not decoded yet.
pub trait Frame {
    /// Event type.
    fn kind(&self) -> u64;
}

impl<Union> Frame for Wide<Union> {
    #[inline(always)]
    fn kind(&self) -> u64 {
        self.kind
    }
}

impl<Union> Frame for Narrow<Union> {
    #[inline(always)]
    fn kind(&self) -> u64 {
        u64::from(self.kind)
    }
}

/// A descriptor whose type is 64 bits wide: v5 and later.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Wide<Union> {
    /// Event type.
    pub kind: u64,
    /// Handle of the parent.
    pub parent: *mut c_void,
    /// Rank.
    pub rank: c_int,
    /// Payload; the type selects the union's member.
    pub payload: Union,
}

impl<Union> Wide<Union> {
    /// Returns the neutral descriptor, with the payload that the version has decoded from its union.
    #[inline(always)]
    pub(crate) fn descriptor<'a>(&self, payload: Payload<'a>) -> Descriptor<'a> {
        Descriptor { parent: self.parent as u64, rank: self.rank, payload }
    }

    /// Encodes a descriptor around the version's union.
    pub(crate) fn new(descriptor: &Descriptor<'_>, payload: Union) -> Self {
        let Descriptor { parent, rank, payload: said } = descriptor;
        Self { kind: said.bits(), parent: *parent as *mut c_void, rank: *rank, payload }
    }
}

/// A descriptor whose type is 8 bits wide: up to v4.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Narrow<Union> {
    /// Event type.
    pub kind: u8,
    /// Handle of the parent; an operation's parent is its group.
    pub parent: *mut c_void,
    /// Rank.
    pub rank: c_int,
    /// Payload; the type selects the union's member.
    pub payload: Union,
}

impl<Union> Narrow<Union> {
    /// Returns the neutral descriptor, as [`Wide::descriptor`] does.
    #[inline(always)]
    pub(crate) fn descriptor<'a>(&self, payload: Payload<'a>) -> Descriptor<'a> {
        Descriptor { parent: self.parent as u64, rank: self.rank, payload }
    }

    /// Encodes a descriptor around the version's union, with the operation's group, if it has one, as the parent.
    ///
    /// Returns `None` for event types that do not fit into 8 bits.
    pub(crate) fn new(descriptor: &Descriptor<'_>, payload: Union) -> Option<Self> {
        let group = match descriptor.payload {
            Payload::Coll(coll) => coll.group,
            Payload::P2p(p2p) => p2p.group,
            _ => 0,
        };
        let parent = if group == 0 { descriptor.parent } else { group };
        let kind = u8::try_from(descriptor.payload.bits()).ok()?;
        Some(Self { kind, parent: parent as *mut c_void, rank: descriptor.rank, payload })
    }
}
