//! Score-P's side of scorep-nccl: the plugins that Score-P loads, in the library that is shipped.
//!
//! Score-P finds a plugin by a C function that returns a table of callbacks. [`sys`] declares that interface; other
//! modules use only the C types declared there. Two rules hold for every callback: it never unwinds into Score-P
//! (`common::guard`), and memory that Score-P frees comes from C's allocator, never from Rust's (`metrics::memory`).

// This line makes the linker keep the tables of the NCCL plugin, which nothing else here mentions.
extern crate nccl_plugin as _;

mod host_regions;
mod job;
mod lanes;
mod measurement;
mod metrics;
pub mod replayed;
mod run;
pub mod settings;
pub mod substrate;
pub mod sys;

pub use measurement::release;
pub use measurement::{BUFFER_BYTES, LEFT_BYTES, NAMES as LANE_SYMBOLS, lacking};
pub use metrics::{counters, series};
