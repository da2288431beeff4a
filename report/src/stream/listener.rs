//! Those who listen to the stream.

use super::call::Call;
use super::occurrence::{Occurrence, RankPart};
use crate::job::Job;

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
    fn occurrence(&mut self, job: &Job, occurrence: &Occurrence) {
        let _ = (job, occurrence);
    }

    /// The next call of a GPU, in the order in which its host enqueued them.
    fn call(&mut self, job: &Job, judged: &JudgedCall) {
        let _ = (job, judged);
    }
}
