//! The inputs of a report: recordings that are played, Score-P's archives, and traces of GPU profilers.
//!
//! Files come in, each read or played in a child process; rows of operations ([`report::table`]), summaries and archives
//! go out. It knows no answer and no step.

#![cfg_attr(
    not(test),
    deny(clippy::print_stdout, clippy::print_stderr, reason = "they panic where nothing can be written")
)]

pub mod archive;
pub mod communication;
mod host;
mod inherited;
pub mod kernels;
pub mod natural;
pub mod offspring;
pub mod otf2;
pub mod replay;
mod sequence;
pub mod table;
mod trace;
