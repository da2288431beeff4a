//! Made jobs whose times are all known, for tests.
//!
//! A [`Maker`] takes the time at which each rank begins an operation and the length of the transfer, in nanoseconds of
//! true time. It writes the rows that the ranks' processes would have, each on its own clock. The other functions make
//! whole jobs.

mod clock;
mod in_memory;
mod incomplete;
mod maker;
mod parallel;
mod passed_on;
mod single;
mod steps;

pub(crate) use clock::DriftingClock;
pub(crate) use in_memory::InMemory;
pub(crate) use incomplete::{foreign_rank, graph_replays, missing_rank, rank_without_operations, repeated_rank};
pub(crate) use maker::{MadeJob, Maker, Start, Truth};
pub(crate) use parallel::two_by_two_by_two;
pub(crate) use passed_on::passed_on;
pub(crate) use single::{all_to_all, apart, delayed, exchanged, late_receiver, late_sender, ring, throttled};
pub(crate) use steps::{Changes, random, steps};

/// A microsecond in nanoseconds.
pub(crate) const US: u64 = 1_000;
/// A millisecond in nanoseconds.
pub(crate) const MS: u64 = 1_000_000;
/// A second in nanoseconds.
pub(crate) const S: u64 = 1_000_000_000;
