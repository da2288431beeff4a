//! Interface v4, NCCL 2.27.

use crate::descriptor::{Descriptor, Payload};
use crate::entry::{self, ProfilerTable};
use crate::kind::event;
use crate::logger::Logger;
use crate::payload::{Coll, KernelChannel, Narrow, NetPlugin, P2p, ProxyOperation, ProxyStep};
use crate::version::Version;
use std::ffi::{c_char, c_int, c_void};

/// v4's event descriptor.
pub type Raw = Narrow<Union>;

/// What v4 says of an event, by its type.
#[repr(C)]
#[derive(Clone, Copy)]
pub union Union {
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
    type Raw = Raw;
    const NUMBER: u32 = 4;
    const TYPES: u64 = (event::NET_PLUGIN << 1) - 1;
    const API_CALLS: bool = false;

    unsafe fn decode<'a>(raw: *const Raw) -> Descriptor<'a> {
        // SAFETY: the caller's; NCCL fills in the member of the union that the type names.
        unsafe {
            (*raw).descriptor(|kind, union: *const Union| match kind {
                event::GROUP => Payload::Group,
                event::COLL => Payload::Coll((*union).coll.decode()),
                event::P2P => Payload::P2p((*union).p2p.decode()),
                event::PROXY_OP => (*union).proxy_op.decode(),
                event::PROXY_STEP => Payload::ProxyStep { step: (*union).proxy_step.step },
                event::PROXY_CTRL => Payload::ProxyCtrl,
                event::KERNEL_CH => (*union).kernel_ch.decode(),
                event::NET_PLUGIN => (*union).net_plugin.decode(),
                bits => Payload::Unknown { bits },
            })
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
    logger: *const c_void,
) -> c_int {
    // SAFETY: NCCL passes pointers that it owns, valid during the call, and its logger.
    unsafe { entry::init::<V4>(context, mask, id, name, [nodes, ranks, rank], Logger::new(logger)) }
}

/// The table that NCCL 2.27 looks up.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name is NCCL's")]
pub static ncclProfiler_v4: ProfilerTable<Init, Raw> = ProfilerTable::new::<V4>(init);

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_descriptor_lies_as_nccl_lays_it() {
        assert_eq!((offset_of!(Raw, kind), offset_of!(Raw, parent)), (0, 8));
        assert_eq!((offset_of!(Raw, rank), offset_of!(Raw, payload)), (16, 24));
        assert_eq!((size_of::<Union>(), size_of::<Raw>()), (80, 104));
    }
}
