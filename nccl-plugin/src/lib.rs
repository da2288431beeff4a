//! NCCL's side of scorep-nccl: the profiler interface, version by version.
//!
//! [`version`] lists the versions with the structures of their descriptors. [`tables`] holds one table per version, of
//! which NCCL takes the newest that it knows. [`entry`] holds the functions of all tables: they decode the arguments and
//! call the core.

pub mod about;
pub mod entry;
mod interface;
mod opening;
pub mod replayed;
pub mod tables;
pub mod tap;

pub use interface::{descriptor, introduction, kind, payload, version};
pub use opening::{asked, release, shared_memory, unasked};
