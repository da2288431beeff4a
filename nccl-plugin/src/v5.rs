//! Interface v5, NCCL 2.28: the type is wider, and calls of the API are reported.

use crate::descriptor::{Descriptor, Payload};
use crate::entry::{self, ProfilerTable};
use crate::kind::event;
use crate::logger::Logger;
use crate::payload::{Coll, CollApi, GroupApi, Grouped, KernelChannel, NetPlugin, P2p, P2pApi, ProxyOperation, ProxyStep, Wide};
use crate::version::Version;
use std::ffi::{c_char, c_int, c_void};

/// v5's event descriptor.
pub type Raw = Wide<Union>;

/// What v5 says of an event, by its type.
#[repr(C)]
#[derive(Clone, Copy)]
pub union Union {
    group_api: GroupApi,
    coll_api: CollApi,
    p2p_api: P2pApi,
    kernel_launch: *mut c_void,
    coll: Grouped<Coll>,
    p2p: Grouped<P2p>,
    proxy_op: ProxyOperation,
    proxy_step: ProxyStep,
    kernel_ch: KernelChannel,
    net_plugin: NetPlugin,
}

/// Reads the member of the union that the type names.
///
/// # Safety
/// NCCL filled that member in; its strings are alive as long as `'a`.
pub(crate) unsafe fn payload<'a>(kind: u64, union: *const Union) -> Payload<'a> {
    // SAFETY: the caller's.
    unsafe {
        match kind {
            event::GROUP => Payload::Group,
            event::COLL => Payload::Coll((*union).coll.decode()),
            event::P2P => Payload::P2p((*union).p2p.decode()),
            event::PROXY_OP => (*union).proxy_op.decode(),
            event::PROXY_STEP => Payload::ProxyStep { step: (*union).proxy_step.step },
            event::PROXY_CTRL => Payload::ProxyCtrl,
            event::KERNEL_CH => (*union).kernel_ch.decode(),
            event::NET_PLUGIN => (*union).net_plugin.decode(),
            event::GROUP_API => (*union).group_api.decode(),
            event::COLL_API => Payload::CollApi((*union).coll_api.decode()),
            event::P2P_API => Payload::P2pApi((*union).p2p_api.decode()),
            event::KERNEL_LAUNCH => Payload::KernelLaunch { stream: (*union).kernel_launch as usize },
            bits => Payload::Unknown { bits },
        }
    }
}

/// Interface v5.
#[derive(Debug)]
pub struct V5;

impl Version for V5 {
    type Raw = Raw;
    const NUMBER: u32 = 5;
    const TYPES: u64 = (event::KERNEL_LAUNCH << 1) - 1;
    const API_CALLS: bool = true;

    unsafe fn decode<'a>(raw: *const Raw) -> Descriptor<'a> {
        // SAFETY: the caller's.
        unsafe { (*raw).descriptor(|kind, union| payload(kind, union)) }
    }
}

/// The type of init since v5.
pub(crate) type Init = unsafe extern "C" fn(
    context: *mut *mut c_void,
    id: u64,
    mask: *mut c_int,
    name: *const c_char,
    nodes: c_int,
    ranks: c_int,
    rank: c_int,
    logger: *const c_void,
) -> c_int;

/// Init of any version since v5.
///
/// # Safety
/// NCCL's pointers, valid during the call.
pub(crate) unsafe extern "C" fn init<V: Version>(
    context: *mut *mut c_void,
    id: u64,
    mask: *mut c_int,
    name: *const c_char,
    nodes: c_int,
    ranks: c_int,
    rank: c_int,
    logger: *const c_void,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { entry::init::<V>(context, mask, id, name, [nodes, ranks, rank], Logger::new(logger)) }
}

/// The table that NCCL 2.28 looks up.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name is NCCL's")]
pub static ncclProfiler_v5: ProfilerTable<Init, Raw> = ProfilerTable::new::<V5>(init::<V5>);

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_descriptor_lies_as_nccl_lays_it() {
        assert_eq!((offset_of!(Raw, kind), offset_of!(Raw, parent)), (0, 8));
        assert_eq!((offset_of!(Raw, rank), offset_of!(Raw, payload)), (16, 24));
        assert_eq!((size_of::<Union>(), size_of::<Raw>()), (88, 112));
    }
}
