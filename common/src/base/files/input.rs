//! Files that a person names to be read, among which another user may have put something.

use super::directory::is_own_user;
use super::opened::attempted;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Opens a file for reading. A pipe of the user's or of root, such as `/dev/fd/3`, is waited for.
///
/// # Errors
/// The system's, and for a pipe of another user, who would decide how long the reader waits.
pub fn input(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    let found = file.metadata()?;
    if found.file_type().is_fifo() {
        if found.uid() != 0 && !is_own_user(found.uid()) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is a pipe of another user"));
        }
        // until a writer has written or has gone: opened a second time, the pipe would wait for another writer
        attempted(|| poll(&mut [PollFd::new(&file, PollFlags::IN)], None))?;
    }
    attempted(|| fcntl_setfl(&file, OFlags::empty()))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::path::PathBuf;

    /// Makes a pipe, and returns its directory and its place.
    fn pipe() -> [PathBuf; 2] {
        let directory = std::env::temp_dir().join(format!("scorep-nccl-input-{:016x}", super::super::random()));
        std::fs::create_dir(&directory).unwrap();
        let place = directory.join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&place).status().unwrap();
        assert!(made.success());
        [directory, place]
    }

    fn read(place: &Path) -> String {
        let mut text = String::new();
        input(place).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_pipe_of_the_user_s_is_waited_for() {
        let [directory, place] = pipe();
        let text = std::thread::scope(|scope| {
            scope.spawn(|| std::fs::write(&place, "written").unwrap());
            read(&place)
        });
        assert_eq!(text, "written");
        std::fs::remove_dir_all(directory).unwrap();
    }

    /// A writer of little is gone before the reader has more than opened the pipe.
    #[test]
    fn a_writer_that_is_gone_is_not_waited_for() {
        let [directory, place] = pipe();
        let first = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&place).unwrap();
        std::fs::write(&place, "written").unwrap();
        assert_eq!(read(&place), "written");
        drop(first);
        std::fs::remove_dir_all(directory).unwrap();
    }
}
