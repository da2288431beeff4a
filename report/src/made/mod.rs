//! Made jobs whose times are all known, for tests.
//!
//! A [`Maker`] takes the time at which each rank begins an operation and the length of the transfer, in nanoseconds of
//! true time. It writes the rows that the ranks' processes would have, each on its own clock. The other functions make
//! whole jobs.

mod clock;
mod incomplete;
mod large;
mod maker;
mod parallel;
mod passed_on;
mod single;
mod steps;

pub use clock::DriftingClock;
pub use incomplete::{foreign_rank, graph_replays, missing_rank, rank_without_operations, repeated_rank};
pub use large::Large;
pub use maker::{Comm, MadeJob, Maker, Start, Truth};
pub use parallel::{DATA, PIPELINE, TENSOR, two_by_two_by_two};
pub use passed_on::passed_on;
pub use single::{all_to_all, apart, delayed, exchanged, late_receiver, late_sender, ring, throttled};
pub use steps::{Changes, random, steps};

/// A microsecond in nanoseconds.
pub const US: u64 = 1_000;
/// A millisecond in nanoseconds.
pub const MS: u64 = 1_000_000;
/// A second in nanoseconds.
pub const S: u64 = 1_000_000_000;
