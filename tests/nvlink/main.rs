//! NVML without a GPU: does the library count what a stand-in for NVML (tests/c/nvml/nvml.c) has moved, beside what
//! NCCL's operations should have moved, and does the monitor show it, and the GPUs' conditions?

mod condition;
#[cfg(feature = "otel")]
mod exported;
mod library;
mod machine;
mod monitor;
