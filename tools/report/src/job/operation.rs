//! An operation of one rank: a row of the operations' table.

use common::name::NcclName;
use common::operation::{Later, TimeSource};

/// The source of an operation's time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimedBy {
    /// NCCL's GPU timestamps.
    Stamps,
    /// CUDA events around the kernel's launch.
    Events,
    /// A kernel record of a profiler: CUPTI's, in a Score-P trace or a profile of PyTorch's.
    Kernels,
    /// From the enqueue to the last proxy operation's stop: no GPU time.
    Proxy,
    /// The enqueue alone: no GPU time.
    #[default]
    Enqueue,
}

impl From<TimeSource> for TimedBy {
    fn from(source: TimeSource) -> Self {
        match source {
            TimeSource::Stamps => Self::Stamps,
            TimeSource::Events => Self::Events,
            TimeSource::Proxy => Self::Proxy,
            TimeSource::Enqueue => Self::Enqueue,
        }
    }
}

impl TimedBy {
    /// All sources, in the order of their numbers in tables.
    pub const ALL: [Self; 5] = [Self::Stamps, Self::Events, Self::Kernels, Self::Proxy, Self::Enqueue];

    /// Returns whether a time of this source is the GPU's own.
    pub fn is_gpu(self) -> bool {
        matches!(self, Self::Stamps | Self::Events | Self::Kernels)
    }

    /// Returns its name in tables.
    pub fn text(self) -> &'static str {
        match self {
            Self::Stamps => "stamps",
            Self::Events => "events",
            Self::Kernels => "kernels",
            Self::Proxy => "proxy",
            Self::Enqueue => "enqueue",
        }
    }

    /// Returns the source of a name.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.text() == text)
    }
}

/// When an operation ran on its GPU, on the clock of its process, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Time {
    /// Most likely begin.
    pub start: u64,
    /// Most likely end.
    pub stop: u64,
    /// How much earlier and how much later both may be: the uncertainty of the GPU's clock.
    pub clock: [u64; 2],
    /// How much earlier the begin alone may be.
    pub ahead: u64,
}

impl Time {
    /// Returns which was later for a kernel that the host had launched at this time: its launch, or its GPU.
    pub fn later(&self, launched: u64) -> Option<Later> {
        Later::of(launched, self.start, self.clock, self.ahead)
    }
}

/// An operation of one rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RankOperation {
    /// Communicator id.
    pub comm: u64,
    /// Rank in the communicator.
    pub rank: i32,
    /// Function: `AllReduce`, `Send` and so on.
    pub function: NcclName,
    /// NCCL's number of a collective among those of its communicator and function; `None` for a send or receive.
    pub sequence: Option<u64>,
    /// Number of earlier operations of the rank with the same communicator, function and number: replays of a CUDA
    /// graph have one number. 0 for a send or receive.
    pub replay: u32,
    /// Place in the rank's order of starts in the communicator.
    pub order: u64,
    /// The other rank of a send or receive.
    pub peer: Option<i32>,
    /// Root of a broadcast, reduce, gather or scatter, where it is known.
    pub root: Option<i32>,
    /// Number of elements, where it is known.
    pub count: Option<u64>,
    /// Type of the elements (`ncclBfloat16`); `NcclName::none()` where it is unknown.
    pub datatype: NcclName,
    /// Number of elements times their size, as NCCL reports them.
    pub bytes: u64,
    /// Algorithm of a collective.
    pub algorithm: NcclName,
    /// Protocol of a collective.
    pub protocol: NcclName,
    /// Number of channels that NCCL announced; 0 where it is unknown.
    pub channels: u32,
    /// Begin of the enqueue on the host, nanoseconds of the process' clock. In a replay of a CUDA graph: when NCCL
    /// reported the operation.
    pub enqueued: u64,
    /// When the host had launched its kernel, nanoseconds of the process' clock, where that is known.
    pub launched: Option<u64>,
    /// Source of `duration`.
    pub source: TimedBy,
    /// How long it took by its source, nanoseconds.
    pub duration: u64,
    /// When it ran on the GPU; `None` where the begin is not known, also of operations whose duration the GPU has
    /// timed.
    pub time: Option<Time>,
    /// Order of its kernel's first operation in the communicator: operations with the same one share a kernel.
    pub kernel: u64,
    /// Whether it is alone in its kernel, as far as is known.
    pub alone: bool,
    /// Number of the group of API calls in the process that it was enqueued by, where it is known. Sends and receives
    /// with one number are one exchange.
    pub group: Option<u64>,
    /// Number of its CUDA stream in the process; 0 where it is unknown.
    pub stream: u64,
    /// The user's tag (NCCL 2.31 and later); 0 for none.
    pub tag: u64,
    /// Whether it, or something of it, never ended.
    pub unfinished: bool,
}

impl RankOperation {
    /// Returns the operation with another time, and all that follows from it.
    pub fn with_time(self, source: TimedBy, time: Time) -> Self {
        Self { source, duration: time.stop.saturating_sub(time.start), time: Some(time), ..self }
    }

    /// Returns which was later, the launch of its kernel or its GPU, where that is known.
    pub fn later(&self) -> Option<Later> {
        self.time?.later(self.launched?)
    }

    /// Returns whether it is a send or receive.
    pub fn is_message(&self) -> bool {
        self.peer.is_some()
    }
}

/// The kind of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallKind {
    /// A collective that NCCL knows as one.
    Collective,
    /// Sends and receives of one group.
    Exchange,
    /// An exchange that sends to and receives from every other rank of its communicator.
    AllToAll,
}
