//! NCCL's events in the library's own types, independent of the version of the profiler interface. The plugin decodes
//! NCCL's descriptors into these types and does nothing else with them.

pub mod datatype;
pub mod handle;
pub mod kind;
pub mod name;
pub mod network;
pub mod progress;
pub mod text;

use crate::event::network::NetworkEvent;
use crate::event::progress::ProgressChange;
use crate::event::text::CText;
use std::sync::atomic::AtomicI32;

/// A communicator of this process, as NCCL passes it at init. Up to interface v3, NCCL passes no id, name or rank then;
/// see [`CommunicatorIdentity`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitCommunicator {
    /// NCCL's communicator id, the same on all ranks.
    pub id: u64,
    /// The user's name for it, or empty.
    pub name: String,
    /// Number of ranks.
    pub nranks: i32,
    /// Number of nodes.
    pub nnodes: i32,
    /// This process' rank in it. A process with several GPUs has several ranks.
    pub rank: i32,
    /// Whether this version of the interface reports API calls (v5 and later).
    pub api_calls: bool,
    /// Whether the library asked for kernel events, which carry the GPU's times.
    pub kernel_events: bool,
    /// Whether NCCL passed all of the above at init (v4 and later). Otherwise the first operation carries id, name and
    /// rank.
    pub introduced: bool,
    /// How its operations are timed.
    pub timed: TimingOptions,
}

/// How the operations of a communicator are timed: what its NCCL was asked for, and known properties of that NCCL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimingOptions {
    /// Whether NCCL reports launches (v5 and later) and the settings ask for CUDA events around them.
    pub launches: bool,
    /// Whether NCCL counts sends and receives to self (2.31.2 and later). If not, the first of them shifts the stamps
    /// of all later operations.
    pub counts_self: bool,
    /// Whether NCCL launches broadcasts without reporting an operation (2.29 to 2.32 by default). Then only the API
    /// call is reported.
    pub silent_broadcasts: bool,
    /// Nanoseconds per tick of a GPU stamp.
    pub gpu_tick: u64,
    /// NCCL's own mask of the event types that it reports, which NCCL reads at each call.
    pub mask: Option<Mask>,
    /// Event types that NCCL is asked for at the communicator's begin.
    pub asked: i32,
}

impl Default for TimingOptions {
    fn default() -> Self {
        Self { launches: false, counts_self: true, silent_broadcasts: false, gpu_tick: 1, mask: None, asked: 0 }
    }
}

/// NCCL's own mask of the event types that it reports. One word for all its communicators.
#[derive(Debug, Clone, Copy)]
pub struct Mask {
    /// The word, in NCCL's library.
    pub word: &'static AtomicI32,
    /// The types that the settings ask for.
    pub own: i32,
    /// The types of each preset, in the order of [`crate::config::Preset::ALL`].
    pub presets: [i32; 4],
    /// The types that bring the GPU's stamps.
    pub kernels: i32,
    /// Whether the presets lack launches, since CUDA events were not prepared when NCCL began.
    pub lacks_launches: bool,
}

impl PartialEq for Mask {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.word, other.word) && (self.own, self.presets) == (other.own, other.presets)
    }
}

impl Eq for Mask {}

/// A communicator's identity, which every operation carries up to interface v3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommunicatorIdentity<'a> {
    /// Communicator id.
    pub id: u64,
    /// Name, or none.
    pub name: Option<CText<'a>>,
    /// This process' rank in it.
    pub rank: i32,
}

/// The start of an event.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// A collective operation, when it is enqueued for the GPU.
    Coll(StartedOperation<'a>),
    /// A send or receive, when it is enqueued for the GPU.
    P2p(StartedOperation<'a>),
    /// A collective by copy engine, when it is enqueued; the GPU does not time it.
    CeColl(StartedOperation<'a>),
    /// A call of a collective function of NCCL's API.
    CollApi(ApiCall<'a>),
    /// A call of a point-to-point function of NCCL's API.
    P2pApi(ApiCall<'a>),
    /// A group of API calls (a call outside any group is one of its own).
    GroupApi,
    /// The operations of one kernel: they start next on this thread.
    Group,
    /// The launch of a kernel: it starts before the launch and stops after it.
    KernelLaunch {
        /// The stream of the launch: CUDA's handle.
        stream: usize,
    },
    /// One connection's share of an operation on the network.
    ProxyOp(ProxyOp),
    /// One transfer of a proxy operation.
    ProxyStep {
        /// Number of the step within its operation.
        step: i32,
    },
    /// One channel's share of an operation on the GPU.
    KernelCh {
        /// Channel id; it may lie beyond the operation's number of channels.
        channel: u8,
        /// Start on the GPU's clock, if this version of the interface passes it.
        ptimer: Option<u64>,
    },
    /// A look at the states of a progress thread: [`StateChange::Progress`] has the state.
    ProxyCtrl,
    /// An event of a network plugin.
    NetPlugin(NetworkEvent),
    /// A type that NCCL documents and this plugin does not use.
    Unused,
    /// A type that this plugin does not know.
    Unknown,
}

/// An operation on the GPU.
#[derive(Debug, Clone, Copy)]
pub struct StartedOperation<'a> {
    /// NCCL's name, such as `AllReduce` or `Send`.
    pub function: Option<CText<'a>>,
    /// Number of elements.
    pub count: u64,
    /// Type of the elements.
    pub datatype: Option<CText<'a>>,
    /// NCCL's sequence number: the number of the operation among those of the same function in the communicator (0 for
    /// P2p).
    pub sequence: u64,
    /// The peer of a P2p.
    pub peer: Option<i32>,
    /// The root of a collective, as NCCL passes it: of no meaning for functions without one. `None` for a P2p.
    pub root: Option<i32>,
    /// Number of channels; 0 where NCCL does not pass it.
    pub channels: u8,
    /// Algorithm, of a Coll.
    pub algorithm: Option<CText<'a>>,
    /// Protocol, of a Coll.
    pub protocol: Option<CText<'a>>,
    /// The communicator, where only operations carry its identity.
    pub identity: Option<CommunicatorIdentity<'a>>,
    /// The stream of a collective by copy engine: CUDA's handle.
    pub stream: usize,
}

/// A call of NCCL's API.
#[derive(Debug, Clone, Copy)]
pub struct ApiCall<'a> {
    /// NCCL's name, such as `AllReduce` or `Send`.
    pub function: Option<CText<'a>>,
    /// Number of elements.
    pub count: u64,
    /// Type of the elements.
    pub datatype: Option<CText<'a>>,
    /// The stream: CUDA's handle.
    pub stream: usize,
    /// The call was captured into a CUDA graph, so it launches nothing itself.
    pub captured: bool,
    /// The root of a collective, as in [`StartedOperation`].
    pub root: Option<i32>,
}

/// A proxy operation.
#[derive(Debug, Clone, Copy)]
pub struct ProxyOp {
    /// Process that the operation belongs to. If it is another process (PXN), context and parent are that process'
    /// numbers.
    pub pid: i64,
    /// The other rank.
    pub peer: i32,
    /// Channel id.
    pub channel: u8,
    /// Number of steps that NCCL announces.
    pub steps: i32,
    /// True for a send, false for a receive.
    pub send: bool,
}

/// A change of state within an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateChange {
    /// A send step waits until the GPU has filled its buffer.
    SendGpuWait,
    /// A send step's buffer is filled, and waits until the receiver has room for it. NCCL reports it at each poll.
    SendPeerWait,
    /// A send step's data of `bytes` bytes goes to the network.
    SendWait {
        /// Size of the transfer.
        bytes: u64,
    },
    /// A receive step is posted, and waits for data of the network.
    ReceiveWait,
    /// A receive step's data of `bytes` bytes has come, and is flushed into the GPU's memory.
    ReceiveFlush {
        /// Size of the transfer.
        bytes: u64,
    },
    /// A receive step's data is there, and waits until the GPU has taken it out of the buffer.
    ReceiveGpuWait,
    /// The GPU has finished a kernel channel.
    KernelChStop {
        /// The time on the GPU's clock.
        ptimer: u64,
    },
    /// A thread that progresses proxy operations has entered a state, or left one.
    Progress(ProgressChange),
    /// `ncclGroupEnd` has begun.
    GroupEndBegins,
    /// Any other state.
    Other,
}
