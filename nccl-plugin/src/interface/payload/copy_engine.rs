//! Collectives by copy engine (v6 and later).

use super::{Tagged, pointer};
use crate::interface::descriptor::{self, Payload};
use common::text::CText;
use std::ffi::{c_char, c_int, c_void};

/// A collective by copy engine.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CeColl {
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
    /// NCCL's strategy of synchronising the copies.
    pub strategy: *const c_char,
    /// NCCL's intraBatchSync, as C's bool.
    pub intra_batch_sync: u8,
    /// Number of copies per batch.
    pub batch_size: u32,
    /// Number of batches.
    pub batches: u32,
    /// NCCL's ceSeqNum.
    pub ce_sequence: u32,
    /// Stream.
    pub stream: *mut c_void,
}

impl CeColl {
    /// # Safety
    /// The strings are NCCL's, alive during the callback.
    #[inline(always)]
    pub(crate) unsafe fn decode<'a>(&self) -> descriptor::CeColl<'a> {
        // SAFETY: the caller upholds the condition for all three strings.
        let [function, datatype, strategy] =
            unsafe { [CText::new(self.function), CText::new(self.datatype), CText::new(self.strategy)] };
        descriptor::CeColl {
            sequence: self.sequence,
            function,
            send: self.send_buffer as usize,
            receive: self.receive_buffer as usize,
            count: self.count as u64,
            root: self.root,
            datatype,
            strategy,
            intra_batch_sync: self.intra_batch_sync != 0,
            batch_size: self.batch_size,
            batches: self.batches,
            ce_sequence: self.ce_sequence,
            stream: self.stream as usize,
            tag: 0,
        }
    }

    pub(crate) fn encode(coll: &descriptor::CeColl<'_>) -> Self {
        Self {
            sequence: coll.sequence,
            function: pointer(coll.function),
            send_buffer: coll.send as *const c_void,
            receive_buffer: coll.receive as *mut c_void,
            count: coll.count as usize,
            root: coll.root,
            datatype: pointer(coll.datatype),
            strategy: pointer(coll.strategy),
            intra_batch_sync: u8::from(coll.intra_batch_sync),
            batch_size: coll.batch_size,
            batches: coll.batches,
            ce_sequence: coll.ce_sequence,
            stream: coll.stream as *mut c_void,
        }
    }
}

impl Tagged<CeColl> {
    /// # Safety
    /// The strings are NCCL's, alive during the callback.
    #[inline(always)]
    pub(crate) unsafe fn decode<'a>(&self) -> descriptor::CeColl<'a> {
        // SAFETY: the caller upholds the condition.
        descriptor::CeColl { tag: self.tag, ..unsafe { self.inner.decode() } }
    }

    pub(crate) fn encode(coll: &descriptor::CeColl<'_>) -> Self {
        Self { inner: CeColl::encode(coll), tag: coll.tag }
    }
}

/// Synchronisation of a collective by copy engine.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CeSync {
    /// NCCL's isComplete, as C's bool.
    pub complete: u8,
    /// Number of ranks.
    pub ranks: c_int,
}

impl CeSync {
    #[inline(always)]
    pub(crate) fn decode<'a>(&self) -> Payload<'a> {
        Payload::CeSync { complete: self.complete != 0, ranks: self.ranks }
    }

    pub(crate) fn encode(complete: bool, ranks: c_int) -> Self {
        Self { complete: u8::from(complete), ranks }
    }
}

/// A batch of copies of a collective by copy engine.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CeBatch {
    /// Number of copies.
    pub operations: c_int,
    /// Bytes of all copies.
    pub bytes: usize,
    /// NCCL's useIntraSync, as C's bool.
    pub intra_sync: u8,
}

impl CeBatch {
    #[inline(always)]
    pub(crate) fn decode<'a>(&self) -> Payload<'a> {
        Payload::CeBatch { operations: self.operations, bytes: self.bytes as u64, intra_sync: self.intra_sync != 0 }
    }

    pub(crate) fn encode(operations: c_int, bytes: u64, intra_sync: bool) -> Self {
        Self { operations, bytes: bytes as usize, intra_sync: u8::from(intra_sync) }
    }
}
