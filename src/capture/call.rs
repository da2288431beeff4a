//! What a call is: the types that the rest of the tool sees.
//!
//! Integers have the width that NCCL's own structs give them (`ncclProfilerEventDescr_v7_t` and older), so nothing has
//! to be converted, and nothing can be cut off, between a capture and the call that replays it.

use std::sync::Arc;

/// One callback.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    /// Nanoseconds since [`mono0`](super::Meta::mono0), taken as the callback began.
    pub(crate) t: u64,
    /// Calling thread: 1, 2, ... in order of appearance.
    pub(crate) tid: u32,
    /// Line of the capture, from 1, for messages.
    pub(crate) line: u32,
    /// Which callback, with its arguments.
    pub(crate) what: What,
}

/// The time of a kernel by two CUDA events around its launch, as the recording plugin learnt it: no callback of NCCL's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kernel {
    /// Nanoseconds since [`mono0`](super::Meta::mono0), when the plugin learnt it.
    pub(crate) t: u64,
    /// Line of the capture, from 1.
    pub(crate) line: u32,
    /// Handle of the `KernelLaunch`, `CeColl` or `CollApi` that the events were recorded around.
    pub(crate) h: u64,
    /// The event before the launch, nanoseconds on the events' clock, which has an epoch of its own.
    pub(crate) first: u64,
    /// The event behind it, on the same clock.
    pub(crate) last: u64,
    /// When the kernel began, on the same clock, as far as the recording plugin knew.
    pub(crate) begin: Option<u64>,
    /// Nanoseconds since [`mono0`](super::Meta::mono0), right before the first event was recorded; without it, the
    /// start's `t` stands for it.
    pub(crate) at: Option<u64>,
}

/// Which callback it was. Contexts and handles are the recording plugin's; a replay gives out its own.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum What {
    /// A communicator came to be; `ctx` is what the plugin gave back for it. `name` may be NULL.
    Init { ctx: u32, comm: u64, name: Option<Arc<str>>, nnodes: i32, nranks: i32, rank: i32 },
    /// An event began; `h` is what the plugin gave back for it, `parent` the handle of the event it belongs to (0 for
    /// none).
    Start { ctx: u32, h: u64, parent: u64, rank: i32, event: Event },
    /// An event entered a state (a number of `ncclProfilerEventState_t`); what `arg` is depends on the state.
    State { h: u64, state: u32, arg: Option<u64> },
    /// An event ended; its handle may still be named as a parent.
    Stop { h: u64 },
    /// A communicator went away; events may still start in its context.
    Finalize { ctx: u32 },
}

/// The descriptor of an event. A NULL string is `None`; a CUDA stream is its address.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    Group,
    Coll {
        seq: u64,
        func: Option<Arc<str>>,
        count: u64,
        dtype: Option<Arc<str>>,
        root: i32,
        nch: u8,
        nwarps: u8,
        algo: Option<Arc<str>>,
        proto: Option<Arc<str>>,
    },
    P2p {
        func: Option<Arc<str>>,
        count: u64,
        dtype: Option<Arc<str>>,
        peer: i32,
        nch: u8,
    },
    ProxyOp {
        pid: i32,
        ch: u8,
        peer: i32,
        nsteps: i32,
        chunk: i32,
        send: bool,
    },
    ProxyStep {
        step: i32,
    },
    ProxyCtrl,
    /// `ptimer` is the GPU's clock at the start, in a unit and from an epoch of its own.
    KernelCh {
        ch: u8,
        ptimer: u64,
    },
    NetPlugin,
    GroupApi {
        depth: i32,
        graph: bool,
    },
    CollApi {
        func: Option<Arc<str>>,
        count: u64,
        dtype: Option<Arc<str>>,
        root: i32,
        stream: u64,
        graph: bool,
    },
    P2pApi {
        func: Option<Arc<str>>,
        count: u64,
        dtype: Option<Arc<str>>,
        stream: u64,
        graph: bool,
    },
    KernelLaunch {
        stream: u64,
    },
    /// A collective by copy engines. The format does not name its fields; those that a collective has are read where
    /// present.
    CeColl {
        seq: u64,
        func: Option<Arc<str>>,
        count: u64,
        dtype: Option<Arc<str>>,
        root: i32,
        stream: u64,
    },
    CeSync,
    CeBatch,
    KernelPhase {
        ch: u8,
        phase: u8,
        ptimer: u64,
    },
    /// A type that only a newer NCCL has; nothing but its bits is known.
    Unknown {
        bits: u64,
    },
}

/// Names of the event types as captures spell them; the place in the list is the number of the type's bit.
pub(super) const NAMES: [&str; 16] = [
    "Group",
    "Coll",
    "P2p",
    "ProxyOp",
    "ProxyStep",
    "ProxyCtrl",
    "KernelCh",
    "NetPlugin",
    "GroupApi",
    "CollApi",
    "P2pApi",
    "KernelLaunch",
    "CeColl",
    "CeSync",
    "CeBatch",
    "KernelPhase",
];

impl Event {
    /// The type as NCCL puts it in `descr.type`: one bit of `ncclProfileGroup`, `ncclProfileColl` and so on.
    #[must_use]
    pub(crate) fn bits(&self) -> u64 {
        match self {
            Self::Group => 1 << 0,
            Self::Coll { .. } => 1 << 1,
            Self::P2p { .. } => 1 << 2,
            Self::ProxyOp { .. } => 1 << 3,
            Self::ProxyStep { .. } => 1 << 4,
            Self::ProxyCtrl => 1 << 5,
            Self::KernelCh { .. } => 1 << 6,
            Self::NetPlugin => 1 << 7,
            Self::GroupApi { .. } => 1 << 8,
            Self::CollApi { .. } => 1 << 9,
            Self::P2pApi { .. } => 1 << 10,
            Self::KernelLaunch { .. } => 1 << 11,
            Self::CeColl { .. } => 1 << 12,
            Self::CeSync => 1 << 13,
            Self::CeBatch => 1 << 14,
            Self::KernelPhase { .. } => 1 << 15,
            Self::Unknown { bits } => *bits,
        }
    }
}
