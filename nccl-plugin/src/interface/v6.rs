//! Interface v6, NCCL 2.29 and 2.30: v5, plus collectives by copy engine.

use crate::interface::descriptor::{Descriptor, Payload};
use crate::interface::kind::event;
use crate::interface::payload::{CeBatch, CeColl, CeSync, Frame, Plain, StateArguments, Wide};
use crate::interface::v5;
use crate::interface::version::Version;

/// v6's event descriptor.
pub type Raw = Wide<Union>;

/// Payload of an event of v6: v5's members, plus the copy engine's.
#[repr(C)]
#[derive(Clone, Copy)]
pub union Union {
    /// Members that v5 has.
    pub v5: v5::Union,
    /// A collective by copy engine.
    pub ce_coll: CeColl,
    /// Synchronisation of a collective by copy engine.
    pub ce_sync: CeSync,
    /// Batch of copies of a collective by copy engine.
    pub ce_batch: CeBatch,
}

// SAFETY: the union consists of integers and raw pointers.
unsafe impl Plain for Union {}

/// Reads the member of the union that the type selects.
///
/// # Safety
/// NCCL has written that member, and its strings live as long as `'a`.
#[inline(always)]
pub(crate) unsafe fn payload<'a>(kind: u64, union: *const Union) -> Payload<'a> {
    // SAFETY: the caller upholds the condition; v5's members lie in the same places in v6's union.
    unsafe {
        match kind {
            event::CE_COLL => Payload::CeColl((*union).ce_coll.decode()),
            event::CE_SYNC => (*union).ce_sync.decode(),
            event::CE_BATCH => (*union).ce_batch.decode(),
            kind => v5::payload(kind, &raw const (*union).v5),
        }
    }
}

/// Writes the member that the payload's type selects; `None` for types that v6 does not have.
pub(crate) fn union(payload: &Payload<'_>) -> Option<Union> {
    let mut union = Union::zeroed();
    match payload {
        Payload::CeColl(coll) => union.ce_coll = CeColl::encode(coll),
        &Payload::CeSync { complete, ranks } => union.ce_sync = CeSync::encode(complete, ranks),
        &Payload::CeBatch { operations, bytes, intra_sync } => {
            union.ce_batch = CeBatch::encode(operations, bytes, intra_sync)
        }
        other => union.v5 = v5::union(other)?,
    }
    Some(union)
}

/// Interface v6.
#[derive(Debug)]
pub struct V6;

impl Version for V6 {
    type Raw = Raw;
    type Arguments = StateArguments;
    const NUMBER: u32 = 6;
    const TYPES: u64 = (event::CE_BATCH << 1) - 1;
    const API_CALLS: bool = true;

    #[inline(always)]
    unsafe fn decode<'a>(raw: *const Raw) -> Descriptor<'a> {
        // SAFETY: the caller upholds the condition.
        unsafe { (*raw).descriptor(payload((*raw).kind(), &raw const (*raw).payload)) }
    }

    fn encode(descriptor: &Descriptor<'_>) -> Option<Raw> {
        Some(Wide::new(descriptor, union(&descriptor.payload)?))
    }
}
