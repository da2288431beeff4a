//! An operation's time and its source.

use crate::launch::KernelTime;

/// The source of an operation's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeSource {
    /// The stamps of NCCL's kernel channels.
    Stamps,
    /// CUDA events around the kernel's launch.
    Events,
    /// The enqueue's start and the last proxy operation's stop.
    Proxy,
    /// The enqueue alone.
    Enqueue,
}

impl TimeSource {
    /// All sources, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Stamps, Self::Events, Self::Proxy, Self::Enqueue];

    /// Returns the name of the source for attributes and labels.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stamps => "stamps",
            Self::Events => "events",
            Self::Proxy => "proxy",
            Self::Enqueue => "enqueue",
        }
    }

    /// Returns whether the GPU measured the time.
    pub fn is_gpu(self) -> bool {
        matches!(self, Self::Stamps | Self::Events)
    }
}

/// An operation's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// From the first kernel channel's start to the last one's stop, nanoseconds of the GPU's clock.
    Stamps {
        /// First start.
        start: u64,
        /// Last stop.
        stop: u64,
    },
    /// From the kernel's begin to its end, nanoseconds of the events' clock.
    Events(KernelTime),
    /// From the enqueue's start to the last proxy operation's stop, in ticks.
    Proxy(u64),
    /// The enqueue alone, in ticks.
    Enqueue(u64),
}

impl Timing {
    /// Returns the source of the time.
    pub fn source(self) -> TimeSource {
        match self {
            Self::Stamps { .. } => TimeSource::Stamps,
            Self::Events(_) => TimeSource::Events,
            Self::Proxy(_) => TimeSource::Proxy,
            Self::Enqueue(_) => TimeSource::Enqueue,
        }
    }

    /// Returns begin and end of a time that the GPU measured, nanoseconds of the source's clock.
    pub fn on_gpu(self) -> Option<(u64, u64)> {
        match self {
            Self::Stamps { start, stop } => Some((start, stop)),
            Self::Events(KernelTime { start, stop, .. }) => Some((start, stop)),
            Self::Proxy(_) | Self::Enqueue(_) => None,
        }
    }

    /// Returns the time in nanoseconds.
    pub fn nanoseconds(self, nanoseconds_per_tick: f64) -> u64 {
        match self {
            Self::Proxy(ticks) | Self::Enqueue(ticks) => (ticks as f64 * nanoseconds_per_tick).round() as u64,
            Self::Stamps { start, stop } | Self::Events(KernelTime { start, stop, .. }) => stop.saturating_sub(start),
        }
    }
}
