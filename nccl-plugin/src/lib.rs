//! NCCL's side of scorep-nccl: the profiler interface, version by version.
//!
//! A version is one small file: its descriptor and its table. [`entry`] holds the functions behind every table; they
//! decode and call the core, nothing more. NCCL takes the newest table it knows.

pub mod about;
pub mod entry;
mod interface;
mod opening;
pub mod tables;
pub mod tap;

pub use interface::{descriptor, introduction, kind, payload, v1, v2, v3, v4, v5, v6, v7, version};
pub use opening::{asked, release, shared_memory};
