//! The tool: recordings, replays, commands, bad input.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]

#[path = "../bad_input.rs"]
mod bad_input;
#[path = "../doctor/main.rs"]
mod doctor;
#[path = "../extremes/main.rs"]
mod extremes;
#[path = "../fuzz_readers/main.rs"]
mod fuzz_readers;
#[path = "../fuzz_recordings.rs"]
mod fuzz_recordings;
#[path = "../launch/main.rs"]
mod launch;
#[path = "../outputs.rs"]
mod outputs;
#[path = "../recording.rs"]
mod recording;
#[path = "../recording_bounds.rs"]
mod recording_bounds;
#[path = "../replay.rs"]
mod replay;
#[path = "../shared.rs"]
mod shared;

#[path = "../support/mod.rs"]
mod support;
