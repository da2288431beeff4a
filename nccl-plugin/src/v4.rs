//! Interface v4, NCCL 2.27.

use crate::entry::{self, ProfilerTable};
use crate::kind::event;
use crate::payload::{Coll, KernelChannel, NetPlugin, P2p, ProxyOperation, ProxyStep};
use crate::version::{Start, Version};
use common::event::Event;
use std::ffi::{c_char, c_int, c_void};

/// v4's event descriptor.
#[repr(C)]
pub struct Descriptor {
    kind: u8,
    parent: *mut c_void,
    rank: c_int,
    payload: Payload,
}

#[repr(C)]
union Payload {
    coll: Coll,
    p2p: P2p,
    proxy_op: ProxyOperation,
    proxy_step: ProxyStep,
    kernel_ch: KernelChannel,
    net_plugin: NetPlugin,
}

/// Interface v4.
#[derive(Debug)]
pub struct V4;

impl Version for V4 {
    type Descriptor = Descriptor;
    const MASK: u64 = event::COLL | event::P2P | event::PROXY_OP | event::PROXY_STEP | event::KERNEL_CH;
    const API_CALLS: bool = false;

    unsafe fn decode<'a>(descriptor: *const Descriptor) -> Start<'a> {
        // SAFETY: the caller's; NCCL fills in the member of the union that the type names, and its strings live long enough.
        unsafe {
            let payload = &raw const (*descriptor).payload;
            let event = match u64::from((*descriptor).kind) {
                event::COLL => (*payload).coll.decode(),
                event::P2P => (*payload).p2p.decode(),
                event::PROXY_OP => (*payload).proxy_op.decode(),
                event::PROXY_STEP => Event::ProxyStep { step: (*payload).proxy_step.step },
                event::KERNEL_CH => (*payload).kernel_ch.decode(),
                event::GROUP | event::PROXY_CTRL | event::NET_PLUGIN => Event::Unused,
                _ => Event::Unknown,
            };
            Start { parent: (*descriptor).parent as u64, event }
        }
    }
}

type Init = unsafe extern "C" fn(
    context: *mut *mut c_void,
    mask: *mut c_int,
    name: *const c_char,
    id: u64,
    nodes: c_int,
    ranks: c_int,
    rank: c_int,
    logger: *const c_void,
) -> c_int;

unsafe extern "C" fn init(
    context: *mut *mut c_void,
    mask: *mut c_int,
    name: *const c_char,
    id: u64,
    nodes: c_int,
    ranks: c_int,
    rank: c_int,
    _logger: *const c_void,
) -> c_int {
    // SAFETY: NCCL passes pointers that it owns, valid during the call.
    unsafe { entry::init::<V4>(context, mask, id, name, nodes, ranks, rank) }
}

/// The table that NCCL 2.27 looks up.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name is NCCL's")]
pub static ncclProfiler_v4: ProfilerTable<Init, Descriptor> = ProfilerTable::new::<V4>(init);

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_descriptor_lies_as_nccl_lays_it() {
        assert_eq!((offset_of!(Descriptor, kind), offset_of!(Descriptor, parent)), (0, 8));
        assert_eq!((offset_of!(Descriptor, rank), offset_of!(Descriptor, payload)), (16, 24));
        assert_eq!((size_of::<Payload>(), size_of::<Descriptor>()), (80, 104));
    }
}
