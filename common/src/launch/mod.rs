//! A launch that CUDA events time: the kernel of one or more operations, or the copies of a collective by copy engine.
//!
//! ```text
//! launching thread: taken from the pool ─► first event, launch, last event ─► its first operation starts: handed to the collector
//! collector: until both have happened, asks; then the times go to the communicator, and the launch back to the pool
//! ```
//!
//! A launch has one owner at a time. It passes from one owner to the next over queues, so no part of it is shared.

pub(crate) mod anchors;
mod at_launch;
pub(crate) mod cuda;
pub mod gate;
pub mod lag;
pub mod launches;
mod own_stream;
mod pool;
pub mod share;
pub mod times;

use crate::event::handle::Handle;
use crate::launch::cuda::CudaEvent;
use std::sync::OnceLock;

/// The operations that one kernel runs: operations of a communicator that start one after the other. The first of them
/// names the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelId {
    /// The communicator's context.
    pub context: Handle,
    /// The first operation's place in the order of starts.
    pub order: u64,
}

/// Reason why a launch has no time of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Untimed {
    /// It was captured into a CUDA graph, or NCCL reported its operations without a launch, as at a graph's replay.
    Graph = 1,
    /// No event was free, or the collector did not get the news of the launch in time.
    NoEvent = 2,
    /// A call of CUDA failed.
    CudaFailed = 3,
    /// It got no events, because events would have cost the job too much.
    NotChosen = 4,
    /// It has stamps or events, but they cannot be the operation's time.
    NotBelieved = 5,
}

impl Untimed {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::Graph, Self::NoEvent, Self::CudaFailed, Self::NotChosen, Self::NotBelieved];

    /// Returns the name in the summary's fields and in the counters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Graph => "graph",
            Self::NoEvent => "no_event",
            Self::CudaFailed => "cuda_failed",
            Self::NotChosen => "not_chosen",
            Self::NotBelieved => "not_believed",
        }
    }

    /// Returns the reason in words that follow `operation` and `operations`.
    pub fn meaning(self) -> [&'static str; 2] {
        match self {
            Self::Graph => [
                "has no GPU time: it is of a CUDA graph, or beside one",
                "have no GPU time: they are of CUDA graphs, or beside them",
            ],
            Self::NoEvent => ["has no GPU time: no CUDA event was free", "have no GPU time: no CUDA event was free"],
            Self::CudaFailed => {
                ["has no GPU time: a call of CUDA's failed", "have no GPU time: a call of CUDA's failed"]
            }
            Self::NotChosen => [
                "has no GPU time: it was left out to spare the job the cost of events",
                "have no GPU time: they were left out to spare the job the cost of events",
            ],
            Self::NotBelieved => [
                "has no GPU time: neither stamps nor events can be its",
                "have no GPU time: neither stamps nor events can be theirs",
            ],
        }
    }

    /// Returns the reason with that number.
    pub fn from_bits(bits: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| *cause as u8 == bits)
    }
}

/// A moment on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    /// Time right before the event was recorded, ticks: the event happened later.
    pub from: u64,
    /// Time at which the event was seen to be over, ticks: it happened earlier.
    pub until: u64,
    /// Time of the event, nanoseconds of the clock of CUDA's events.
    pub time: u64,
}

/// Times of a launch's two events from a recording, in nanoseconds of the clock of CUDA's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// The event before the launch.
    pub first: u64,
    /// Begin of the kernel, if the recorder has computed it.
    pub begin: Option<u64>,
    /// The event after the launch.
    pub last: u64,
    /// Time at which the recorder learnt these times, ticks.
    pub learnt: u64,
    /// Time at which the first event was recorded, ticks. Never before the launch's callback, whose time stands in
    /// where the recording has none.
    pub at: u64,
    /// See [`KernelTime::anchor`].
    pub anchor: Option<Anchor>,
}

/// Source of the times of a launch's kernel.
#[derive(Debug, Clone, Copy)]
pub enum LaunchSource {
    /// CUDA events before and after the launch.
    Events {
        /// Number of the pool of the events.
        pool: usize,
        /// Generation of the pool when the events were made.
        generation: u32,
        /// The event before the launch.
        first: CudaEvent,
        /// The event after the launch.
        last: CudaEvent,
    },
    /// A recording that is replayed.
    Recording(Recorded),
}

/// Point of the launch at which the kernel starts, if the stream is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Starts {
    /// At the end of the launch: one kernel is launched there.
    AtReturn,
    /// Somewhere within it: the launch is the call that ends a group, and NCCL reports no part of that call.
    Within,
    /// At its begin: the launch is copies, and the first one starts at once.
    AtOnce,
    /// At its begin, whatever the host does: the GPU launches the kernel, as a node of a CUDA graph.
    InGraph,
}

/// A launch, from its begin until its times are known.
#[derive(Debug)]
pub struct Launch {
    /// Source of its times.
    pub source: LaunchSource,
    /// The stream, as NCCL names it.
    pub stream: usize,
    /// The kernel, once it is known. `None` if no operation follows the launch on its thread.
    pub kernel: Option<KernelId>,
    /// Whether NCCL was asked for the GPU's stamps, too.
    pub stamps: bool,
    /// Number of the launch in a recording; 0 for none.
    pub number: u64,
    /// Time right before the first event was recorded, ticks.
    pub before: u64,
    /// Time at which the launch had returned, ticks; 0 before that.
    pub after: u64,
    /// Point between `before` and `after` at which the kernel starts.
    pub starts: Starts,
    /// Whether its stream is known to have come to it: the event before the launch has happened.
    pub is_reached: bool,
}

impl Launch {
    /// Makes a launch that is not under way.
    pub fn new(source: LaunchSource) -> Self {
        Self {
            source,
            stream: 0,
            kernel: None,
            stamps: false,
            number: 0,
            before: 0,
            after: 0,
            starts: Starts::AtReturn,
            is_reached: false,
        }
    }

    /// Returns whether the launch has returned: both events are recorded.
    pub fn is_over(&self) -> bool {
        self.after != 0
    }
}

/// News of a kernel for the collector.
#[derive(Debug)]
pub enum News {
    /// The kernel's launch, whose times are to come.
    Launched(Box<Launch>),
    /// A launch that was captured into a CUDA graph, with its events. Its `kernel` names the communicator, its `number`
    /// is the handle of a call that the launch runs.
    Captured(Box<Launch>),
    /// The group of a captured launch has a second launch: which of them runs the call is not known.
    Ambiguous {
        /// The communicator's context.
        context: Handle,
        /// Handle of the call.
        call: u64,
    },
    /// The kernel gets no time.
    Untimed {
        /// The kernel.
        kernel: KernelId,
        /// The reason.
        cause: Untimed,
        /// Whether NCCL was asked for the GPU's stamps.
        stamps: bool,
    },
}

/// Called for each launch that events have timed, with its number in a recording and the time of its kernel.
pub type Watcher = fn(u64, KernelTime);

static WATCHER: OnceLock<Watcher> = OnceLock::new();

/// Sets the watcher, which is called on the collector's thread. Only the first one counts.
pub fn watch(watcher: Watcher) {
    let _ = WATCHER.set(watcher);
}

/// Reports the time of a launch that a recording knows.
pub(crate) fn report(number: u64, time: KernelTime) {
    if let (true, Some(watcher)) = (number != 0, WATCHER.get()) {
        watcher(number, time);
    }
}

/// Time of a kernel, in nanoseconds of the clock of CUDA's events (an epoch of its own, near the system's real time).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelTime {
    /// Begin of the kernel.
    pub start: u64,
    /// End of the kernel.
    pub stop: u64,
    /// Time of the event before the launch. It happened after `before`.
    pub first: u64,
    /// Time at which that event was about to be recorded, ticks.
    pub before: u64,
    /// Time at which the kernel was launched, ticks: most likely where NCCL does not report the launch itself. 0 where
    /// the GPU has launched it.
    pub launched: u64,
    /// Time at which the library learnt of the end, ticks. The end had happened before.
    pub learnt: u64,
    /// An anchor of the two clocks that was made since the GPU's last kernel.
    pub anchor: Option<Anchor>,
}
