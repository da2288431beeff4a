//! Interface v7, NCCL 2.31.2 and later: v6, plus user tags, kernel variants, and phases within kernel channels.

use crate::interface::descriptor::{Descriptor, Payload};
use crate::interface::kind::event;
use crate::interface::payload::{
    CeColl, CollApi, CollV7, Frame, Grouped, KernelPhase, P2p, P2pApi, Plain, StateArguments, Tagged, Wide,
};
use crate::interface::v6;
use crate::interface::version::Version;

/// v7's event descriptor.
pub type Raw = Wide<Union>;

/// Payload of an event of v7: v6's members, longer ones where v7 adds fields, and phases.
#[repr(C)]
#[derive(Clone, Copy)]
pub union Union {
    /// Members that v6 has with the same fields.
    pub v6: v6::Union,
    /// A collective operation.
    pub coll: CollV7,
    /// A send or receive.
    pub p2p: Tagged<Grouped<P2p>>,
    /// A call of a collective function.
    pub coll_api: Tagged<CollApi>,
    /// A call of a point-to-point function.
    pub p2p_api: Tagged<P2pApi>,
    /// A collective by copy engine.
    pub ce_coll: Tagged<CeColl>,
    /// A phase within a kernel channel.
    pub kernel_phase: KernelPhase,
}

// SAFETY: the union consists of integers and raw pointers.
unsafe impl Plain for Union {}

/// Interface v7.
#[derive(Debug)]
pub struct V7;

impl Version for V7 {
    type Raw = Raw;
    type Arguments = StateArguments;
    const NUMBER: u32 = 7;
    const TYPES: u64 = (event::KERNEL_PHASE << 1) - 1;
    const API_CALLS: bool = true;

    #[inline(always)]
    unsafe fn decode<'a>(raw: *const Raw) -> Descriptor<'a> {
        // SAFETY: the caller upholds the condition. NCCL fills in the member that the type selects; v6's members lie in
        // the same places in v7's union.
        unsafe {
            let union = &raw const (*raw).payload;
            let payload = match (*raw).kind() {
                event::COLL => Payload::Coll((*union).coll.decode()),
                event::P2P => Payload::P2p((*union).p2p.decode()),
                event::COLL_API => Payload::CollApi((*union).coll_api.decode()),
                event::P2P_API => Payload::P2pApi((*union).p2p_api.decode()),
                event::CE_COLL => Payload::CeColl((*union).ce_coll.decode()),
                event::KERNEL_PHASE => (*union).kernel_phase.decode(),
                kind => v6::payload(kind, &raw const (*union).v6),
            };
            (*raw).descriptor(payload)
        }
    }

    fn encode(descriptor: &Descriptor<'_>) -> Option<Raw> {
        let mut union = Union::zeroed();
        match &descriptor.payload {
            Payload::Coll(coll) => union.coll = CollV7::encode(coll),
            Payload::P2p(p2p) => union.p2p = Tagged::<Grouped<P2p>>::encode(p2p),
            Payload::CollApi(call) => union.coll_api = Tagged::<CollApi>::encode(call),
            Payload::P2pApi(call) => union.p2p_api = Tagged::<P2pApi>::encode(call),
            Payload::CeColl(coll) => union.ce_coll = Tagged::<CeColl>::encode(coll),
            &Payload::KernelPhase { channel, phase, name, ptimer } => {
                union.kernel_phase = KernelPhase::encode(channel, phase, name, ptimer);
            }
            other => union.v6 = v6::union(other)?,
        }
        Some(Wide::new(descriptor, union))
    }
}
