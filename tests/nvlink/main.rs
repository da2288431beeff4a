//! NVML without a GPU: does the library count what a stand-in for NVML (tests/c/nvml/nvml.c) has moved, beside what
//! NCCL's operations should have moved, and does the monitor show it, and the GPUs' conditions?

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod condition;
#[cfg(feature = "otel")]
mod exported;
mod library;
mod machine;
mod monitor;
#[path = "../support/status/mod.rs"]
mod status;
#[path = "../support/tool/mod.rs"]
mod tool;
