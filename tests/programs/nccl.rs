//! NCCL's side: callbacks through each interface, CUDA events, settings.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]

#[path = "../chain.rs"]
mod chain;
#[path = "../conditions.rs"]
mod conditions;
#[path = "../conformance.rs"]
mod conformance;
#[path = "../cuda_events/main.rs"]
mod cuda_events;
#[path = "../cuda_failures.rs"]
mod cuda_failures;
#[path = "../fuzz.rs"]
mod fuzz;
#[path = "../fuzz_settings.rs"]
mod fuzz_settings;
#[path = "../graph_events.rs"]
mod graph_events;
#[path = "../layouts/main.rs"]
mod layouts;
#[path = "../library.rs"]
mod library;
#[path = "../listeners.rs"]
mod listeners;
#[path = "../releases.rs"]
mod releases;
#[path = "../settings_file.rs"]
mod settings_file;
#[path = "../static_plugin.rs"]
mod static_plugin;
#[path = "../stress.rs"]
mod stress;
#[path = "../surroundings.rs"]
mod surroundings;
#[path = "../versions.rs"]
mod versions;
#[path = "../ways.rs"]
mod ways;

#[path = "../support/mod.rs"]
mod support;
