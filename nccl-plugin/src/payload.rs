//! What an event's descriptor says beyond its type: structures that several versions of the interface share.
//!
//! Declared in the order and with the types of NCCL's plugin interface (repository NVIDIA/nccl, src/include/plugin/profiler);
//! names are ours. A version's descriptor is a union of those it has.

use common::event::{Call, Event, Operation, ProxyOp};
use std::ffi::{CStr, c_char, c_int, c_void};

/// NCCL's string, if it is one.
///
/// # Safety
/// `text` is NULL or a NUL-terminated string that lives as long as `'a`; NCCL guarantees it for the length of the callback.
unsafe fn string<'a>(text: *const c_char) -> Option<&'a CStr> {
    // SAFETY: the caller's.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
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
    pub(crate) unsafe fn decode<'a>(&self) -> Event<'a> {
        // SAFETY: the caller's, for all four strings.
        let [function, datatype, algorithm, protocol] =
            [self.function, self.datatype, self.algorithm, self.protocol].map(|text| unsafe { string(text) });
        Event::Coll(Operation {
            function,
            count: self.count as u64,
            datatype,
            sequence: self.sequence,
            peer: None,
            channels: self.channels,
            algorithm,
            protocol,
        })
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
    pub(crate) unsafe fn decode<'a>(&self) -> Event<'a> {
        // SAFETY: the caller's, for both strings.
        let [function, datatype] = [self.function, self.datatype].map(|text| unsafe { string(text) });
        Event::P2p(Operation {
            function,
            count: self.count as u64,
            datatype,
            sequence: 0,
            peer: Some(self.peer),
            channels: self.channels,
            algorithm: None,
            protocol: None,
        })
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
    pub(crate) unsafe fn decode<'a>(&self) -> Event<'a> {
        // SAFETY: the caller's, for both strings.
        let [function, datatype] = [self.function, self.datatype].map(|text| unsafe { string(text) });
        Event::CollApi(Call { function, count: self.count as u64, datatype, captured: self.captured != 0 })
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
    pub(crate) unsafe fn decode<'a>(&self) -> Event<'a> {
        // SAFETY: the caller's, for both strings.
        let [function, datatype] = [self.function, self.datatype].map(|text| unsafe { string(text) });
        Event::P2pApi(Call { function, count: self.count as u64, datatype, captured: self.captured != 0 })
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
    pub(crate) fn decode<'a>(&self) -> Event<'a> {
        Event::ProxyOp(ProxyOp {
            pid: i64::from(self.pid),
            peer: self.peer,
            channel: self.channel,
            steps: self.steps,
            send: self.send != 0,
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
    pub(crate) fn decode<'a>(&self) -> Event<'a> {
        Event::KernelCh { channel: self.channel, ptimer: Some(self.ptimer) }
    }
}

/// An operation and the group it belongs to, as v5 and later tell it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Grouped<T> {
    /// The operation.
    pub operation: T,
    /// Not used: groups have no event here.
    pub group: *mut c_void,
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

/// An event of a network plugin.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NetPlugin {
    /// Whose it is.
    pub id: i64,
    /// What only the network plugin knows.
    pub data: *mut c_void,
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
