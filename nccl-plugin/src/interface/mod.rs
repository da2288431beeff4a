//! NCCL's profiler interface, version by version: layouts, decoding and encoding.

pub mod descriptor;
pub mod introduction;
pub mod kind;
pub mod payload;
pub mod version;
