//! Interface v5, NCCL 2.28: the type is wider, and calls of the API are reported.

use crate::entry::{self, ProfilerTable};
use crate::kind::event;
use crate::payload::{Coll, CollApi, GroupApi, Grouped, KernelChannel, NetPlugin, P2p, P2pApi, ProxyOperation, ProxyStep};
use crate::v4::V4;
use crate::version::{Start, Version};
use common::event::Event;
use std::ffi::{c_char, c_int, c_void};

/// v5's event descriptor.
#[repr(C)]
pub struct Descriptor {
    kind: u64,
    parent: *mut c_void,
    rank: c_int,
    payload: Payload,
}

impl Descriptor {
    /// Its event type.
    pub(crate) fn kind(&self) -> u64 {
        self.kind
    }
}

#[repr(C)]
union Payload {
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

/// Interface v5.
#[derive(Debug)]
pub struct V5;

impl Version for V5 {
    type Descriptor = Descriptor;
    const MASK: u64 = V4::MASK | event::GROUP_API | event::COLL_API | event::P2P_API;
    const API_CALLS: bool = true;

    unsafe fn decode<'a>(descriptor: *const Descriptor) -> Start<'a> {
        // SAFETY: the caller's; NCCL fills in the member of the union that the type names, and its strings live long enough.
        unsafe {
            let payload = &raw const (*descriptor).payload;
            let event = match (*descriptor).kind {
                event::COLL => (*payload).coll.operation.decode(),
                event::P2P => (*payload).p2p.operation.decode(),
                event::COLL_API => (*payload).coll_api.decode(),
                event::P2P_API => (*payload).p2p_api.decode(),
                event::GROUP_API => Event::GroupApi,
                event::PROXY_OP => (*payload).proxy_op.decode(),
                event::PROXY_STEP => Event::ProxyStep { step: (*payload).proxy_step.step },
                event::KERNEL_CH => (*payload).kernel_ch.decode(),
                event::GROUP | event::PROXY_CTRL | event::NET_PLUGIN | event::KERNEL_LAUNCH => Event::Unused,
                _ => Event::Unknown,
            };
            Start { parent: (*descriptor).parent as u64, event }
        }
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
    _logger: *const c_void,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { entry::init::<V>(context, mask, id, name, nodes, ranks, rank) }
}

/// The table that NCCL 2.28 looks up.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name is NCCL's")]
pub static ncclProfiler_v5: ProfilerTable<Init, Descriptor> = ProfilerTable::new::<V5>(init::<V5>);

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_descriptor_lies_as_nccl_lays_it() {
        assert_eq!((offset_of!(Descriptor, kind), offset_of!(Descriptor, parent)), (0, 8));
        assert_eq!((offset_of!(Descriptor, rank), offset_of!(Descriptor, payload)), (16, 24));
        assert_eq!((size_of::<Payload>(), size_of::<Descriptor>()), (88, 112));
    }
}
