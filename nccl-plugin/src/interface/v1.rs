//! Interface v1, NCCL 2.23: functions and types are numbers, and init does not describe the communicator.

use crate::interface::descriptor::{Descriptor, Payload};
use crate::interface::kind::event;
use crate::interface::payload::{
    Frame, Narrow, NumberedColl, NumberedP2p, OldArguments, Plain, ProxyOperation, ProxyStep,
};
use crate::interface::version::Version;

/// v1's event descriptor.
pub type Raw = Narrow<Union>;

/// Payload of an event of v1; the event's type selects the member.
#[repr(C)]
#[derive(Clone, Copy)]
pub union Union {
    /// A collective operation.
    pub coll: NumberedColl,
    /// A send or receive.
    pub p2p: NumberedP2p,
    /// A proxy operation.
    pub proxy_op: ProxyOperation,
    /// A proxy step.
    pub proxy_step: ProxyStep,
}

// SAFETY: the union consists of integers and raw pointers.
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
        // SAFETY: the caller upholds the condition. NCCL fills in the member of the union that the type selects.
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
            Payload::Group | Payload::ProxyCtrl | Payload::Unknown { .. } => {}
            Payload::Coll(coll) => union.coll = NumberedColl::encode(&coll)?,
            Payload::P2p(p2p) => union.p2p = NumberedP2p::encode(&p2p)?,
            Payload::ProxyOp(operation) => union.proxy_op = ProxyOperation::encode(&operation),
            Payload::ProxyStep { step } => union.proxy_step = ProxyStep { step },
            _ => return None,
        }
        Narrow::new(descriptor, union)
    }
}
