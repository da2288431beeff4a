//! The times by which operations are settled.

/// Times, in ticks, by which operations are settled: an operation that was quiet since before such a time gets no more
/// events.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limits {
    /// For an operation with all its kernel channels, or of which none are expected.
    pub quiet: u64,
    /// For an operation that another one followed, if that one ended on the GPU before this time: a communicator's
    /// works run there one after the other. Works in doubt are decided by it, too.
    pub silent: u64,
    /// For an operation with a child that was given up.
    pub overdue: u64,
    /// All events that began before this time have been read. With many operations under way, complete operations are
    /// settled by it.
    pub horizon: u64,
}
