//! NCCL's profiler interface, version by version: layouts and decoding.

pub mod descriptor;
pub mod introduction;
pub mod kind;
pub mod payload;
pub mod v1;
pub mod v2;
pub mod v3;
pub mod v4;
pub mod v5;
pub mod v6;
pub mod v7;
pub mod version;
