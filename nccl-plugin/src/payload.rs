//! What an event's descriptor says beyond its type: structures that several versions of the interface share.
//!
//! Declared in the order and with the types of NCCL's plugin interface (repository NVIDIA/nccl, src/include/plugin/profiler);
//! names are ours. A version's descriptor is a union of those it has.

use crate::descriptor::{self, Descriptor, Payload};
use std::ffi::{CStr, c_char, c_int, c_void};

/// NCCL's string, if it is one.
///
/// # Safety
/// `text` is NULL or a NUL-terminated string that lives as long as `'a`; NCCL guarantees it for the length of the callback.
pub(crate) unsafe fn string<'a>(text: *const c_char) -> Option<&'a CStr> {
    // SAFETY: the caller's.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
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
    /// Decodes, with the version's own way to read its union.
    pub(crate) fn descriptor<'a>(&self, payload: impl FnOnce(u64, *const Union) -> Payload<'a>) -> Descriptor<'a> {
        let payload = payload(self.kind, &raw const self.payload);
        Descriptor { parent: self.parent as u64, rank: self.rank, payload }
    }
}

/// A descriptor whose type is 8 bits wide: up to v4.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Narrow<Union> {
    /// Event type.
    pub kind: u8,
    /// Handle of the parent.
    pub parent: *mut c_void,
    /// Rank.
    pub rank: c_int,
    /// What the version says of an event of this type.
    pub payload: Union,
}

impl<Union> Narrow<Union> {
    /// As [`Wide::descriptor`].
    pub(crate) fn descriptor<'a>(&self, payload: impl FnOnce(u64, *const Union) -> Payload<'a>) -> Descriptor<'a> {
        let payload = payload(u64::from(self.kind), &raw const self.payload);
        Descriptor { parent: self.parent as u64, rank: self.rank, payload }
    }
}

/// A collective operation, as far as all versions since v4 say alike.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Coll {
    /// Number among those of its function.
    pub sequence: u64,
    /// Function.
    pub function: *const c_char,
    /// Not used.
    pub send_buffer: *const c_void,
    /// Not used.
    pub receive_buffer: *mut c_void,
    /// Elements.
    pub count: usize,
    /// Root.
    pub root: c_int,
    /// Type of the elements.
    pub datatype: *const c_char,
    /// Channels.
    pub channels: u8,
    /// Warps.
    pub warps: u8,
    /// Algorithm.
    pub algorithm: *const c_char,
    /// Protocol.
    pub protocol: *const c_char,
}

impl Coll {
    /// # Safety
    /// The strings are NCCL's, alive during the callback.
    pub(crate) unsafe fn decode<'a>(&self) -> descriptor::Coll<'a> {
        // SAFETY: the caller's, for all four strings.
        let [function, datatype, algorithm, protocol] =
            [self.function, self.datatype, self.algorithm, self.protocol].map(|text| unsafe { string(text) });
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
}

/// A send or receive, as far as all versions since v4 say alike.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct P2p {
    /// Function.
    pub function: *const c_char,
    /// Not used.
    pub buffer: *mut c_void,
    /// Type of the elements.
    pub datatype: *const c_char,
    /// Elements.
    pub count: usize,
    /// The other rank.
    pub peer: c_int,
    /// Channels.
    pub channels: u8,
}

impl P2p {
    /// # Safety
    /// The strings are NCCL's, alive during the callback.
    pub(crate) unsafe fn decode<'a>(&self) -> descriptor::P2p<'a> {
        // SAFETY: the caller's, for both strings.
        let [function, datatype] = [self.function, self.datatype].map(|text| unsafe { string(text) });
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
}

/// A call of a collective function.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CollApi {
    /// Function.
    pub function: *const c_char,
    /// Elements.
    pub count: usize,
    /// Type of the elements.
    pub datatype: *const c_char,
    /// Root.
    pub root: c_int,
    /// Not used.
    pub stream: *mut c_void,
    /// Whether it is captured into a graph, as C's bool. A byte here: what NCCL writes need not be 0 or 1.
    pub captured: u8,
}

impl CollApi {
    /// # Safety
    /// The strings are NCCL's, alive during the callback.
    pub(crate) unsafe fn decode<'a>(&self) -> descriptor::CollApi<'a> {
        // SAFETY: the caller's, for both strings.
        let [function, datatype] = [self.function, self.datatype].map(|text| unsafe { string(text) });
        descriptor::CollApi {
            function,
            count: self.count as u64,
            datatype,
            root: self.root,
            stream: self.stream as usize,
            captured: self.captured != 0,
            tag: 0,
        }
    }
}

/// A call of a point-to-point function.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct P2pApi {
    /// Function.
    pub function: *const c_char,
    /// Elements.
    pub count: usize,
    /// Type of the elements.
    pub datatype: *const c_char,
    /// Not used.
    pub stream: *mut c_void,
    /// As in [`CollApi`].
    pub captured: u8,
}

impl P2pApi {
    /// # Safety
    /// The strings are NCCL's, alive during the callback.
    pub(crate) unsafe fn decode<'a>(&self) -> descriptor::P2pApi<'a> {
        // SAFETY: the caller's, for both strings.
        let [function, datatype] = [self.function, self.datatype].map(|text| unsafe { string(text) });
        descriptor::P2pApi {
            function,
            count: self.count as u64,
            datatype,
            stream: self.stream as usize,
            captured: self.captured != 0,
            tag: 0,
        }
    }
}

/// A proxy operation.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ProxyOperation {
    /// Process it belongs to.
    pub pid: libc::pid_t,
    /// Channel id.
    pub channel: u8,
    /// The other rank.
    pub peer: c_int,
    /// Steps to come.
    pub steps: c_int,
    /// Bytes per chunk.
    pub chunk: c_int,
    /// Not 0 for a send.
    pub send: c_int,
}

impl ProxyOperation {
    pub(crate) fn decode<'a>(&self) -> Payload<'a> {
        Payload::ProxyOp(descriptor::ProxyOp {
            pid: self.pid,
            channel: self.channel,
            peer: self.peer,
            steps: self.steps,
            chunk: self.chunk,
            send: self.send,
        })
    }
}

/// A step of a proxy operation.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ProxyStep {
    /// Its number.
    pub step: c_int,
}

/// A kernel channel.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct KernelChannel {
    /// Channel id.
    pub channel: u8,
    /// The GPU's clock at the start.
    pub ptimer: u64,
}

impl KernelChannel {
    pub(crate) fn decode<'a>(&self) -> Payload<'a> {
        Payload::KernelCh { channel: self.channel, ptimer: Some(self.ptimer) }
    }
}

/// An operation and the group it belongs to, as v5 and later tell it.
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
    pub(crate) unsafe fn decode<'a>(&self) -> descriptor::Coll<'a> {
        // SAFETY: the caller's.
        descriptor::Coll { group: self.group as u64, ..unsafe { self.operation.decode() } }
    }
}

impl Grouped<P2p> {
    /// # Safety
    /// The strings are NCCL's, alive during the callback.
    pub(crate) unsafe fn decode<'a>(&self) -> descriptor::P2p<'a> {
        // SAFETY: the caller's.
        descriptor::P2p { group: self.group as u64, ..unsafe { self.operation.decode() } }
    }
}

/// A group of API calls.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct GroupApi {
    /// As in [`CollApi`].
    pub captured: u8,
    /// Depth of nested groups.
    pub depth: c_int,
}

impl GroupApi {
    pub(crate) fn decode<'a>(&self) -> Payload<'a> {
        Payload::GroupApi { captured: self.captured != 0, depth: self.depth }
    }
}

/// An event of a network plugin.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NetPlugin {
    /// Whose it is.
    pub id: i64,
    /// What only the network plugin knows.
    pub data: *mut c_void,
}

impl NetPlugin {
    pub(crate) fn decode<'a>(&self) -> Payload<'a> {
        Payload::NetPlugin { id: self.id, data: self.data as usize }
    }
}

/// A collective by copy engine (v6 and later).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CeColl {
    /// Number among those of its function.
    pub sequence: u64,
    /// Function.
    pub function: *const c_char,
    /// Send buffer.
    pub send_buffer: *const c_void,
    /// Receive buffer.
    pub receive_buffer: *mut c_void,
    /// Elements.
    pub count: usize,
    /// Root.
    pub root: c_int,
    /// Type of the elements.
    pub datatype: *const c_char,
    /// How copies are synchronised.
    pub strategy: *const c_char,
    /// NCCL's intraBatchSync, as C's bool.
    pub intra_batch_sync: u8,
    /// Copies per batch.
    pub batch_size: u32,
    /// Batches.
    pub batches: u32,
    /// NCCL's ceSeqNum.
    pub ce_sequence: u32,
    /// Stream.
    pub stream: *mut c_void,
}

impl CeColl {
    /// # Safety
    /// The strings are NCCL's, alive during the callback.
    pub(crate) unsafe fn decode<'a>(&self) -> descriptor::CeColl<'a> {
        // SAFETY: the caller's, for all three strings.
        let [function, datatype, strategy] = [self.function, self.datatype, self.strategy].map(|text| unsafe { string(text) });
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
}

/// Synchronisation of a collective by copy engine (v6 and later).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CeSync {
    /// NCCL's isComplete, as C's bool.
    pub complete: u8,
    /// Ranks.
    pub ranks: c_int,
}

impl CeSync {
    pub(crate) fn decode<'a>(&self) -> Payload<'a> {
        Payload::CeSync { complete: self.complete != 0, ranks: self.ranks }
    }
}

/// A batch of copies of a collective by copy engine (v6 and later).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CeBatch {
    /// Copies.
    pub operations: c_int,
    /// Bytes of all.
    pub bytes: usize,
    /// NCCL's useIntraSync, as C's bool.
    pub intra_sync: u8,
}

impl CeBatch {
    pub(crate) fn decode<'a>(&self) -> Payload<'a> {
        Payload::CeBatch { operations: self.operations, bytes: self.bytes as u64, intra_sync: self.intra_sync != 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// Offsets that a C compiler gives NCCL's structures on x86_64 and aarch64.
    #[test]
    fn members_lie_where_nccl_lays_them() {
        assert_eq!([offset_of!(Coll, function), offset_of!(Coll, send_buffer), offset_of!(Coll, receive_buffer)], [8, 16, 24]);
        assert_eq!([offset_of!(Coll, count), offset_of!(Coll, root), offset_of!(Coll, datatype)], [32, 40, 48]);
        assert_eq!([offset_of!(Coll, channels), offset_of!(Coll, warps), offset_of!(Coll, algorithm)], [56, 57, 64]);
        assert_eq!([offset_of!(Coll, protocol), offset_of!(Grouped<Coll>, group), size_of::<Coll>()], [72, 80, 80]);
        assert_eq!([offset_of!(P2p, buffer), offset_of!(P2p, datatype), offset_of!(P2p, count)], [8, 16, 24]);
        assert_eq!([offset_of!(P2p, peer), offset_of!(P2p, channels), offset_of!(Grouped<P2p>, group)], [32, 36, 40]);
        assert_eq!([offset_of!(CollApi, count), offset_of!(CollApi, datatype), offset_of!(CollApi, root)], [8, 16, 24]);
        assert_eq!([offset_of!(CollApi, stream), offset_of!(CollApi, captured), size_of::<CollApi>()], [32, 40, 48]);
        assert_eq!([offset_of!(P2pApi, count), offset_of!(P2pApi, datatype), offset_of!(P2pApi, stream)], [8, 16, 24]);
        assert_eq!([offset_of!(P2pApi, captured), size_of::<P2pApi>(), offset_of!(GroupApi, depth)], [32, 40, 4]);
        assert_eq!([offset_of!(ProxyOperation, channel), offset_of!(ProxyOperation, peer)], [4, 8]);
        assert_eq!([offset_of!(ProxyOperation, steps), offset_of!(ProxyOperation, chunk)], [12, 16]);
        assert_eq!([offset_of!(ProxyOperation, send), size_of::<ProxyOperation>()], [20, 24]);
        assert_eq!([offset_of!(KernelChannel, channel), offset_of!(KernelChannel, ptimer)], [0, 8]);
        assert_eq!([offset_of!(NetPlugin, data), size_of::<NetPlugin>()], [8, 16]);
    }
}
