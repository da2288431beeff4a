//! Writing a text to the place that a person has named: a file, or an existing device, pipe or terminal.

use super::opened::lifted;
use super::{FileName, NewFile, is_own_user, make};
use crate::base::moments;
use crate::base::signal::HeldSignal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use serde::Serialize;
use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a reader of a pipe or terminal may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Writes a text to `place`.
///
/// A file appears whole or not at all, and missing directories are made. A descriptor of the process, a device, and a
/// FIFO with a reader are written into. A FIFO, a socket or a disk of another user is replaced by a file. A link is
/// replaced by a file too, unless it belongs to the user or to root and leads to a device or a FIFO.
///
/// # Errors
/// Fails for a directory, for a FIFO without a reader, and for anything else that cannot be written.
pub fn write(place: &Path, text: &[u8]) -> io::Result<()> {
    write_by(place, &|out| out.write_all(text), NewFile::appear)
}

/// Like [`write()`], but a file appears under a name of this process and never replaces a file of another process.
///
/// # Errors
/// As [`write()`].
pub(crate) fn write_as(name: &mut FileName, text: &[u8]) -> io::Result<()> {
    let place = name.place().to_owned();
    write_by(&place, &|out| out.write_all(text), |file| file.appear_as(name))
}

/// What kind of place a path names.
enum Target {
    Descriptor(RawFd),
    /// A device or a FIFO.
    Stream,
    Directory,
    /// A socket or a disk.
    Refused,
    /// A file is made, or replaces what is there.
    File,
}

/// Returns whether a text written to `place` replaces the text before, as in a file.
pub fn is_replaced(place: &Path) -> bool {
    matches!(target(place), Target::File)
}

fn target(place: &Path) -> Target {
    if let Some(descriptor) = descriptor(place) {
        return Target::Descriptor(descriptor);
    }
    let there = place.symlink_metadata().ok();
    let is_trusted = there.as_ref().is_some_and(|there| there.uid() == 0 || is_own_user(there.uid()));
    let kind = match there.map(|there| there.file_type()) {
        Some(kind) if kind.is_symlink() && is_trusted => fs::metadata(place).ok().map(|there| there.file_type()),
        kind => kind,
    };
    match kind {
        // another user may have put anything but a file there, to be in the way
        Some(kind) if !is_trusted && !kind.is_char_device() => Target::File,
        Some(kind) if kind.is_dir() => Target::Directory,
        Some(kind) if is_stream(kind) => Target::Stream,
        Some(kind) if kind.is_socket() || kind.is_block_device() => Target::Refused,
        _ => Target::File,
    }
}

/// Writes a text piece by piece.
type ContentWriter<'a> = &'a dyn Fn(&mut dyn Write) -> io::Result<()>;

/// Writes a text. A file gets it piece by piece, so that a long text never is in memory.
fn write_by(
    place: &Path,
    content: ContentWriter<'_>,
    appear: impl FnOnce(NewFile) -> io::Result<()>,
) -> io::Result<()> {
    match target(place) {
        Target::Descriptor(descriptor) => write_into_descriptor(descriptor, &text(content)?),
        Target::Stream => write_into(place, &text(content)?),
        Target::Directory => Err(io::ErrorKind::IsADirectory.into()),
        Target::Refused => Err(refused()),
        Target::File => {
            let mut file = made_beside(place)?;
            content(&mut file)?;
            appear(file)
        }
    }
}

/// Opens `place` for a text that comes piece by piece and is to be read meanwhile. It replaces or writes into the same
/// things as [`write()`], and a file appears at once.
///
/// # Errors
/// As [`write()`].
pub fn begin(place: &Path) -> io::Result<File> {
    match target(place) {
        Target::Descriptor(descriptor) => duplicate(descriptor),
        Target::Stream => {
            let file = stream(place)?;
            // a reader may take its time
            fcntl_setfl(&file, OFlags::empty())?;
            Ok(file)
        }
        Target::Directory => Err(io::ErrorKind::IsADirectory.into()),
        Target::Refused => Err(refused()),
        Target::File => made_beside(place)?.appear_begun(),
    }
}

fn refused() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is a socket or a disk")
}

/// Makes a file that is to appear at `place`, and its directory where that is missing.
fn made_beside(place: &Path) -> io::Result<NewFile> {
    match (NewFile::beside(place), place.parent()) {
        (Err(error), Some(directory)) if error.kind() == io::ErrorKind::NotFound => {
            make(directory)?;
            NewFile::beside(place)
        }
        (file, _) => file,
    }
}

/// Writes a value to `place` as JSON, with a line end behind it.
///
/// # Errors
/// As [`write()`].
pub fn write_json(place: &Path, value: &impl Serialize) -> io::Result<()> {
    write_by(place, &json(value), NewFile::appear)
}

/// Like [`write_json`], but a file appears under a name of this process and never replaces a file of another process.
///
/// # Errors
/// As [`write()`].
pub fn write_json_as(name: &mut FileName, value: &impl Serialize) -> io::Result<()> {
    let place = name.place().to_owned();
    write_by(&place, &json(value), |file| file.appear_as(name))
}

/// Like [`write_json_as`], on one line.
///
/// # Errors
/// As [`write()`].
pub(crate) fn write_line_as(name: &mut FileName, value: &impl Serialize) -> io::Result<()> {
    let mut text = TextInMemory(Vec::new());
    serde_json::to_writer(&mut text, value)?;
    text.write_all(b"\n")?;
    write_as(name, &text.0)
}

fn json(value: &impl Serialize) -> impl Fn(&mut dyn Write) -> io::Result<()> {
    move |out| {
        serde_json::to_writer_pretty(&mut *out, value)?;
        out.write_all(b"\n")
    }
}

fn text(content: ContentWriter<'_>) -> io::Result<Vec<u8>> {
    let mut text = TextInMemory(Vec::new());
    content(&mut text)?;
    Ok(text.0)
}

/// A text in memory. Writing fails, instead of ending the process, where there is no memory.
struct TextInMemory(Vec<u8>);

impl Write for TextInMemory {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        self.0.try_reserve(more.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.0.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn is_stream(kind: FileType) -> bool {
    kind.is_fifo() || kind.is_char_device()
}

/// Returns the descriptor of this process that a path names.
fn descriptor(place: &Path) -> Option<RawFd> {
    match place.to_str()? {
        "/dev/stdout" => Some(libc::STDOUT_FILENO),
        "/dev/stderr" => Some(libc::STDERR_FILENO),
        path => path.strip_prefix("/dev/fd/").or_else(|| path.strip_prefix("/proc/self/fd/"))?.parse().ok(),
    }
}

/// Writes at the current position of the program's own output, which shares the descriptor.
fn write_into_descriptor(descriptor: RawFd, text: &[u8]) -> io::Result<()> {
    write_all(&mut duplicate(descriptor)?, text)
}

fn duplicate(descriptor: RawFd) -> io::Result<File> {
    // SAFETY: fcntl accepts any number and touches no memory.
    if descriptor < 0 || unsafe { libc::fcntl(descriptor, libc::F_GETFD) } < 0 {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    // SAFETY: the descriptor was open at the check above, and the borrow ends with the copy that is taken at once.
    Ok(File::from(unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned()?))
}

/// Writes into a device or a FIFO.
fn write_into(place: &Path, text: &[u8]) -> io::Result<()> {
    write_all(&mut stream(place)?, text)
}

/// Opens a device, or a FIFO that has a reader. A write does not wait.
fn stream(place: &Path) -> io::Result<File> {
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = lifted(OpenOptions::new().write(true).custom_flags(flags).open(place)?)?;
    // somebody may have replaced it since `target` looked at it
    if !is_stream(file.metadata()?.file_type()) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it has changed meanwhile"));
    }
    Ok(file)
}

/// Writes the whole text, as long as its reader goes on reading.
fn write_all(file: &mut File, text: &[u8]) -> io::Result<()> {
    // a pipe's reader may go, and a file may reach its size limit
    let _pipe = HeldSignal::new(libc::SIGPIPE);
    let _limit = HeldSignal::new(libc::SIGXFSZ);
    let deadline = moments::after(Instant::now(), PATIENCE);
    let mut rest = text;
    while !rest.is_empty() {
        wait_for_room(file, deadline)?;
        // a pipe that has room takes that many bytes without a wait
        match file.write(&rest[..rest.len().min(libc::PIPE_BUF)]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => rest = &rest[written..],
            Err(error)
                if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
                    && Instant::now() < deadline => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn wait_for_room(file: &File, deadline: Instant) -> io::Result<()> {
    let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).map_err(io::Error::other)?;
    if poll(&mut [PollFd::new(file, PollFlags::OUT)], Some(&left)) == Ok(0) {
        return Err(io::Error::new(io::ErrorKind::TimedOut, "nobody reads it"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::files::random;
    use std::os::unix::fs::symlink;

    #[test]
    fn files_are_replaced_and_never_written_into() {
        // a directory of the system that everybody may write to
        let directory = Path::new("/dev/shm").join(format!("scorep-nccl-{:016x}", random()));
        fs::create_dir(&directory).unwrap();
        let (place, private) = (directory.join("summary.json"), directory.join("private"));
        fs::write(&private, "mine").unwrap();
        symlink(&private, &place).unwrap();
        for text in ["one", "two"] {
            write(&place, text.as_bytes()).unwrap();
            assert_eq!(
                (fs::read_to_string(&place).unwrap(), fs::read_to_string(&private).unwrap()),
                (text.into(), "mine".into())
            );
        }
        // the user's own link to a device is followed
        let link = directory.join("null");
        symlink("/dev/null", &link).unwrap();
        write(&link, b"gone").unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert!(write(&directory, b"nowhere").is_err() && write(Path::new("/dev/fd/9999"), b"nowhere").is_err());
        fs::remove_dir_all(directory).unwrap();
    }
}
