//! An occurrence: one operation of a communicator with the calls of its ranks; its listeners, and counts of the stream.

use super::call::Call;
use crate::job::Job;

/// One operation of a communicator, or one exchange of some of its ranks.
#[derive(Debug, Clone, PartialEq)]
pub struct Occurrence {
    /// Number of the occurrence in the stream, from 0.
    pub number: u64,
    /// The ranks' calls, sorted by rank.
    pub parts: Vec<RankPart>,
    /// Whether the calls of all ranks that take part were found.
    pub is_whole: bool,
    /// The comparison of the ranks' times; `None` unless all ranks' times are known on connected clocks.
    pub compared: Option<ComparedRanks>,
}

/// A rank's part in an occurrence. Times are nanoseconds of the common clock.
#[derive(Debug, Clone, PartialEq)]
pub struct RankPart {
    /// The call.
    pub call: Call,
    /// Begin and end on the GPU; `None` where they are unknown.
    pub span: Option<[i64; 2]>,
    /// How long it waited for the last rank: from its begin to the latest begin of all ranks, or to its own end if that
    /// was earlier, as of a buffered send; never below 0. `None` if the occurrence was not compared.
    pub wait: Option<i64>,
    /// Error of `wait` that 19 of 20 do not exceed, nanoseconds.
    pub likely: i64,
    /// Largest error of `wait`, nanoseconds.
    pub error: i64,
}

/// The ranks' times compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComparedRanks {
    /// Latest begin of all ranks.
    pub latest_start: i64,
    /// Latest end of all ranks.
    pub latest_stop: i64,
    /// Place in [`Occurrence::parts`] of the rank that began later than every other rank by more than the likely error.
    pub last: Option<usize>,
}

impl ComparedRanks {
    /// Returns how long the transfer took: from the latest begin to the latest end, never below 0.
    pub fn transfer(&self) -> i64 {
        (self.latest_stop - self.latest_start).max(0)
    }
}

/// A call of a GPU, with the verdict of comparing it with the other ranks' calls.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedCall {
    /// The rank's part.
    pub part: RankPart,
    /// Number of its occurrence.
    pub occurrence: u64,
    /// Latest begin and latest end of all ranks, where the occurrence was compared: the wait ends at the first, the
    /// transfer at the second.
    pub latest: Option<[i64; 2]>,
    /// The sum of the other ranks' waits, if this rank came last by more than the error; `None` if it did not, or
    /// nobody knows.
    pub cost: Option<i64>,
    /// Its part of the others' waits, if it is one of several ranks of which any may have come last within the error; 0
    /// otherwise.
    pub shared: i64,
    /// How much later than the next-latest rank it began, if it came last by more than the error; 0 otherwise.
    pub margin: i64,
}

impl JudgedCall {
    /// Returns the call.
    pub fn call(&self) -> &Call {
        &self.part.call
    }
}

/// A listener to the stream.
pub trait Listener {
    /// An occurrence was matched and compared. It comes before the calls that it judges.
    fn occurrence(&mut self, _job: &Job, _occurrence: &Occurrence) {}

    /// The next call of a GPU, in the order in which its host enqueued them.
    fn call(&mut self, _job: &Job, _judged: &JudgedCall) {}
}

/// Counts of a pass over the operations of a job. Of operations, each rank's counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamCounts {
    /// Operations in the tables, of all ranks.
    pub operations: u64,
    /// Operations of communicators that the job does not know. They are in no call.
    pub foreign: u64,
    /// Largest number of calls that were in memory at once.
    pub most_held: u64,
}
