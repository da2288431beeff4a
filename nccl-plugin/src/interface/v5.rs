//! Interface v5, NCCL 2.28: the event type has 64 bits, and NCCL reports API calls.

use crate::interface::descriptor::{Descriptor, Payload};
use crate::interface::kind::event;
use crate::interface::payload::{
    Coll, CollApi, Frame, GroupApi, Grouped, KernelChannel, KernelLaunch, NetPlugin, P2p, P2pApi, StateArguments,
};
use crate::interface::payload::{Plain, ProxyOperation, ProxyStep, Wide};
use crate::interface::version::Version;

/// v5's event descriptor.
pub type Raw = Wide<Union>;

/// Payload of an event of v5; the event's type selects the member.
#[repr(C)]
#[derive(Clone, Copy)]
pub union Union {
    /// A group of API calls.
    pub group_api: GroupApi,
    /// A call of a collective function.
    pub coll_api: CollApi,
    /// A call of a point-to-point function.
    pub p2p_api: P2pApi,
    /// A launch of a kernel.
    pub kernel_launch: KernelLaunch,
    /// A collective operation.
    pub coll: Grouped<Coll>,
    /// A send or receive.
    pub p2p: Grouped<P2p>,
    /// A proxy operation.
    pub proxy_op: ProxyOperation,
    /// A proxy step.
    pub proxy_step: ProxyStep,
    /// A kernel channel.
    pub kernel_ch: KernelChannel,
    /// An event of a network plugin.
    pub net_plugin: NetPlugin,
}

// SAFETY: the union consists of integers and raw pointers.
unsafe impl Plain for Union {}

/// Reads the member of the union that the type selects.
///
/// # Safety
/// NCCL has written that member, and its strings live as long as `'a`.
#[inline(always)]
pub(crate) unsafe fn payload<'a>(kind: u64, union: *const Union) -> Payload<'a> {
    // SAFETY: the caller upholds the condition.
    unsafe {
        match kind {
            event::GROUP => Payload::Group,
            event::COLL => Payload::Coll((*union).coll.decode()),
            event::P2P => Payload::P2p((*union).p2p.decode()),
            event::PROXY_OP => (*union).proxy_op.decode(),
            event::PROXY_STEP => (*union).proxy_step.decode(),
            event::PROXY_CTRL => Payload::ProxyCtrl,
            event::KERNEL_CH => (*union).kernel_ch.decode(),
            event::NET_PLUGIN => (*union).net_plugin.decode(),
            event::GROUP_API => (*union).group_api.decode(),
            event::COLL_API => Payload::CollApi((*union).coll_api.decode()),
            event::P2P_API => Payload::P2pApi((*union).p2p_api.decode()),
            event::KERNEL_LAUNCH => (*union).kernel_launch.decode(),
            bits => Payload::Unknown { bits },
        }
    }
}

/// Writes the member that the payload's type selects; `None` for types that v5 does not have.
pub(crate) fn union(payload: &Payload<'_>) -> Option<Union> {
    let mut union = Union::zeroed();
    match payload {
        Payload::Group | Payload::ProxyCtrl | Payload::Unknown { .. } => {}
        Payload::Coll(coll) => union.coll = Grouped::<Coll>::encode(coll),
        Payload::P2p(p2p) => union.p2p = Grouped::<P2p>::encode(p2p),
        Payload::ProxyOp(operation) => union.proxy_op = ProxyOperation::encode(operation),
        &Payload::ProxyStep { step } => union.proxy_step = ProxyStep { step },
        &Payload::KernelCh { channel, ptimer: Some(ptimer) } => union.kernel_ch = KernelChannel { channel, ptimer },
        &Payload::NetPlugin { id, data, .. } => union.net_plugin = NetPlugin::encode(id, data),
        &Payload::GroupApi { captured, depth } => union.group_api = GroupApi::encode(captured, depth),
        Payload::CollApi(call) => union.coll_api = CollApi::encode(call),
        Payload::P2pApi(call) => union.p2p_api = P2pApi::encode(call),
        &Payload::KernelLaunch { stream } => union.kernel_launch = KernelLaunch::encode(stream),
        _ => return None,
    }
    Some(union)
}

/// Interface v5.
#[derive(Debug)]
pub struct V5;

impl Version for V5 {
    type Raw = Raw;
    type Arguments = StateArguments;
    const NUMBER: u32 = 5;
    const TYPES: u64 = (event::KERNEL_LAUNCH << 1) - 1;
    const API_CALLS: bool = true;

    #[inline(always)]
    unsafe fn decode<'a>(raw: *const Raw) -> Descriptor<'a> {
        // SAFETY: the caller upholds the condition.
        unsafe { (*raw).descriptor(payload((*raw).kind(), &raw const (*raw).payload)) }
    }

    fn encode(descriptor: &Descriptor<'_>) -> Option<Raw> {
        Some(Wide::new(descriptor, union(&descriptor.payload)?))
    }
}
