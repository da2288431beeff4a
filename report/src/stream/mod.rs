//! All operations of the job in one stream: matched over ranks, on one clock, and compared.
//!
//! A **call** is an operation as the report counts it: a collective of one rank, or all sends and receives that a rank
//! enqueued in one group on one stream (an **exchange**). An **occurrence** is one operation of a communicator, with the
//! calls of all of its ranks.
//!
//! Nothing here keeps more than the calls whose occurrences are not complete yet.

mod call;
mod listener;
mod occurrence;

pub use call::{Call, Kind, Message};
pub use listener::{Judged, Listener};
pub use occurrence::{Compared, Occurrence, Part};
