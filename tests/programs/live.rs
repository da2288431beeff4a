//! Processes that run: status files, requests, hangs, watch, NVML.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../ask/main.rs"]
mod ask;
#[path = "../desynchronised.rs"]
mod desynchronised;
#[path = "../hang.rs"]
mod hang;
#[path = "../hang_scale.rs"]
mod hang_scale;
#[path = "../nvlink/main.rs"]
mod nvlink;
#[path = "../progress.rs"]
mod progress;
#[path = "../status.rs"]
mod status;
#[path = "../status_children.rs"]
mod status_children;
#[path = "../status_gpu.rs"]
mod status_gpu;
#[path = "../switching.rs"]
mod switching;
#[path = "../watch/main.rs"]
mod watch;

#[path = "../support/mod.rs"]
mod support;
