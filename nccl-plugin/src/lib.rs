//! NCCL's side of scorep-nccl: the profiler interface, version by version.
//!
//! A version is one small file: its descriptor and its table. [`entry`] holds the functions behind every table; they decode and
//! call the core, nothing more. NCCL takes the newest table it knows.

pub mod about;
pub mod asked;
pub mod chain;
pub mod contexts;
pub mod descriptor;
pub mod entry;
mod image;
pub mod introduction;
pub mod kind;
mod logger;
pub mod number;
mod opening;
pub mod payload;
pub mod record;
pub mod release;
pub mod shared_memory;
pub mod tables;
pub mod tap;
mod timing;
pub mod v1;
pub mod v2;
pub mod v3;
pub mod v4;
pub mod v5;
pub mod v6;
pub mod v7;
pub mod version;
