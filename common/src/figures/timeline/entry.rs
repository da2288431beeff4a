//! An operation on the timeline.

use crate::event::name::Name;
use crate::launch::KernelTime;
use crate::operation::{Operation, Source, Timing};

/// The place of no rank.
pub(super) const NO_PLACE: u8 = u8::MAX;
/// A launch that lasts longer loads its kernel, nanoseconds: other launches take 5 to 30 us.
const LONG_LAUNCH: f64 = 200e3;

/// An operation on the timeline, with its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Begin, on the clock of its source: the GPU's clock for stamps, the clock of CUDA events for events, else ticks
    /// of the events' clock.
    pub start: u64,
    /// End, on the same clock.
    pub stop: u64,
    /// Bytes: elements times their size.
    pub bytes: u64,
    /// NCCL's sequence number of a collective.
    pub sequence: u64,
    /// The other rank of a P2p; -1 for a collective.
    pub peer: i32,
    /// Place of its rank in [`super::Timeline::ranks`].
    pub place: u8,
    /// Place in the communicator's order of starts, the lowest 32 bits.
    pub order: u32,
    /// How long before `start` its kernel may have begun, microseconds: the time since the event before its launch.
    /// [`Entry::VAGUE`] if that is longer, or if `start` is most likely too early.
    pub ahead: u16,
    /// Function.
    pub function: Name,
    /// Algorithm of a collective.
    pub algorithm: Name,
    /// Protocol of a collective.
    pub protocol: Name,
    /// Source of its time.
    pub source: Source,
    /// Whether it is alone in its kernel, as far as is known.
    pub alone: bool,
}

impl Entry {
    /// The value of [`Entry::ahead`] for a begin that is too uncertain.
    pub const VAGUE: u16 = u16::MAX;
}

const _: () = assert!(size_of::<Entry>() <= 48, "what NCCL_SCOREP_LANE_MB promises");

/// Works out [`Entry::ahead`].
pub(super) fn ahead(operation: &Operation, timing: Timing, nanoseconds_per_tick: f64) -> u16 {
    let Timing::Events(KernelTime { start, first, before, is_vague, .. }) = timing else { return 0 };
    // the event had waited for the kernel before; the host went on launching for long after it
    let launched = operation.start.saturating_sub(before) as f64 * nanoseconds_per_tick;
    if is_vague || start == first && launched > LONG_LAUNCH {
        return Entry::VAGUE;
    }
    start.saturating_sub(first).div_ceil(1000).try_into().unwrap_or(Entry::VAGUE)
}
