//! Interface v1, NCCL 2.23: names are numbers, and init tells nothing of the communicator.

use crate::descriptor::{Descriptor, Payload};
use crate::entry::{self, ProfilerTable};
use crate::kind::event;
use crate::payload::{Frame, Narrow, NumberedColl, NumberedP2p, OldArguments, Plain, ProxyOperation, ProxyStep};
use crate::version::Version;
use std::ffi::{c_int, c_void};

/// v1's event descriptor.
pub type Raw = Narrow<Union>;

/// What v1 says of an event, by its type.
#[repr(C)]
#[derive(Clone, Copy)]
pub union Union {
    /// Of a collective operation.
    pub coll: NumberedColl,
    /// Of a send or receive.
    pub p2p: NumberedP2p,
    /// Of a proxy operation.
    pub proxy_op: ProxyOperation,
    /// Of a proxy step.
    pub proxy_step: ProxyStep,
}

// SAFETY: integers and raw pointers.
unsafe impl Plain for Union {}

/// Interface v1.
#[derive(Debug)]
pub struct V1;

impl Version for V1 {
    type Raw = Raw;
    type Arguments = OldArguments;
    const NUMBER: u32 = 1;
    const TYPES: u64 = (event::PROXY_CTRL << 1) - 1;
    const API_CALLS: bool = false;

    #[inline(always)]
    unsafe fn decode<'a>(raw: *const Raw) -> Descriptor<'a> {
        // SAFETY: the caller's; NCCL fills in the member of the union that the type names.
        unsafe {
            let union = &raw const (*raw).payload;
            let payload = match (*raw).kind() {
                event::GROUP => Payload::Group,
                event::COLL => Payload::Coll((*union).coll.decode()),
                event::P2P => Payload::P2p((*union).p2p.decode()),
                event::PROXY_OP => (*union).proxy_op.decode(),
                event::PROXY_STEP => (*union).proxy_step.decode(),
                event::PROXY_CTRL => Payload::ProxyCtrl,
                bits => Payload::Unknown { bits },
            };
            (*raw).descriptor(payload)
        }
    }

    fn encode(descriptor: &Descriptor<'_>) -> Option<Raw> {
        let mut union = Union::zeroed();
        match descriptor.payload {
            Payload::Group | Payload::ProxyCtrl => {}
            Payload::Coll(coll) => union.coll = NumberedColl::encode(&coll)?,
            Payload::P2p(p2p) => union.p2p = NumberedP2p::encode(&p2p)?,
            Payload::ProxyOp(operation) => union.proxy_op = ProxyOperation::encode(&operation),
            Payload::ProxyStep { step } => union.proxy_step = ProxyStep { step },
            _ => return None,
        }
        Narrow::new(descriptor, union)
    }
}

/// The type of init up to v3.
pub(crate) type Init = unsafe extern "C" fn(context: *mut *mut c_void, mask: *mut c_int) -> c_int;

/// Init of any version up to v3.
///
/// # Safety
/// NCCL's pointers, valid during the call.
pub(crate) unsafe extern "C" fn init<V: Version>(context: *mut *mut c_void, mask: *mut c_int) -> c_int {
    // SAFETY: the caller's.
    unsafe { entry::init_untold::<V>(context, mask) }
}

/// The table that NCCL 2.23 looks up.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name is NCCL's")]
pub static ncclProfiler_v1: ProfilerTable<Init, V1> = ProfilerTable::new(init::<V1>);
