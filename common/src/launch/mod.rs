//! A launch that CUDA events time: the kernel of one or more operations, or the copies of a collective by copy engine.
//!
//! ```text
//! launching thread: taken from the pool ─► first event, launch, last event ─► its first operation starts: handed to the collector
//! collector: until both have happened, asks; then the times go to the communicator, and the launch back to the pool
//! ```
//! A launch has one owner at a time and passes from one to the next through channels that nobody waits for: nothing of
//! it is shared.

pub(crate) mod cuda;
pub mod gate;
pub mod lag;
pub mod pool;
pub mod share;
pub mod times;

use crate::event::handle::Handle;
use crate::launch::cuda::Event;
use std::sync::OnceLock;

/// Operations that one kernel runs: those of a communicator that start one after the other. It is named by the first of
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelId {
    /// The communicator's context.
    pub context: Handle,
    /// The first operation's place in the order of starts.
    pub order: u64,
}

/// Why a launch has no time of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Untimed {
    /// It was captured into a CUDA graph, or NCCL told of its operations where no launch was seen, as at a graph's
    /// replay.
    Graph = 1,
    /// No event was free, or the collector did not hear of the launch in time.
    NoEvent = 2,
    /// A call of CUDA's failed.
    CudaFailed = 3,
    /// It was left out, since events would have cost the job too much.
    NotChosen = 4,
    /// There are stamps or events, but they cannot be the operation's time.
    NotBelieved = 5,
}

impl Untimed {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::Graph, Self::NoEvent, Self::CudaFailed, Self::NotChosen, Self::NotBelieved];

    /// As the summary's fields and the counters name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Graph => "graph",
            Self::NoEvent => "no_event",
            Self::CudaFailed => "cuda_failed",
            Self::NotChosen => "not_chosen",
            Self::NotBelieved => "not_believed",
        }
    }

    /// In words, behind `operation` and `operations`.
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

    /// As a byte holds it.
    pub fn from_bits(bits: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| *cause as u8 == bits)
    }
}

/// When the two events happened, as a recording tells it: nanoseconds of the events' clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// The event before the launch.
    pub first: u64,
    /// When the kernel began, if the recorder has worked that out.
    pub begin: Option<u64>,
    /// The one behind it.
    pub last: u64,
    /// When that was learnt, ticks.
    pub learnt: u64,
    /// When the first one was recorded, ticks: never before the launch's callback, which stands for it where the
    /// recording does not tell.
    pub at: u64,
}

/// What says when a launch's kernel ran.
#[derive(Debug, Clone, Copy)]
pub enum Source {
    /// Events before and behind it, of the pool of that number.
    Events {
        /// Number of the pool.
        pool: usize,
        /// How often the pool had been closed.
        generation: u32,
        /// The event before the launch.
        first: Event,
        /// The one behind it.
        last: Event,
    },
    /// A recording that is replayed.
    Recording(Recorded),
}

/// At what point of its launch a kernel starts, on a stream that is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Starts {
    /// At the end: one kernel is launched there.
    AtReturn,
    /// Somewhere in it: it is the call that ends a group, of which NCCL reports no further.
    Within,
    /// At its begin: copies, the first of which comes at once.
    AtOnce,
}

/// A launch, from its begin until its times are known.
#[derive(Debug)]
pub struct Launch {
    /// What times it.
    pub source: Source,
    /// The stream, as NCCL names it.
    pub stream: usize,
    /// What it launches, once that is known; nothing when no operation follows it on its thread.
    pub kernel: Option<KernelId>,
    /// Whether the GPU's stamps were asked for, too.
    pub stamps: bool,
    /// Number under which a recording knows it; 0 for none.
    pub number: u64,
    /// Right before the first event was recorded, ticks.
    pub before: u64,
    /// When the launch had returned, ticks; 0 before.
    pub after: u64,
    /// At what point between the two it starts.
    pub starts: Starts,
}

impl Launch {
    /// One that is not under way.
    pub fn new(source: Source) -> Self {
        Self {
            source,
            stream: 0,
            kernel: None,
            stamps: false,
            number: 0,
            before: 0,
            after: 0,
            starts: Starts::AtReturn,
        }
    }

    /// Whether it has returned: both events are recorded.
    pub fn is_over(&self) -> bool {
        self.after != 0
    }
}

/// What the collector hears of a kernel.
#[derive(Debug)]
pub enum News {
    /// Its launch, whose times are to come.
    Launched(Box<Launch>),
    /// It has none.
    Untimed {
        /// Which one.
        kernel: KernelId,
        /// Why.
        cause: Untimed,
        /// Whether the GPU's stamps were asked for.
        stamps: bool,
    },
}

/// Told of each launch that events have timed: its number in a recording, and when it ran.
pub type Watcher = fn(u64, KernelTime);

static WATCHER: OnceLock<Watcher> = OnceLock::new();

/// From here on the watcher is told, on the collector's thread. Only the first one is.
pub fn watch(watcher: Watcher) {
    let _ = WATCHER.set(watcher);
}

/// A launch that a recording knows was timed.
pub(crate) fn report(number: u64, time: KernelTime) {
    if let (true, Some(watcher)) = (number != 0, WATCHER.get()) {
        watcher(number, time);
    }
}

/// When a kernel ran, nanoseconds of the events' clock (its own epoch, near the system's real time).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelTime {
    /// Its begin.
    pub start: u64,
    /// Its end.
    pub stop: u64,
    /// The event before its launch: it happened after `before`, ticks.
    pub first: u64,
    /// When that event was about to be recorded, ticks.
    pub before: u64,
    /// When the end was learnt, ticks: it had happened before.
    pub learnt: u64,
    /// It was over when its launch returned: where between `first` and `stop` it began is not known.
    pub is_vague: bool,
}
