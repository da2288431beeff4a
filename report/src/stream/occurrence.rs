//! An occurrence: one operation of a communicator with the calls of its ranks.

use super::call::Call;

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
