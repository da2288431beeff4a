//! Counts of the stream: those that no listener hears of, and those that show what the stream did.

/// Counts of a pass over the operations of a job. Of operations, each rank's counts; of matched, unmatched and compared
/// ones, each occurrence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamCounts {
    /// Operations in the tables, of all ranks.
    pub operations: u64,
    /// Operations of communicators that the job does not know. They are in no call.
    pub foreign: u64,
    /// Occurrences with the calls of all their ranks.
    pub matched: u64,
    /// Occurrences that lack a rank's call.
    pub unmatched: u64,
    /// Occurrences whose ranks' times were compared.
    pub compared: u64,
    /// Largest number of calls that were in memory at once.
    pub most_held: u64,
}
