//! Interface v3, NCCL 2.26: v2 without the traffic, plus kernel channels without timestamps, and network plugins.

use crate::interface::descriptor::{Descriptor, Payload};
use crate::interface::kind::event;
use crate::interface::payload::UntimedKernelChannel;
use crate::interface::payload::{
    Coll, Frame, Named, NamedP2p, Narrow, NetPlugin, OldArguments, Plain, ProxyOperation, ProxyStep,
};
use crate::interface::version::Version;

/// v3's event descriptor.
pub type Raw = Narrow<Union>;

/// Payload of an event of v3; the event's type selects the member.
#[repr(C)]
#[derive(Clone, Copy)]
pub union Union {
    /// A collective operation.
    pub coll: Named<Coll>,
    /// A send or receive.
    pub p2p: NamedP2p,
    /// A proxy operation.
    pub proxy_op: ProxyOperation,
    /// A proxy step.
    pub proxy_step: ProxyStep,
    /// A kernel channel.
    pub kernel_ch: UntimedKernelChannel,
    /// An event of a network plugin.
    pub net_plugin: NetPlugin,
}

// SAFETY: the union consists of integers and raw pointers.
unsafe impl Plain for Union {}

/// Interface v3.
#[derive(Debug)]
pub struct V3;

impl Version for V3 {
    type Raw = Raw;
    type Arguments = OldArguments;
    const NUMBER: u32 = 3;
    /// All types of v3 except kernel channels: in v3 they carry no timestamp, but cost as much as in later versions.
    const TYPES: u64 = ((event::NET_PLUGIN << 1) - 1) & !event::KERNEL_CH;
    const API_CALLS: bool = false;

    #[inline(always)]
    unsafe fn decode<'a>(raw: *const Raw) -> Descriptor<'a> {
        // SAFETY: the caller upholds the condition. NCCL fills in the member of the union that the type selects.
        unsafe {
            let union = &raw const (*raw).payload;
            let payload = match (*raw).kind() {
                event::GROUP => Payload::Group,
                event::COLL => Payload::Coll((*union).coll.decode((*union).coll.operation.decode())),
                event::P2P => Payload::P2p((*union).p2p.decode()),
                event::PROXY_OP => (*union).proxy_op.decode(),
                event::PROXY_STEP => (*union).proxy_step.decode(),
                event::PROXY_CTRL => Payload::ProxyCtrl,
                event::KERNEL_CH => (*union).kernel_ch.decode(),
                event::NET_PLUGIN => (*union).net_plugin.decode(),
                bits => Payload::Unknown { bits },
            };
            (*raw).descriptor(payload)
        }
    }

    fn encode(descriptor: &Descriptor<'_>) -> Option<Raw> {
        let mut union = Union::zeroed();
        match descriptor.payload {
            Payload::Group | Payload::ProxyCtrl | Payload::Unknown { .. } => {}
            Payload::Coll(coll) => union.coll = Named::encode(&coll, Coll::encode(&coll)),
            Payload::P2p(p2p) => union.p2p = NamedP2p::encode(&p2p),
            Payload::ProxyOp(operation) => union.proxy_op = ProxyOperation::encode(&operation),
            Payload::ProxyStep { step } => union.proxy_step = ProxyStep { step },
            Payload::KernelCh { channel, .. } => union.kernel_ch = UntimedKernelChannel { channel },
            Payload::NetPlugin { id, data, .. } => union.net_plugin = NetPlugin::encode(id, data),
            _ => return None,
        }
        Narrow::new(descriptor, union)
    }
}
