//! A job that runs, by the status files of its processes: the cause that blocks it, ranks that begin to stand out,
//! requests to processes; and this node's GPUs.
//!
//! Status files and NVML's figures come in; lines, files and requests go out. It knows no recording and no report's
//! table.

#![cfg_attr(
    not(test),
    deny(clippy::print_stdout, clippy::print_stderr, reason = "they panic where nothing can be written")
)]

pub mod ask;
mod diagnosis;
pub mod gpus;
pub mod hang;
mod statuses;
pub mod watch;
