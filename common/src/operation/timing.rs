//! An operation's time, and what it was taken from.

use crate::launch::KernelTime;

/// What an operation's time was taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The stamps of NCCL's kernel.
    Stamps,
    /// CUDA's events around the launch.
    Events,
    /// The enqueue and the last proxy operation's stop.
    Proxy,
    /// The enqueue alone.
    Enqueue,
}

impl Source {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Stamps, Self::Events, Self::Proxy, Self::Enqueue];

    /// As attributes and labels say it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stamps => "stamps",
            Self::Events => "events",
            Self::Proxy => "proxy",
            Self::Enqueue => "enqueue",
        }
    }

    /// Whether the time is the GPU's own.
    pub fn is_gpu(self) -> bool {
        matches!(self, Self::Stamps | Self::Events)
    }
}

/// An operation's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// From the first kernel start to the last kernel stop, nanoseconds of the GPU's clock.
    Stamps {
        /// First start.
        start: u64,
        /// Last stop.
        stop: u64,
    },
    /// From the kernel's begin to its end, nanoseconds of the events' clock.
    Events(KernelTime),
    /// From the enqueue to the last proxy operation's stop, in ticks.
    Proxy(u64),
    /// The enqueue alone, in ticks.
    Enqueue(u64),
}

impl Timing {
    /// What it was taken from.
    pub fn source(self) -> Source {
        match self {
            Self::Stamps { .. } => Source::Stamps,
            Self::Events(_) => Source::Events,
            Self::Proxy(_) => Source::Proxy,
            Self::Enqueue(_) => Source::Enqueue,
        }
    }

    /// Begin and end of a time that is the GPU's own, nanoseconds of the clock that its source has.
    pub fn on_gpu(self) -> Option<(u64, u64)> {
        match self {
            Self::Stamps { start, stop } => Some((start, stop)),
            Self::Events(KernelTime { start, stop, .. }) => Some((start, stop)),
            Self::Proxy(_) | Self::Enqueue(_) => None,
        }
    }

    /// How long it is, nanoseconds.
    pub fn nanoseconds(self, nanoseconds_per_tick: f64) -> u64 {
        match self {
            Self::Proxy(ticks) | Self::Enqueue(ticks) => (ticks as f64 * nanoseconds_per_tick).round() as u64,
            Self::Stamps { start, stop } | Self::Events(KernelTime { start, stop, .. }) => stop.saturating_sub(start),
        }
    }
}
