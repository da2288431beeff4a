//! Score-P's side of scorep-nccl: the plugins that Score-P loads, in the library that is shipped.
//!
//! Score-P knows a plugin by a C function that returns a table of callbacks. The declarations of that interface are in
//! [`sys`]; nothing above it mentions a C type that is not declared there. Two rules hold for every callback: it never
//! unwinds into Score-P (`common::guard`), and what Score-P will free comes from C's allocator, never from Rust's
//! (`memory`).

// Nothing here mentions the NCCL plugin, yet its tables must be in the library: without this line the linker leaves
// them out.
extern crate nccl_plugin as _;

mod host_regions;
mod job;
mod lanes;
mod measurement;
mod metrics;
mod run;
mod stand_ins;
pub mod substrate;
pub mod sys;

pub use job::replayed;
pub use measurement::{BUFFER_BYTES, KNOWN as MEASUREMENT_LIBRARY, LEFT_BYTES, NAMES as LANE_SYMBOLS};
pub use metrics::{counters, series};
