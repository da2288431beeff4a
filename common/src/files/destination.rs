//! Where a person wants a text: a file, or a device, pipe or terminal that is there.

use super::NewFile;
use crate::signal::Held;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a reader may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Writes a text there. A file appears whole or not at all; what is there already and is no file is written into, if somebody reads it.
///
/// # Errors
/// A directory, a FIFO that nobody reads or that is another user's, and whatever else cannot be written.
pub fn write(place: &Path, text: &[u8]) -> io::Result<()> {
    let there = fs::metadata(place).ok();
    match there.as_ref().map(fs::Metadata::file_type) {
        Some(kind) if kind.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Some(kind) if kind.is_fifo() || kind.is_char_device() => write_into(place, text),
        // a file that the process has open, by its descriptor
        Some(kind) if kind.is_file() && is_of_the_system(place) => write_into(place, text),
        Some(kind) if !kind.is_file() => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file")),
        _ => {
            let mut file = NewFile::beside(place)?;
            file.write_all(text)?;
            file.appear()
        }
    }
}

/// Whether its directory is one of the system's, such as `/dev` and `/proc/self/fd`: nothing is replaced there.
fn is_of_the_system(place: &Path) -> bool {
    let directory = place.parent().and_then(|parent| parent.canonicalize().ok());
    directory.is_some_and(|directory| directory.starts_with("/dev") || directory.starts_with("/proc"))
}

/// Writes into it, behind what is there.
fn write_into(place: &Path, text: &[u8]) -> io::Result<()> {
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let mut file = OpenOptions::new().append(true).custom_flags(flags).open(place)?;
    let found = file.metadata()?;
    // SAFETY: geteuid has no preconditions.
    let own = unsafe { libc::geteuid() };
    let refused = match found.file_type() {
        // who reads another user's is not known
        kind if kind.is_fifo() && found.uid() != own && found.uid() != 0 => Some("it belongs to another user"),
        // somebody has put it there since it was looked at
        kind if kind.is_file() && !is_of_the_system(place) => Some("it has changed meanwhile"),
        _ => None,
    };
    if let Some(why) = refused {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    // its reader may go, and a file may be at its limit
    let _held = [libc::SIGPIPE, libc::SIGXFSZ].map(Held::new);
    let deadline = Instant::now() + PATIENCE;
    let mut rest = text;
    while !rest.is_empty() {
        match file.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => rest = &rest[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait_for_room(&file, deadline)?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn wait_for_room(file: &File, deadline: Instant) -> io::Result<()> {
    let left = deadline.saturating_duration_since(Instant::now());
    let mut asked = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    // SAFETY: one entry, which lives as long as the call.
    let ready = unsafe { libc::poll(&raw mut asked, 1, left.as_millis() as libc::c_int) };
    if ready == 0 {
        return Err(io::Error::new(io::ErrorKind::TimedOut, "nobody reads it"));
    }
    Ok(())
}
