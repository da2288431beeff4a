//! The types of a recorded call, for the rest of the tool.
//!
//! Integers have the width of the fields of NCCL's own structs (`ncclProfilerEventDescr_v7_t` and older). So a replay
//! passes them to the plugin without conversion and without loss.

use common::event::network::NetworkEvent;
use std::sync::Arc;

/// One recorded callback.
#[derive(Debug, Clone, PartialEq)]
pub struct Callback {
    /// When the callback began, nanoseconds since [`mono0`](super::Meta::mono0).
    pub t: u64,
    /// Calling thread: 1, 2, ... in order of appearance.
    pub tid: u32,
    /// Line of the capture, from 1; for messages.
    pub line: u32,
    /// Kind of the callback, with its arguments.
    pub what: CallbackKind,
}

/// The time of a kernel by two CUDA events around its launch. The recording plugin measured it; NCCL makes no such
/// callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kernel {
    /// When the recording plugin learnt the time, nanoseconds since [`mono0`](super::Meta::mono0).
    pub t: u64,
    /// Line of the capture, from 1.
    pub line: u32,
    /// Handle of the `KernelLaunch`, `CeColl` or `CollApi` event whose launch the two CUDA events enclose; of a CUDA
    /// graph's replay, which has no launch, the handle of an operation (`Coll`, `P2p`) of the kernel.
    pub h: u64,
    /// Time of the CUDA event before the launch, nanoseconds on the CUDA events' clock, which has an epoch of its own.
    pub first: u64,
    /// Time of the CUDA event after the launch, on the same clock.
    pub last: u64,
    /// When the kernel began, on the same clock; `None` where the recording plugin did not know.
    pub begin: Option<u64>,
    /// When the first CUDA event was recorded, nanoseconds since [`mono0`](super::Meta::mono0). Without it, the `t` of
    /// the start counts.
    pub at: Option<u64>,
}

/// A moment on the host's clock and on that of CUDA's events, which the recording plugin made in the context of a
/// launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapturedAnchor {
    /// When the recording plugin handed it on, nanoseconds since [`mono0`](super::Meta::mono0).
    pub t: u64,
    /// Handle of the launch's event, as of [`Kernel`].
    pub h: u64,
    /// The moment, nanoseconds on the CUDA events' clock.
    pub time: u64,
    /// Two times with the moment between them, nanoseconds since [`mono0`](super::Meta::mono0).
    pub from: u64,
    /// See [`from`](Self::from).
    pub until: u64,
}

/// Kind and arguments of a callback. Contexts and handles are those of the recorded plugin; a replay replaces them by
/// its own.
#[expect(missing_docs, reason = "the fields of NCCL's structures, by the names that they have in a line")]
#[derive(Debug, Clone, PartialEq)]
pub enum CallbackKind {
    /// A communicator was created. `ctx` is the context that the plugin returned for it; `name` may be NULL.
    Init { ctx: u32, comm: u64, name: Option<Arc<str>>, nnodes: i32, nranks: i32, rank: i32 },
    /// An event started. `h` is the handle that the plugin returned for it, `parent` the handle of its parent event (0
    /// for none).
    Start { ctx: u32, h: u64, parent: u64, rank: i32, event: CapturedEvent },
    /// An event entered a state (a number of `ncclProfilerEventState_t`); the state decides what `arg` means.
    State { h: u64, state: u32, arg: Option<u64> },
    /// An event stopped; later events may still name its handle as their parent.
    Stop { h: u64 },
    /// A communicator was destroyed; events may still start in its context.
    Finalize { ctx: u32 },
}

/// The descriptor of an event. A NULL string is `None`; a CUDA stream is its address; a tag of 0 is none.
#[expect(missing_docs, reason = "the fields of NCCL's structures, by the names that they have in a line")]
#[derive(Debug, Clone, PartialEq)]
pub enum CapturedEvent {
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
        /// The variant of a symmetric kernel; `Some(None)` where NCCL named none.
        symmetric: Option<Option<Arc<str>>>,
        tag: u64,
    },
    P2p {
        func: Option<Arc<str>>,
        count: u64,
        dtype: Option<Arc<str>>,
        peer: i32,
        nch: u8,
        tag: u64,
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
    /// `ptimer` is the GPU's clock at the start, in a unit and with an epoch of its own.
    KernelCh {
        ch: u8,
        ptimer: u64,
    },
    /// `plugin` is NCCL's id of the network plugin.
    NetPlugin {
        plugin: i64,
        event: NetworkEvent,
    },
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
        tag: u64,
    },
    P2pApi {
        func: Option<Arc<str>>,
        count: u64,
        dtype: Option<Arc<str>>,
        stream: u64,
        graph: bool,
        tag: u64,
    },
    KernelLaunch {
        stream: u64,
    },
    /// A collective by copy engines. The capture format does not define its fields; fields that `Coll` has are read
    /// where present.
    CeColl {
        seq: u64,
        func: Option<Arc<str>>,
        count: u64,
        dtype: Option<Arc<str>>,
        root: i32,
        stream: u64,
        tag: u64,
    },
    CeSync,
    CeBatch,
    KernelPhase {
        ch: u8,
        phase: u8,
        ptimer: u64,
    },
    /// An event of a type that only a newer NCCL has; the tool knows its type bits only.
    Unknown {
        bits: u64,
    },
}

/// Names of the event types in captures; the place in the list is the number of the type's bit.
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

impl CapturedEvent {
    /// Returns the type as in NCCL's `descr.type`: one bit of `ncclProfileGroup`, `ncclProfileColl` and so on.
    #[must_use]
    pub fn bits(&self) -> u64 {
        match self {
            Self::Group => 1 << 0,
            Self::Coll { .. } => 1 << 1,
            Self::P2p { .. } => 1 << 2,
            Self::ProxyOp { .. } => 1 << 3,
            Self::ProxyStep { .. } => 1 << 4,
            Self::ProxyCtrl => 1 << 5,
            Self::KernelCh { .. } => 1 << 6,
            Self::NetPlugin { .. } => 1 << 7,
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
