//! An operation on the timeline.

use crate::event::name::Name;
use crate::launch::KernelTime;
use crate::operation::{Operation, Source, Timing};

/// No rank has that place.
pub(super) const NO_PLACE: u8 = u8::MAX;
/// A launch that lasts longer loads its kernel, nanoseconds: others take 5 to 30 us.
const LONG_LAUNCH: f64 = 200e3;

/// When it ran, and what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Begin: a time of the GPU's clock, or of CUDA's events, where that is its source, otherwise ticks of the events'
    /// clock.
    pub start: u64,
    /// End, likewise.
    pub stop: u64,
    /// Bytes: elements times their size.
    pub bytes: u64,
    /// NCCL's sequence number, of a collective.
    pub sequence: u64,
    /// The other rank, of a P2p; -1 for a collective.
    pub peer: i32,
    /// Place of its rank in [`super::Timeline::ranks`].
    pub place: u8,
    /// Place in the order of starts of its communicator, as far as 32 bits tell.
    pub order: u32,
    /// How long before `start` its kernel may have begun, microseconds: since the event before its launch.
    /// [`Entry::VAGUE`] where that is longer, or `start` is most likely too early.
    pub ahead: u16,
    /// Function.
    pub function: Name,
    /// Algorithm, of a collective.
    pub algorithm: Name,
    /// Protocol, of a collective.
    pub protocol: Name,
    /// What the times were taken from.
    pub source: Source,
    /// No other operation runs in its kernel, as far as is known.
    pub alone: bool,
}

impl Entry {
    /// See [`Entry::ahead`].
    pub const VAGUE: u16 = u16::MAX;
}

const _: () = assert!(size_of::<Entry>() <= 48, "what NCCL_SCOREP_LANE_MB promises");

/// See [`Entry::ahead`].
pub(super) fn ahead(operation: &Operation, timing: Timing, nanoseconds_per_tick: f64) -> u16 {
    let Timing::Events(KernelTime { start, first, before, is_vague, .. }) = timing else { return 0 };
    // the host was still launching long after the event, which had waited for the kernel before
    let launched = operation.start.saturating_sub(before) as f64 * nanoseconds_per_tick;
    if is_vague || start == first && launched > LONG_LAUNCH {
        return Entry::VAGUE;
    }
    start.saturating_sub(first).div_ceil(1000).try_into().unwrap_or(Entry::VAGUE)
}
