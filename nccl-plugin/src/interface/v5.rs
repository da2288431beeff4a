//! Interface v5, NCCL 2.28: the type is wider, and calls of the API are reported.

use crate::interface::descriptor::{Descriptor, Payload};
use crate::interface::kind::event;
use crate::interface::payload::{
    Arguments, Coll, CollApi, Frame, GroupApi, Grouped, KernelChannel, KernelLaunch, NetPlugin, P2p, P2pApi,
};
use crate::interface::payload::{Plain, ProxyOperation, ProxyStep, Wide};
use crate::interface::version::Version;

/// v5's event descriptor.
pub type Raw = Wide<Union>;

/// What v5 says of an event, by its type.
#[repr(C)]
#[derive(Clone, Copy)]
pub union Union {
    /// Of a group of API calls.
    pub group_api: GroupApi,
    /// Of a call of a collective function.
    pub coll_api: CollApi,
    /// Of a call of a point-to-point function.
    pub p2p_api: P2pApi,
    /// Of a launch of a kernel.
    pub kernel_launch: KernelLaunch,
    /// Of a collective operation.
    pub coll: Grouped<Coll>,
    /// Of a send or receive.
    pub p2p: Grouped<P2p>,
    /// Of a proxy operation.
    pub proxy_op: ProxyOperation,
    /// Of a proxy step.
    pub proxy_step: ProxyStep,
    /// Of a kernel channel.
    pub kernel_ch: KernelChannel,
    /// Of an event of a network plugin.
    pub net_plugin: NetPlugin,
}

// SAFETY: integers and raw pointers.
unsafe impl Plain for Union {}

/// Reads the member of the union that the type names.
///
/// # Safety
/// NCCL filled that member in; its strings are alive as long as `'a`.
#[inline(always)]
pub(crate) unsafe fn payload<'a>(kind: u64, union: *const Union) -> Payload<'a> {
    // SAFETY: the caller's.
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

/// Fills in the member that the type names; `None` for types that v5 does not have.
pub(crate) fn union(payload: &Payload<'_>) -> Option<Union> {
    let mut union = Union::zeroed();
    match payload {
        Payload::Group | Payload::ProxyCtrl => {}
        Payload::Coll(coll) => union.coll = Grouped::<Coll>::encode(coll),
        Payload::P2p(p2p) => union.p2p = Grouped::<P2p>::encode(p2p),
        Payload::ProxyOp(operation) => union.proxy_op = ProxyOperation::encode(operation),
        &Payload::ProxyStep { step } => union.proxy_step = ProxyStep { step },
        &Payload::KernelCh { channel, ptimer: Some(ptimer) } => union.kernel_ch = KernelChannel { channel, ptimer },
        &Payload::NetPlugin { id, data } => union.net_plugin = NetPlugin::encode(id, data),
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
    type Arguments = Arguments;
    const NUMBER: u32 = 5;
    const TYPES: u64 = (event::KERNEL_LAUNCH << 1) - 1;
    const API_CALLS: bool = true;

    #[inline(always)]
    unsafe fn decode<'a>(raw: *const Raw) -> Descriptor<'a> {
        // SAFETY: the caller's.
        unsafe { (*raw).descriptor(payload((*raw).kind(), &raw const (*raw).payload)) }
    }

    fn encode(descriptor: &Descriptor<'_>) -> Option<Raw> {
        Some(Wide::new(descriptor, union(&descriptor.payload)?))
    }
}
