//! The first line of a capture.

use common::origin::{Origin, wall_clock};

/// The format of captures that this tool reads, as the meta line gives it.
pub const FORMAT: u32 = 1;

/// What the first line says of the recorded process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// Version of the profiler interface that NCCL spoke (5 for `ncclProfiler_v5`).
    pub api: u32,
    /// Event types that the recording plugin asked for, one bit each.
    pub mask: u64,
    /// Process id of the recorded process; its own proxy operations carry the same id.
    pub pid: i32,
    /// `CLOCK_REALTIME` in nanoseconds, read at the same moment as `mono0`; 0 where the recorder did not know it.
    pub real0: u64,
    /// `CLOCK_MONOTONIC` in nanoseconds; every [`super::Callback::t`] counts from this time.
    pub mono0: u64,
    /// Number of callbacks that the recorder lost. If it is not 0, figures from this capture are lower bounds.
    pub dropped: u64,
    /// When the recorder's memory became full, in nanoseconds since `mono0`.
    pub full: Option<u64>,
    /// The recorded process, as far as the recorder described it.
    pub origin: Origin,
}

impl Meta {
    /// Sets the end of the recording to the time of its last line, in nanoseconds since `mono0`, unless the recorder
    /// has written the end itself.
    pub(super) fn ends(&mut self, last: u64) {
        let ended = || self.origin.started.as_ref().and_then(|_| wall_clock(i128::from(self.real0) + i128::from(last)));
        self.origin.ended = self.origin.ended.take().or_else(ended);
    }
}
