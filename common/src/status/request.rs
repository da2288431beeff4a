//! A request to the running processes of a job: one file in the directory of their status files, which each of them
//! reads when the file changes.

use crate::base::files;
use serde::{Deserialize, Serialize};
use std::fs::Metadata;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Name of the file of the request.
pub const FILE: &str = "scorep-nccl.request.json";
/// Value of [`StatusRequest::schema`].
pub const SCHEMA: &str = "scorep-nccl request 2";
/// Longest file that a process reads, bytes.
pub const MOST_BYTES: u64 = 16 << 10;

/// Longest time for which a request holds, seconds: an older one may have been put back by somebody.
pub const MOST_AGE: u64 = 60;
/// Group or others may write.
const OTHERS_WRITE: u32 = 0o022;

/// A request. `scorep-nccl ask` writes it under another name first and renames it, so that nobody reads a part of one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusRequest {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Random number of the request, 16 hexadecimal digits. A process does each number once.
    pub ticket: String,
    /// The processes that shall do it; a request for nobody is refused.
    pub to: Option<To>,
    /// Event types that NCCL shall be asked for: the name of a preset.
    pub preset: Option<String>,
    /// Seconds after which the process goes back to its own setting, counted from its reading; `None`: until the next
    /// request.
    pub seconds: Option<f64>,
    /// Whether the process shall go back to its own setting now.
    pub back: bool,
    /// Whether the process shall write its summary now.
    pub summary: bool,
    /// Whether the process shall write its stacks now.
    pub stacks: bool,
}

/// The processes that a request is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum To {
    /// All that have their status file in the directory.
    All,
    /// One process.
    Process {
        /// Name of its host.
        host: Option<String>,
        /// Its process id.
        pid: u32,
        /// Its start, as in its status.
        born: Option<u64>,
    },
}

impl StatusRequest {
    /// Returns the number of the request.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        u64::from_str_radix(&self.ticket, 16).ok()
    }
}

/// Reads the file of a request, if it is the user's or root's, and nobody else's. It is opened once; no link is followed,
/// and nothing waits. Returns the file's metadata, too.
///
/// # Errors
/// In words: the reason why it is no request to obey.
pub fn read(place: &Path) -> Result<(StatusRequest, Metadata), String> {
    let unreadable = |error: std::io::Error| format!("it cannot be read: {error}");
    let (file, found) = files::open_any(place).map_err(unreadable)?;
    if !found.is_file() {
        return Err("it is no regular file".into());
    }
    if found.uid() != 0 && !files::is_own_user(found.uid()) {
        return Err("it belongs to another user".into());
    }
    if found.mode() & OTHERS_WRITE != 0 {
        return Err("other users may write to it".into());
    }
    let mut text = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut text).map_err(unreadable)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(format!("it is longer than {MOST_BYTES} bytes"));
    }
    let request: StatusRequest = serde_json::from_slice(&text).map_err(|error| format!("it is no request: {error}"))?;
    if request.schema != SCHEMA {
        return Err(format!("it is no request of this version ({SCHEMA})"));
    }
    if request.number().is_none() {
        return Err("it has no number".into());
    }
    if request.to.is_none() {
        return Err("it does not say which processes it is for".into());
    }
    Ok((request, found))
}

/// Answer of a process to a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestAnswer {
    /// Number of the request.
    pub ticket: String,
    /// Time of the reading, nanoseconds since the Epoch.
    pub taken: u64,
    /// Time at which the process goes back to its own setting.
    pub until: Option<u64>,
    /// Path of the summary that was written.
    pub summary: Option<String>,
    /// Name of the file of stacks that was written, in the directory of the status.
    pub stacks: Option<String>,
    /// Part of it that was not done, with the reason.
    pub left_out: Option<String>,
    /// Reason why it was not done.
    pub refused: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_a_whole_request_that_nobody_else_can_have_written_is_read() {
        use std::os::unix::fs::PermissionsExt;
        let directory = std::env::temp_dir().join(format!("scorep-nccl-ask-{:016x}", files::random()));
        fs::create_dir(&directory).unwrap();
        let place = directory.join(FILE);
        let put = |text: &str, mode: u32| {
            let _ = fs::remove_file(&place);
            fs::write(&place, text).unwrap();
            fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
            read(&place).map(|(request, _)| request.ticket)
        };
        let whole = format!("{{\"schema\": \"{SCHEMA}\", \"ticket\": \"7\", \"to\": \"all\", \"later\": 1}}");
        assert_eq!(put(&whole, 0o644), Ok("7".into()));
        for (text, mode, wrong) in [
            (whole.as_str(), 0o664, "other users"),
            (&whole, 0o646, "other users"),
            ("{", 0o600, "no request"),
            ("{\"schema\": \"scorep-nccl request 1\"}", 0o600, "this version"),
            (&whole.replace("\"7\"", "\"number\""), 0o600, "no number"),
            (&whole.replace("to", "of"), 0o600, "which processes"),
            (&" ".repeat(MOST_BYTES as usize + 1), 0o600, "longer"),
        ] {
            assert!(put(text, mode).unwrap_err().contains(wrong), "{wrong}");
        }
        fs::remove_file(&place).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &place).unwrap();
        assert!(read(&place).unwrap_err().contains("cannot be read"));
        fs::remove_file(&place).unwrap();
        fs::create_dir(&place).unwrap();
        assert!(read(&place).unwrap_err().contains("no regular file"));
        fs::remove_dir_all(directory).unwrap();
    }
}
