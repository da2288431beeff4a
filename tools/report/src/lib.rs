//! Answers from a job's NCCL operations: which rank is late, what communication costs a step, and whether the network
//! is as fast as it should be.
//!
//! ```text
//! recordings, archives ──► table ──► clocks, stream ──► analysis ──► answer
//!            (the tool)    (Parquet)  (all ranks together)            (figures)
//! ```
//! A [`table`] has one row for each operation and rank. The `stream` reads the tables of all processes at once, matches
//! operations over ranks and compares their times on one clock. Each part of `analysis` listens to that stream and makes
//! a part of the [`answer`]. Memory is bounded by the operations under way, not by the length of the job.

pub mod analysis;
pub mod answer;
pub mod compare;
pub mod job;
pub mod nccl_log;
mod part_file;
pub mod stream;
pub mod table;

pub use part_file::{PartFilePlace, Unwritten};

// so that what tests, examples and benchmarks share names this crate alike in all of them
#[cfg(test)]
extern crate self as report;
#[cfg(test)]
#[path = "../tests/blank/mod.rs"]
mod blank;
#[cfg(test)]
#[path = "../tests/made/mod.rs"]
mod made;
#[cfg(test)]
#[path = "../tests/sample/mod.rs"]
mod sample;
