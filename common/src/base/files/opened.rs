//! An open file of this library in a process of somebody else.
//!
//! The program may close all descriptors, as daemons do, and open files of its own under the same numbers. Nothing is
//! written into these, and none of them is closed: device and inode are compared before each call.

use rustix::io::Errno;
use std::fs::{File, Metadata, Permissions};
use std::io::{self, Seek, SeekFrom, Write};
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, IntoRawFd, RawFd};
use std::os::unix::fs::MetadataExt;

/// Lowest number of a descriptor that lives longer than a call. A program that has closed its standard streams would
/// print into a file with one of their numbers.
const LOWEST: RawFd = 3;
/// Attempts at a call that signals interrupt. A system that interrupts each one is left alone in the end.
const TRIES: u32 = 1000;

/// A file, or a directory, that is open under a number which may have become somebody else's.
#[derive(Debug)]
pub(super) struct Opened {
    file: ManuallyDrop<File>,
    /// Device and inode; `None` where the system does not tell.
    identity: Option<[u64; 2]>,
}

impl Opened {
    /// Takes over a file that was just opened, under a number that no standard stream has.
    ///
    /// # Errors
    /// Fails where the file has the number of one, and the system gives it no other.
    pub(super) fn new(file: File) -> io::Result<Self> {
        let file = lifted(file)?;
        let identity = file.metadata().ok().as_ref().map(identity);
        Ok(Self { file: ManuallyDrop::new(file), identity })
    }

    /// Returns the file, if it still is this one.
    ///
    /// # Errors
    /// Says that the program has taken the number.
    pub(super) fn file(&self) -> io::Result<&File> {
        if self.is_ours() { Ok(&self.file) } else { Err(taken(&self.file)) }
    }

    /// Returns whether both were one file when they were opened.
    pub(super) fn is_as_opened(&self, other: &Self) -> bool {
        self.identity.is_some() && self.identity == other.identity
    }

    /// Returns whether the file has lost its last name: somebody has removed it.
    pub(super) fn is_removed(&self) -> bool {
        self.is_ours() && self.file.metadata().is_ok_and(|found| found.nlink() == 0)
    }

    /// Returns the descriptor, whosever it is.
    pub(super) fn number(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Returns the file itself.
    pub(super) fn into_file(self) -> io::Result<File> {
        let mut this = ManuallyDrop::new(self);
        if !this.is_ours() {
            return Err(taken(&this.file));
        }
        // SAFETY: `this` is never dropped nor used again.
        Ok(unsafe { ManuallyDrop::take(&mut this.file) })
    }

    /// Closes the file. Network file systems and quotas may report only here that something was not written.
    ///
    /// # Errors
    /// The system's, and as [`Opened::file`].
    pub(super) fn close(self) -> io::Result<()> {
        // SAFETY: the descriptor is this file's, which gives it up.
        let closed = unsafe { libc::close(self.into_file()?.into_raw_fd()) } == 0;
        let error = io::Error::last_os_error();
        // Linux closes the descriptor even if a signal interrupted the call
        if closed || error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) }
    }

    pub(super) fn metadata(&self) -> io::Result<Metadata> {
        self.file()?.metadata()
    }

    pub(super) fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        self.file()?.set_permissions(permissions)
    }

    /// Cuts the file.
    pub(super) fn set_len(&self, length: u64) -> io::Result<()> {
        let file = self.file()?;
        attempted(|| rustix::fs::ftruncate(file, length))
    }

    fn is_ours(&self) -> bool {
        match self.file.metadata() {
            Ok(now) => self.identity.is_none_or(|before| before == identity(&now)),
            // a system that does not tell any more, such as a sandbox, has not taken the number
            Err(error) => error.raw_os_error() != Some(libc::EBADF),
        }
    }
}

/// Gives an open file a number of at least [`LOWEST`].
///
/// # Errors
/// Fails where the system has none.
pub(super) fn lifted(file: File) -> io::Result<File> {
    if file.as_raw_fd() >= LOWEST {
        return Ok(file);
    }
    attempted(|| rustix::io::fcntl_dupfd_cloexec(&file, LOWEST)).map(File::from)
}

fn identity(file: &Metadata) -> [u64; 2] {
    [file.dev(), file.ino()]
}

fn taken(file: &File) -> io::Error {
    io::Error::other(format!(
        "the program has closed its descriptor {}, or uses it for something else",
        file.as_raw_fd()
    ))
}

impl Drop for Opened {
    fn drop(&mut self) {
        if self.is_ours() {
            // by the system alone: the program may close the number just now, and in builds with debug assertions a file
            // whose number is closed ends the process
            // SAFETY: the descriptor is this file's, which is not used again.
            unsafe { libc::close(self.file.as_raw_fd()) };
        }
    }
}

impl Write for Opened {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self.file()?;
        for _ in 0..TRIES {
            match file.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                written => return written,
            }
        }
        Err(interrupted())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Opened {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file()?.seek(to)
    }
}

/// Makes a system call, and again as long as signals interrupt it.
///
/// # Errors
/// The system's; of another kind than `Interrupted`, upon which the standard library would try for ever.
pub(crate) fn attempted<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
    for _ in 0..TRIES {
        match call() {
            Err(Errno::INTR) => {}
            done => return Ok(done?),
        }
    }
    Err(interrupted())
}

fn interrupted() -> io::Error {
    io::Error::other("the system interrupts each attempt")
}

#[cfg(test)]
mod tests {
    use super::super::random;
    use super::*;
    use std::fs;
    use std::os::fd::FromRawFd;

    #[test]
    fn a_number_that_became_somebody_elses_is_neither_written_to_nor_closed() {
        let place = std::env::temp_dir().join(format!("scorep-nccl-opened-{:016x}", random()));
        let theirs = place.with_extension("theirs");
        let mut ours = Opened::new(File::create(&place).unwrap()).unwrap();
        ours.write_all(b"one").unwrap();
        fs::write(&theirs, "mine").unwrap();
        let other = File::options().write(true).open(&theirs).unwrap();
        let number = ours.file.as_raw_fd();
        // SAFETY: dup2 puts the other file in this one's place, as a program does that closes all and opens its own.
        assert_eq!(unsafe { libc::dup2(other.as_raw_fd(), number) }, number);
        for wrong in [ours.write_all(b"two"), ours.seek(SeekFrom::Start(0)).map(drop), ours.set_len(0)] {
            assert!(wrong.unwrap_err().to_string().contains("closed its descriptor"));
        }
        drop(ours);
        assert_eq!((fs::read(&place).unwrap(), fs::read(&theirs).unwrap()), (b"one".to_vec(), b"mine".to_vec()));
        // SAFETY: the number is open, as fcntl says, and nobody else closes it.
        unsafe {
            assert!(libc::fcntl(number, libc::F_GETFD) >= 0, "closed");
            drop(File::from_raw_fd(number));
        }
        for path in [place, theirs] {
            fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn a_call_that_is_always_interrupted_fails_in_the_end() {
        let mut calls = 0;
        let failed = attempted(|| {
            calls += 1;
            Err::<(), _>(Errno::INTR)
        });
        assert!(failed.unwrap_err().kind() != io::ErrorKind::Interrupted && calls == TRIES);
        assert_eq!(attempted(|| Ok(7)).unwrap(), 7);
    }
}
