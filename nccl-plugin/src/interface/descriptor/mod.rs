//! The descriptor of an event, in one form for all versions of the interface.
//!
//! It has every field that any version has; a field that the version in use lacks is absent or 0. The core takes the
//! fields that it needs ([`Descriptor::event`]); a recording and a second plugin get all of them.

mod core_event;

use crate::interface::kind::event;
use common::event::network::NetworkEvent;
use common::text::CText;

/// The start of an event. The strings are NCCL's and alive during the callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor<'a> {
    /// Handle of the parent, as NCCL passed it; 0 for none.
    pub parent: u64,
    /// Rank as NCCL passed it; often 0 whatever the rank is.
    pub rank: i32,
    /// Type and fields of the event.
    pub payload: Payload<'a>,
}

/// Type and fields of an event that starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload<'a> {
    /// A group of operations.
    Group,
    /// A collective operation.
    Coll(Coll<'a>),
    /// A send or receive.
    P2p(P2p<'a>),
    /// A proxy operation: one connection's share of an operation, on the network.
    ProxyOp(ProxyOp),
    /// A proxy step: one transfer of a proxy operation.
    ProxyStep {
        /// Number of the step.
        step: i32,
    },
    /// A state of the proxy thread.
    ProxyCtrl,
    /// A kernel channel: one channel's share of an operation, on the GPU.
    KernelCh {
        /// Channel id.
        channel: u8,
        /// GPU clock at the start; absent in v3.
        ptimer: Option<u64>,
    },
    /// An event of a network plugin.
    NetPlugin {
        /// NCCL's id of the network plugin.
        id: i64,
        /// Address of the network plugin's data.
        data: usize,
        /// Contents of the data, as far as they are known.
        event: NetworkEvent,
    },
    /// A group of API calls.
    GroupApi {
        /// Whether the group is captured into a CUDA graph.
        captured: bool,
        /// Depth of nested groups.
        depth: i32,
    },
    /// A call of a collective function.
    CollApi(CollApi<'a>),
    /// A call of a point-to-point function.
    P2pApi(P2pApi<'a>),
    /// The launch of a kernel.
    KernelLaunch {
        /// Address of the stream.
        stream: usize,
    },
    /// A collective by copy engine.
    CeColl(CeColl<'a>),
    /// Synchronisation of a collective by copy engine.
    CeSync {
        /// NCCL's isComplete.
        complete: bool,
        /// Number of ranks.
        ranks: i32,
    },
    /// Batch of copies of a collective by copy engine.
    CeBatch {
        /// Number of copies.
        operations: i32,
        /// Bytes of all copies.
        bytes: u64,
        /// NCCL's useIntraSync.
        intra_sync: bool,
    },
    /// A phase within a kernel channel (v7).
    KernelPhase {
        /// Channel id.
        channel: u8,
        /// 0 for the initial synchronisation, 1 for compute, 2 for the final synchronisation.
        phase: u8,
        /// NCCL's name of the phase.
        name: Option<CText<'a>>,
        /// GPU clock at the start.
        ptimer: u64,
    },
    /// A type that this plugin does not know.
    Unknown {
        /// NCCL's number of the type.
        bits: u64,
    },
}

impl Payload<'_> {
    /// Returns NCCL's number of the event's type.
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
    /// Communicator id. Only v1 to v3 have it here; the v1 to v3 wrappers of newer NCCL pass 0.
    pub communicator: Option<u64>,
    /// Name of the communicator. Only v1 to v3 have it here; the v1 to v3 wrappers of newer NCCL pass none.
    pub name: Option<CText<'a>>,
    /// Sequence number among the communicator's operations of this function.
    pub sequence: u64,
    /// Name of the function.
    pub function: Option<CText<'a>>,
    /// Address of the send buffer.
    pub send: usize,
    /// Address of the receive buffer.
    pub receive: usize,
    /// Number of elements.
    pub count: u64,
    /// Rank of the root.
    pub root: i32,
    /// Name of the element type.
    pub datatype: Option<CText<'a>>,
    /// Number of channels.
    pub channels: u8,
    /// Number of warps.
    pub warps: u8,
    /// Name of the algorithm.
    pub algorithm: Option<CText<'a>>,
    /// Name of the protocol.
    pub protocol: Option<CText<'a>>,
    /// Handle of the group (v5 and later); 0 up to v4, where the parent is the group.
    pub group: u64,
    /// Name of the kernel variant (v7).
    pub variant: Option<CText<'a>>,
    /// Whether the kernel is a symmetric kernel (v7).
    pub symmetric: bool,
    /// The user's tag (v7); 0 for none.
    pub tag: u64,
}

/// A send or receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct P2p<'a> {
    /// As in [`Coll`].
    pub communicator: Option<u64>,
    /// As in [`Coll`].
    pub name: Option<CText<'a>>,
    /// Name of the function.
    pub function: Option<CText<'a>>,
    /// Address of the buffer.
    pub buffer: usize,
    /// Name of the element type.
    pub datatype: Option<CText<'a>>,
    /// Number of elements.
    pub count: u64,
    /// Rank of the peer.
    pub peer: i32,
    /// Number of channels (v4 and later).
    pub channels: u8,
    /// As in [`Coll`].
    pub group: u64,
    /// As in [`Coll`].
    pub tag: u64,
}

/// A proxy operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProxyOp {
    /// Id of the process that the operation belongs to; with PXN, another process.
    pub pid: i32,
    /// Channel id.
    pub channel: u8,
    /// Rank of the peer.
    pub peer: i32,
    /// Number of steps of the operation.
    pub steps: i32,
    /// Bytes per chunk.
    pub chunk: i32,
    /// Not 0 for a send.
    pub send: i32,
}

/// A call of a collective function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CollApi<'a> {
    /// Name of the function.
    pub function: Option<CText<'a>>,
    /// Number of elements.
    pub count: u64,
    /// Name of the element type.
    pub datatype: Option<CText<'a>>,
    /// Rank of the root.
    pub root: i32,
    /// Address of the stream.
    pub stream: usize,
    /// Whether the call is captured into a CUDA graph.
    pub captured: bool,
    /// As in [`Coll`].
    pub tag: u64,
}

/// A call of a point-to-point function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct P2pApi<'a> {
    /// Name of the function.
    pub function: Option<CText<'a>>,
    /// Number of elements.
    pub count: u64,
    /// Name of the element type.
    pub datatype: Option<CText<'a>>,
    /// Address of the stream.
    pub stream: usize,
    /// Whether the call is captured into a CUDA graph.
    pub captured: bool,
    /// As in [`Coll`].
    pub tag: u64,
}

/// A collective by copy engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CeColl<'a> {
    /// Sequence number among the communicator's operations of this function.
    pub sequence: u64,
    /// Name of the function.
    pub function: Option<CText<'a>>,
    /// Address of the send buffer.
    pub send: usize,
    /// Address of the receive buffer.
    pub receive: usize,
    /// Number of elements.
    pub count: u64,
    /// Rank of the root.
    pub root: i32,
    /// Name of the element type.
    pub datatype: Option<CText<'a>>,
    /// NCCL's strategy of synchronising the copies.
    pub strategy: Option<CText<'a>>,
    /// NCCL's intraBatchSync.
    pub intra_batch_sync: bool,
    /// Number of copies per batch.
    pub batch_size: u32,
    /// Number of batches.
    pub batches: u32,
    /// NCCL's ceSeqNum.
    pub ce_sequence: u32,
    /// Address of the stream.
    pub stream: usize,
    /// As in [`Coll`].
    pub tag: u64,
}
