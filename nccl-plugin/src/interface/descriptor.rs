//! An event's descriptor with everything that any version of the interface says, in one form: versions decode into it,
//! what is not said is absent. The core takes from it what it needs ([`Descriptor::event`]); a recording and a second
//! plugin get all of it.

use crate::interface::kind::event;
use common::event::{Call, Event, Identity, Operation, ProxyOp as CoreProxyOp};
use common::text::Text;

/// The start of an event. Strings are NCCL's, alive during the callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor<'a> {
    /// Handle of the parent, as NCCL gave it; 0 for none.
    pub parent: u64,
    /// Rank as NCCL gave it; often 0 whatever the rank is.
    pub rank: i32,
    /// What starts.
    pub payload: Payload<'a>,
}

/// What starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload<'a> {
    /// A group of operations.
    Group,
    /// A collective operation.
    Coll(Coll<'a>),
    /// A send or receive.
    P2p(P2p<'a>),
    /// One connection's share of an operation, on the network.
    ProxyOp(ProxyOp),
    /// One transfer of a proxy operation.
    ProxyStep {
        /// Its number.
        step: i32,
    },
    /// State of the proxy thread.
    ProxyCtrl,
    /// One channel's share of an operation, on the GPU.
    KernelCh {
        /// Channel id.
        channel: u8,
        /// The GPU's clock at the start; absent in v3.
        ptimer: Option<u64>,
    },
    /// An event of a network plugin.
    NetPlugin {
        /// Whose it is.
        id: i64,
        /// Address of what only the network plugin knows.
        data: usize,
    },
    /// A group of API calls.
    GroupApi {
        /// Captured into a graph.
        captured: bool,
        /// Depth of nested groups.
        depth: i32,
    },
    /// A call of a collective function.
    CollApi(CollApi<'a>),
    /// A call of a point-to-point function.
    P2pApi(P2pApi<'a>),
    /// Launch of a kernel.
    KernelLaunch {
        /// Address of the stream.
        stream: usize,
    },
    /// A collective by copy engine.
    CeColl(CeColl<'a>),
    /// Its synchronisation.
    CeSync {
        /// NCCL's isComplete.
        complete: bool,
        /// Ranks.
        ranks: i32,
    },
    /// Its batch of copies.
    CeBatch {
        /// Copies.
        operations: i32,
        /// Bytes of all.
        bytes: u64,
        /// NCCL's useIntraSync.
        intra_sync: bool,
    },
    /// A phase within a kernel channel (v7).
    KernelPhase {
        /// Channel id.
        channel: u8,
        /// 0 initial sync, 1 compute, 2 final sync.
        phase: u8,
        /// NCCL's name for it.
        name: Option<Text<'a>>,
        /// The GPU's clock at the start.
        ptimer: u64,
    },
    /// A type that this plugin does not know, with its bits.
    Unknown {
        /// NCCL's number.
        bits: u64,
    },
}

impl Payload<'_> {
    /// NCCL's number of its type.
    pub fn bits(&self) -> u64 {
        match *self {
            Self::Group => event::GROUP,
            Self::Coll(_) => event::COLL,
            Self::P2p(_) => event::P2P,
            Self::ProxyOp(_) => event::PROXY_OP,
            Self::ProxyStep { .. } => event::PROXY_STEP,
            Self::ProxyCtrl => event::PROXY_CTRL,
            Self::KernelCh { .. } => event::KERNEL_CH,
            Self::NetPlugin { .. } => event::NET_PLUGIN,
            Self::GroupApi { .. } => event::GROUP_API,
            Self::CollApi(_) => event::COLL_API,
            Self::P2pApi(_) => event::P2P_API,
            Self::KernelLaunch { .. } => event::KERNEL_LAUNCH,
            Self::CeColl(_) => event::CE_COLL,
            Self::CeSync { .. } => event::CE_SYNC,
            Self::CeBatch { .. } => event::CE_BATCH,
            Self::KernelPhase { .. } => event::KERNEL_PHASE,
            Self::Unknown { bits } => bits,
        }
    }
}

/// A collective operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Coll<'a> {
    /// Communicator id and name, which only v1 to v3 tell here; 0 and none from wrappers of newer NCCL.
    pub communicator: Option<(u64, Option<Text<'a>>)>,
    /// Number among those of its function.
    pub sequence: u64,
    /// Function.
    pub function: Option<Text<'a>>,
    /// Address of the send buffer.
    pub send: usize,
    /// Address of the receive buffer.
    pub receive: usize,
    /// Elements.
    pub count: u64,
    /// Root.
    pub root: i32,
    /// Type of the elements.
    pub datatype: Option<Text<'a>>,
    /// Channels.
    pub channels: u8,
    /// Warps.
    pub warps: u8,
    /// Algorithm.
    pub algorithm: Option<Text<'a>>,
    /// Protocol.
    pub protocol: Option<Text<'a>>,
    /// Handle of the group, v5 and later; up to v4 that is the parent.
    pub group: u64,
    /// Kernel variant (v7).
    pub variant: Option<Text<'a>>,
    /// A symmetric kernel (v7).
    pub symmetric: bool,
    /// The user's tag (v7); 0 for none.
    pub tag: u64,
}

/// A send or receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct P2p<'a> {
    /// As in [`Coll`].
    pub communicator: Option<(u64, Option<Text<'a>>)>,
    /// Function.
    pub function: Option<Text<'a>>,
    /// Address of the buffer.
    pub buffer: usize,
    /// Type of the elements.
    pub datatype: Option<Text<'a>>,
    /// Elements.
    pub count: u64,
    /// The other rank.
    pub peer: i32,
    /// Channels, v4 and later.
    pub channels: u8,
    /// As in [`Coll`].
    pub group: u64,
    /// As in [`Coll`].
    pub tag: u64,
}

/// A proxy operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyOp {
    /// Process it belongs to.
    pub pid: i32,
    /// Channel id.
    pub channel: u8,
    /// The other rank.
    pub peer: i32,
    /// Steps to come.
    pub steps: i32,
    /// Bytes per chunk.
    pub chunk: i32,
    /// Not 0 for a send.
    pub send: i32,
}

/// A call of a collective function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CollApi<'a> {
    /// Function.
    pub function: Option<Text<'a>>,
    /// Elements.
    pub count: u64,
    /// Type of the elements.
    pub datatype: Option<Text<'a>>,
    /// Root.
    pub root: i32,
    /// Address of the stream.
    pub stream: usize,
    /// Captured into a graph.
    pub captured: bool,
    /// As in [`Coll`].
    pub tag: u64,
}

/// A call of a point-to-point function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct P2pApi<'a> {
    /// Function.
    pub function: Option<Text<'a>>,
    /// Elements.
    pub count: u64,
    /// Type of the elements.
    pub datatype: Option<Text<'a>>,
    /// Address of the stream.
    pub stream: usize,
    /// Captured into a graph.
    pub captured: bool,
    /// As in [`Coll`].
    pub tag: u64,
}

/// A collective by copy engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CeColl<'a> {
    /// Number among those of its function.
    pub sequence: u64,
    /// Function.
    pub function: Option<Text<'a>>,
    /// Address of the send buffer.
    pub send: usize,
    /// Address of the receive buffer.
    pub receive: usize,
    /// Elements.
    pub count: u64,
    /// Root.
    pub root: i32,
    /// Type of the elements.
    pub datatype: Option<Text<'a>>,
    /// How copies are synchronised.
    pub strategy: Option<Text<'a>>,
    /// NCCL's intraBatchSync.
    pub intra_batch_sync: bool,
    /// Copies per batch.
    pub batch_size: u32,
    /// Batches.
    pub batches: u32,
    /// NCCL's ceSeqNum.
    pub ce_sequence: u32,
    /// Address of the stream.
    pub stream: usize,
    /// As in [`Coll`].
    pub tag: u64,
}

impl<'a> Descriptor<'a> {
    #[inline(always)]
    fn identity(&self, communicator: Option<(u64, Option<Text<'a>>)>) -> Option<Identity<'a>> {
        communicator.map(|(id, name)| Identity { id, name, rank: self.rank })
    }

    /// What the core makes of it.
    #[inline(always)]
    pub fn event(&self) -> Event<'a> {
        match self.payload {
            Payload::Coll(coll) => Event::Coll(Operation {
                function: coll.function,
                count: coll.count,
                datatype: coll.datatype,
                sequence: coll.sequence,
                peer: None,
                channels: coll.channels,
                // a symmetric kernel is none of the algorithm's
                algorithm: coll.algorithm.filter(|_| !coll.symmetric),
                protocol: coll.protocol,
                identity: self.identity(coll.communicator),
                stream: 0,
            }),
            Payload::CeColl(coll) => Event::CeColl(Operation {
                function: coll.function,
                count: coll.count,
                datatype: coll.datatype,
                sequence: coll.sequence,
                peer: None,
                channels: 0,
                algorithm: None,
                protocol: None,
                identity: None,
                stream: coll.stream,
            }),
            Payload::P2p(p2p) => Event::P2p(Operation {
                function: p2p.function,
                count: p2p.count,
                datatype: p2p.datatype,
                sequence: 0,
                peer: Some(p2p.peer),
                channels: p2p.channels,
                algorithm: None,
                protocol: None,
                identity: self.identity(p2p.communicator),
                stream: 0,
            }),
            Payload::CollApi(CollApi { function, count, datatype, stream, captured, .. }) => {
                Event::CollApi(Call { function, count, datatype, stream, captured })
            }
            Payload::P2pApi(P2pApi { function, count, datatype, stream, captured, .. }) => {
                Event::P2pApi(Call { function, count, datatype, stream, captured })
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
            Payload::ProxyCtrl | Payload::NetPlugin { .. } | Payload::CeSync { .. } | Payload::CeBatch { .. } => {
                Event::Unused
            }
            // known by name only since v7
            Payload::KernelPhase { .. } => Event::Unused,
        }
    }
}
