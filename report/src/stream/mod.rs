//! All operations of the job in one stream: matched over ranks, on one clock, and compared.
//!
//! A **call** is an operation as the report counts it: a collective of one rank, or all sends and receives that a rank
//! enqueued in one group on one stream (an **exchange**). An **occurrence** is one operation of a communicator, with the
//! calls of all of its ranks.
//!
//! Nothing here keeps more than the calls whose occurrences are not complete yet.

mod call;
mod clocks;
mod collectives;
mod counts;
mod day;
mod exchange;
mod exchanges;
mod held;
mod in_memory;
mod judge;
mod listener;
mod merge;
mod occurrence;
mod order;
mod places;
mod reading;
mod sample;

pub use call::{Call, Kind, Message};
pub use clocks::Clocks;
pub use counts::{Counts, Errors};
pub use in_memory::InMemory;
pub use listener::{Judged, Listener};
pub use merge::run;
pub use occurrence::{Compared, Occurrence, Part};

#[cfg(test)]
mod tests;
