//! What NCCL tells, in the core's own words: the boundary decodes a descriptor of whatever version into these, and
//! nothing more.

pub(crate) mod datatype;
pub mod handle;
pub mod kind;
pub mod name;
pub mod text;

use crate::event::text::Text;
use std::sync::atomic::AtomicI32;

/// A communicator of this process, as NCCL introduces it. Up to interface v3 it says nothing then: see [`Identity`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Communicator {
    /// NCCL's communicator id, the same on all ranks.
    pub id: u64,
    /// The name the user gave it, or empty.
    pub name: String,
    /// Number of ranks.
    pub nranks: i32,
    /// Number of nodes.
    pub nnodes: i32,
    /// This process' rank in it (a process with several GPUs has several).
    pub rank: i32,
    /// Whether this version of the interface reports API calls (v5 and later).
    pub api_calls: bool,
    /// Whether kernel events were asked for, so that the GPU's times come.
    pub kernel_events: bool,
    /// Whether all of the above was told (v4 and later); otherwise the first operation tells the id, the name and the
    /// rank.
    pub introduced: bool,
    /// How its operations are timed.
    pub timed: Timed,
}

/// How the operations of a communicator are timed: what was asked of its NCCL, and what that NCCL is known for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timed {
    /// Whether launches are told of (v5 and later), and events are wanted around them.
    pub launches: bool,
    /// Whether NCCL counts sends and receives to oneself (2.31.2 and later): if not, one of them spoils the stamps of
    /// all that follows.
    pub counts_self: bool,
    /// Whether NCCL launches broadcasts without telling of it (2.29 to 2.32 by default): a call that nothing follows.
    pub silent_broadcasts: bool,
    /// Nanoseconds that a stamp of the GPU counts.
    pub gpu_tick: u64,
    /// NCCL's own word for the event types that it tells of, which it reads at each call.
    pub mask: Option<Mask>,
}

impl Default for Timed {
    fn default() -> Self {
        Self { launches: false, counts_self: true, silent_broadcasts: false, gpu_tick: 1, mask: None }
    }
}

/// NCCL's word for the event types that it tells of: one for all its communicators.
#[derive(Debug, Clone, Copy)]
pub struct Mask {
    /// The word, in NCCL's library.
    pub word: &'static AtomicI32,
    /// What it is with kernel channels, and without.
    pub with: i32,
    /// See `with`.
    pub without: i32,
}

impl PartialEq for Mask {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.word, other.word) && (self.with, self.without) == (other.with, other.without)
    }
}

impl Eq for Mask {}

/// What an operation tells of its communicator, up to interface v3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity<'a> {
    /// Communicator id.
    pub id: u64,
    /// Name, or none.
    pub name: Option<Text<'a>>,
    /// This process' rank in it.
    pub rank: i32,
}

/// The start of an event.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// A collective operation, when it is enqueued for the GPU.
    Coll(Operation<'a>),
    /// A send or receive, when it is enqueued for the GPU.
    P2p(Operation<'a>),
    /// A collective by copy engine, when it is enqueued; the GPU does not time it.
    CeColl(Operation<'a>),
    /// A call of a collective function of NCCL's API.
    CollApi(Call<'a>),
    /// A call of a point-to-point function of NCCL's API.
    P2pApi(Call<'a>),
    /// A group of API calls (a call outside any group is one of its own).
    GroupApi,
    /// The operations of a kernel: they start next on this thread.
    Group,
    /// The launch of a kernel, from before it to its return.
    KernelLaunch {
        /// The stream that it goes into, as CUDA names it.
        stream: usize,
    },
    /// One connection's share of an operation, on the network.
    ProxyOp(ProxyOp),
    /// One transfer of a proxy operation, by its number.
    ProxyStep {
        /// Number of the step within its operation.
        step: i32,
    },
    /// One channel's share of an operation, on the GPU.
    KernelCh {
        /// Channel id; it may lie beyond the operation's number of channels.
        channel: u8,
        /// The GPU's clock at the start, when this version of the interface tells it.
        ptimer: Option<u64>,
    },
    /// A type that NCCL documents and this plugin has no use for.
    Unused,
    /// A type that this plugin does not know.
    Unknown,
}

/// An operation on the GPU.
#[derive(Debug, Clone, Copy)]
pub struct Operation<'a> {
    /// NCCL's name, such as `AllReduce` or `Send`.
    pub function: Option<Text<'a>>,
    /// Number of elements.
    pub count: u64,
    /// Type of the elements.
    pub datatype: Option<Text<'a>>,
    /// Number of the operation among those of its function in its communicator (0 for P2p).
    pub sequence: u64,
    /// The other rank, of a P2p.
    pub peer: Option<i32>,
    /// Number of channels, when told.
    pub channels: u8,
    /// Algorithm, of a Coll.
    pub algorithm: Option<Text<'a>>,
    /// Protocol, of a Coll.
    pub protocol: Option<Text<'a>>,
    /// Its communicator, where only operations tell it.
    pub identity: Option<Identity<'a>>,
    /// The stream of a collective by copy engine, as CUDA names it.
    pub stream: usize,
}

/// A call of NCCL's API.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// NCCL's name, such as `AllReduce` or `Send`.
    pub function: Option<Text<'a>>,
    /// Number of elements.
    pub count: u64,
    /// Type of the elements.
    pub datatype: Option<Text<'a>>,
    /// The stream, as CUDA names it.
    pub stream: usize,
    /// Captured into a CUDA graph: it launches nothing itself.
    pub captured: bool,
}

/// A proxy operation.
#[derive(Debug, Clone, Copy)]
pub struct ProxyOp {
    /// Process that the operation belongs to; another process' when its context and parent are foreign (PXN).
    pub pid: i64,
    /// The other rank.
    pub peer: i32,
    /// Channel id.
    pub channel: u8,
    /// Number of steps it will have.
    pub steps: i32,
    /// Sends (true) or receives.
    pub send: bool,
}

/// A change of state within an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// A send step's data of that many bytes goes to the network.
    SendWait {
        /// Size of the transfer.
        bytes: u64,
    },
    /// The GPU is done with a kernel channel, at that time of its clock.
    KernelChStop {
        /// The GPU's clock.
        ptimer: u64,
    },
    /// `ncclGroupEnd` is called.
    GroupEndBegins,
    /// Any other state.
    Other,
}
