//! All operations of the job in one stream: matched over ranks, on one clock, and compared.
//!
//! A **call** is an operation as the report counts it: a collective of one rank, or all sends and receives that a rank
//! enqueued in one group on one stream (an **exchange**). An **occurrence** is one operation of a communicator, with
//! the calls of all of its ranks.
//!
//! ```text
//! rows of each process ──► reading ──► collectives, exchanges ──► judge ──► order ──► listeners
//!                          (calls)     (matched over ranks)       (waits)   (by GPU)
//! sample of all rows ────► clocks ──────────────────────────────────┘
//! ```
//! A [`ClockSampling`] sees all rows once, and [`run`] reads them a second time; it may run several times with the same
//! clocks. Both stop at the first table that cannot be read: it has to be left out of the job before they begin anew.
//!
//! Nothing here keeps more than a bounded sample for the clocks, the calls whose occurrences are not complete yet, and
//! two numbers for each pair of ranks that exchange messages.

mod call;
mod clocks;
mod collectives;
mod exchange;
mod exchanges;
mod held;
mod judge;
mod merge;
mod occurrence;
mod order;
mod places;
mod reading;
mod sample;

pub use call::{Call, CallKind, CallTags, Message};
pub use clocks::CommonClock;
pub(crate) use exchange::{MAX_ROWS_BETWEEN, Together};
pub use merge::run;
pub use occurrence::{ComparedRanks, JudgedCall, Listener, Occurrence, RankPart, StreamCounts};
pub(crate) use places::{MatchingPlace, Places};
pub use sample::ClockSampling;

#[cfg(test)]
mod tests;
