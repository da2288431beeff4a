//! What every descriptor begins with: the type, whose width differs between versions, the parent and the rank.

use crate::interface::descriptor::{Descriptor, Payload};
use std::ffi::{c_int, c_void};

/// What the frame says of the event before anything of it is decoded.
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
    /// What the version says of an event of this type.
    pub payload: Union,
}

impl<Union> Wide<Union> {
    /// Decoded, but for what the version has decoded of its union.
    #[inline(always)]
    pub(crate) fn descriptor<'a>(&self, payload: Payload<'a>) -> Descriptor<'a> {
        Descriptor { parent: self.parent as u64, rank: self.rank, payload }
    }

    /// Encodes, around the version's union.
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
    /// Handle of the parent; of an operation that is its group.
    pub parent: *mut c_void,
    /// Rank.
    pub rank: c_int,
    /// What the version says of an event of this type.
    pub payload: Union,
}

impl<Union> Narrow<Union> {
    /// As [`Wide::descriptor`].
    #[inline(always)]
    pub(crate) fn descriptor<'a>(&self, payload: Payload<'a>) -> Descriptor<'a> {
        Descriptor { parent: self.parent as u64, rank: self.rank, payload }
    }

    /// As [`Wide::new`]; `None` for types of more bits. The parent of an operation becomes its group, where it tells
    /// one.
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
