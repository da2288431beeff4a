//! A request to the running processes of a job: one file in the directory of their status files, which each of them
//! reads when the file changes.

use serde::{Deserialize, Serialize};

/// Name of the file of the request.
pub const FILE: &str = "scorep-nccl.request.json";
/// Value of [`Request::schema`].
pub const SCHEMA: &str = "scorep-nccl request 1";
/// Longest file that a process reads, bytes.
pub const MOST_BYTES: u64 = 16 << 10;

/// A request. `scorep-nccl ask` writes it under another name first and renames it, so that nobody reads a part of one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Request {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Random number of the request, 16 hexadecimal digits. A process answers each number once.
    pub ticket: String,
    /// Event types that NCCL shall be asked for: the name of a preset.
    pub preset: Option<String>,
    /// Seconds after which the process goes back to its own setting, counted from its reading; `None`: until the next
    /// request.
    pub seconds: Option<f64>,
    /// Whether the process shall go back to its own setting now.
    pub back: bool,
    /// Whether the process shall write its summary now.
    pub summary: bool,
}

/// Answer of a process to a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// Number of the request.
    pub ticket: String,
    /// Time of the reading, nanoseconds since the Epoch.
    pub taken: u64,
    /// Time at which the process goes back to its own setting.
    pub until: Option<u64>,
    /// Path of the summary that was written.
    pub summary: Option<String>,
    /// Part of it that was not done, with the reason.
    pub left_out: Option<String>,
    /// Reason why it was not done.
    pub refused: Option<String>,
}
