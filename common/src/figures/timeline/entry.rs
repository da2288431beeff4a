//! An operation on the timeline.

use crate::event::name::NcclName;
use crate::operation::TimeSource;

/// The place of no rank.
pub(super) const NO_PLACE: u8 = u8::MAX;

/// An operation on the timeline, with its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimelineEntry {
    /// Begin, on the clock of its source: the GPU's clock for stamps, else ticks of the events' clock. For events, the
    /// event before the launch, on the clock of CUDA events.
    pub start: u64,
    /// End, on the same clock.
    pub stop: u64,
    /// Bytes: elements times their size.
    pub bytes: u64,
    /// NCCL's sequence number of a collective.
    pub sequence: u64,
    /// The other rank of a P2p; -1 for a collective.
    pub peer: i32,
    /// The root of a collective that has one; else [`NO_ROOT`].
    pub root: u16,
    /// Place of its rank in [`super::Timeline::ranks`].
    pub place: u8,
    /// Place in the communicator's order of starts, the lowest 32 bits.
    pub order: u32,
    /// Time at which the host had launched its kernel, ticks: the end of the launch where events have timed it, the
    /// operation's start where stamps have. 0 where it is not known, and where the GPU itself has launched the kernel.
    /// Its highest bit says that the launch took long (`LONG_LAUNCH`).
    pub launched: u64,
    /// Function.
    pub function: NcclName,
    /// Algorithm of a collective.
    pub algorithm: NcclName,
    /// Protocol of a collective.
    pub protocol: NcclName,
    /// Source of its time.
    pub source: TimeSource,
    /// Whether it is alone in its kernel, as far as is known.
    pub alone: bool,
}

impl TimelineEntry {
    /// Returns the time at which the host had launched its kernel, ticks; 0 where it is not known.
    pub(super) fn launched(&self) -> u64 {
        self.launched & !LONG_LAUNCH
    }
}

/// Marks a launch of more than 100 us: the thread may have lost its processor within it, or in the report of it. Then the
/// kernel was launched at any time of these. A bit that no time has.
pub(super) const LONG_LAUNCH: u64 = 1 << 63;
const LONG: f64 = 100_000.0;

/// Returns `launched` of a launch between these times, in ticks.
pub(super) fn launched([begun, ended]: [u64; 2], nanoseconds_per_tick: f64) -> u64 {
    let is_long = ended.saturating_sub(begun) as f64 * nanoseconds_per_tick > LONG;
    if is_long { ended | LONG_LAUNCH } else { ended }
}

/// Of an operation without a root.
pub const NO_ROOT: u16 = u16::MAX;

const _: () = assert!(size_of::<TimelineEntry>() <= 56, "what NCCL_SCOREP_LANE_MB promises");
