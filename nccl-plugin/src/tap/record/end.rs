//! The end of a recording, which its thread writes.

use common::last_work::LastWork;

/// The end of the recording, for the thread.
pub(super) static LAST: LastWork<RecordingEnd> = LastWork::new();

/// The end of a recording: the number of callbacks with a place in the order, and the time since it began, nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordingEnd {
    pub(super) callbacks: u64,
    pub(super) time: u64,
}
