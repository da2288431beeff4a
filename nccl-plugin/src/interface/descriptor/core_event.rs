//! The event as the core records it, made from a descriptor.

use super::{CollApi, Descriptor, P2pApi, Payload};
use common::event::{ApiCall, CommunicatorIdentity, Event, ProxyOp as CoreProxyOp, StartedOperation};
use common::text::CText;

impl<'a> Descriptor<'a> {
    #[inline(always)]
    fn identity(&self, communicator: Option<u64>, name: Option<CText<'a>>) -> Option<CommunicatorIdentity<'a>> {
        communicator.map(|id| CommunicatorIdentity { id, name, rank: self.rank })
    }

    /// Returns the event as the core records it.
    #[inline(always)]
    pub fn event(&self) -> Event<'a> {
        match self.payload {
            Payload::Coll(coll) => Event::Coll(StartedOperation {
                function: coll.function,
                count: coll.count,
                datatype: coll.datatype,
                sequence: coll.sequence,
                peer: None,
                root: Some(coll.root),
                channels: coll.channels,
                // NCCL names an algorithm for a symmetric kernel, too, but that kernel does not run it; the kernel's
                // variant takes its place
                algorithm: if coll.symmetric { coll.variant } else { coll.algorithm },
                protocol: coll.protocol,
                identity: self.identity(coll.communicator, coll.name),
                stream: 0,
            }),
            Payload::CeColl(coll) => Event::CeColl(StartedOperation {
                function: coll.function,
                count: coll.count,
                datatype: coll.datatype,
                sequence: coll.sequence,
                peer: None,
                root: Some(coll.root),
                channels: 0,
                algorithm: None,
                protocol: None,
                identity: None,
                stream: coll.stream,
            }),
            Payload::P2p(p2p) => Event::P2p(StartedOperation {
                function: p2p.function,
                count: p2p.count,
                datatype: p2p.datatype,
                sequence: 0,
                peer: Some(p2p.peer),
                root: None,
                channels: p2p.channels,
                algorithm: None,
                protocol: None,
                identity: self.identity(p2p.communicator, p2p.name),
                stream: 0,
            }),
            Payload::CollApi(CollApi { function, count, datatype, root, stream, captured, .. }) => {
                Event::CollApi(ApiCall { function, count, datatype, stream, captured, root: Some(root) })
            }
            Payload::P2pApi(P2pApi { function, count, datatype, stream, captured, .. }) => {
                Event::P2pApi(ApiCall { function, count, datatype, stream, captured, root: None })
            }
            Payload::ProxyOp(operation) => Event::ProxyOp(CoreProxyOp {
                pid: i64::from(operation.pid),
                peer: operation.peer,
                channel: operation.channel,
                steps: operation.steps,
                send: operation.send != 0,
            }),
            Payload::ProxyStep { step } => Event::ProxyStep { step },
            Payload::KernelCh { channel, ptimer } => Event::KernelCh { channel, ptimer },
            Payload::GroupApi { .. } => Event::GroupApi,
            Payload::Group => Event::Group,
            Payload::KernelLaunch { stream } => Event::KernelLaunch { stream },
            Payload::Unknown { .. } => Event::Unknown,
            Payload::ProxyCtrl => Event::ProxyCtrl,
            Payload::NetPlugin { event, .. } => Event::NetPlugin(event),
            Payload::CeSync { .. } | Payload::CeBatch { .. } => Event::Unused,
            // NCCL reports phases since v7; the core has no use for them
            Payload::KernelPhase { .. } => Event::Unused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Coll;
    use super::*;

    /// The algorithm that the core sees of a collective by RING, of a kernel with this variant.
    fn algorithm(symmetric: bool, variant: Option<CText<'_>>) -> Option<String> {
        let coll = Coll { algorithm: Some(c"RING".into()), symmetric, variant, ..Coll::default() };
        match (Descriptor { parent: 0, rank: 0, payload: Payload::Coll(coll) }).event() {
            Event::Coll(operation) => operation.algorithm.map(|name| name.c_str().to_string_lossy().into_owned()),
            _ => None,
        }
    }

    #[test]
    fn a_symmetric_kernel_has_its_variant_as_algorithm() {
        assert_eq!(algorithm(false, Some(c"ring".into())).as_deref(), Some("RING"));
        assert_eq!(algorithm(true, Some(c"AllReduce_AGxLL_R".into())).as_deref(), Some("AllReduce_AGxLL_R"));
        assert_eq!(algorithm(true, None), None);
    }
}
