//! The log of findings: one line of JSON each. Several watchers may add to one file.

use common::files;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Longest log, bytes.
pub const MOST: u64 = 64 << 20;
/// Tries for the lock, and the time between two.
const TRIES: u32 = 100;
const TRY: Duration = Duration::from_millis(5);

/// A log that is open.
#[derive(Debug)]
pub(super) struct FindingLog {
    file: File,
    path: PathBuf,
}

impl FindingLog {
    /// Opens a log, or makes it.
    ///
    /// # Errors
    /// In words: it cannot be opened, or is the user's and no regular file.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let (file, path) = files::append(path).map_err(|error| format!("--log {}: {error}", path.display()))?;
        Ok(Self { file, path })
    }

    /// Returns the path of the log, which is another than was asked for where another user has that name.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a line, in whole or not at all. A lock keeps the lines of two watchers apart, where the file
    /// system has locks.
    ///
    /// # Errors
    /// In words: it cannot be written, or is too long.
    pub(super) fn add(&self, line: &str) -> Result<(), String> {
        // a watcher that was stopped while it had the lock does not hold this one up
        let has_lock = (0..TRIES).any(|_| {
            let is_locked = flock(&self.file, FlockOperation::NonBlockingLockExclusive).is_ok();
            if !is_locked {
                thread::sleep(TRY);
            }
            is_locked
        });
        let added = self.add_locked(line, has_lock);
        let _ = flock(&self.file, FlockOperation::Unlock);
        added.map_err(|error| format!("--log {}: {error}", self.path.display()))
    }

    fn add_locked(&self, line: &str, has_lock: bool) -> io::Result<()> {
        let before = self.file.metadata()?.len();
        if before + line.len() as u64 > MOST {
            return Err(io::Error::other(format!("it would have more than {} MiB", MOST >> 20)));
        }
        (&self.file).write_all(line.as_bytes()).inspect_err(|_| {
            // half a line is none; without the lock, another watcher's line may be behind it
            if has_lock {
                let _ = self.file.set_len(before);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn two_watchers_add_whole_lines() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("findings.jsonl");
        std::thread::scope(|scope| {
            for letter in ["a", "b"] {
                let path = &path;
                scope.spawn(move || {
                    let log = FindingLog::open(path).unwrap();
                    (0..200).for_each(|_| log.add(&(letter.repeat(5000) + "\n")).unwrap());
                });
            }
        });
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 400);
        assert!(lines.iter().all(|line| *line == "a".repeat(5000) || *line == "b".repeat(5000)));
    }

    #[test]
    fn a_link_or_a_directory_is_no_log() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        assert!(FindingLog::open(&link).unwrap_err().starts_with("--log "));
        assert!(FindingLog::open(directory.path()).is_err());
    }
}
