//! A file that appears whole or not at all.

use super::left::Begun;
use super::{Name, random};
use crate::base::signal::Held;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::fd::IntoRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Bytes of the longest name that file systems take, less those of a random number and the dots around.
pub(super) const LONGEST: usize = 255 - 24;
/// Names that are tried: one that is taken by chance is taken once.
pub(super) const TRIES: usize = 16;
/// What the name of a file ends with that is not whole yet.
const ENDING: &str = ".part";

/// A file beside its place, under a random name. Dropped, it is gone. While there is one, writing beyond a limit
/// (RLIMIT_FSIZE) is an error on its thread, and ends no process.
pub struct NewFile {
    file: BufWriter<File>,
    part: Part,
    place: PathBuf,
    _limit: Held,
    _begun: Begun,
}

/// The path of a file that is not whole yet. Dropped, the file is gone, if it did not appear.
struct Part(PathBuf);

impl Drop for Part {
    fn drop(&mut self) {
        // one that has appeared has no such path any more
        let _ = fs::remove_file(&self.0);
    }
}

impl NewFile {
    /// Makes one that is to appear at `place`, with the mode of any new file.
    ///
    /// # Errors
    /// When no file can be made in that directory.
    pub fn beside(place: &Path) -> io::Result<Self> {
        let name = place.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let limit = Held::new(libc::SIGXFSZ);
        let mut taken = io::ErrorKind::AlreadyExists.into();
        for _ in 0..TRIES {
            let path = hidden(place, name);
            // O_EXCL: whatever has that name, a link too, is neither opened nor followed
            match OpenOptions::new().write(true).create_new(true).mode(0o666).custom_flags(libc::O_NOFOLLOW).open(&path)
            {
                Ok(file) => {
                    let begun = Begun::new(&path);
                    let (file, part) = (BufWriter::new(file), Part(path));
                    return Ok(Self { file, part, place: place.to_owned(), _limit: limit, _begun: begun });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
                Err(error) => return Err(error),
            }
        }
        Err(taken)
    }

    /// The name of the file whose part has that name: `NAME` of `.NAME.RANDOM.part`.
    pub fn whole(part: &str) -> Option<&str> {
        let (name, random) = part.strip_prefix('.')?.strip_suffix(ENDING)?.rsplit_once('.')?;
        (random.len() == 16 && random.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(name)
    }

    /// The number of its owner, as the file system shows it.
    pub(super) fn owner(&self) -> io::Result<u32> {
        Ok(self.file.get_ref().metadata()?.uid())
    }

    /// Gives it a mode, whatever the process' mask of modes is.
    ///
    /// # Errors
    /// When the file system knows none.
    pub fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        self.file.get_ref().set_permissions(permissions)
    }

    /// Puts it where it is to be, in the place of a file or a link there.
    ///
    /// # Errors
    /// When not all of it could be written: file systems of other machines, and quotas, may say so only when it is
    /// closed.
    pub fn appear(self) -> io::Result<()> {
        // the limit is held to the end
        let Self { file, mut part, place, _limit, _begun } = self;
        close(file.into_inner().map_err(io::IntoInnerError::into_error)?)?;
        fs::rename(&part.0, place)?;
        part.0.clear();
        Ok(())
    }

    /// Puts it under a name of this process', in the place of no other process' file.
    ///
    /// # Errors
    /// As [`NewFile::appear`].
    pub fn appear_as(self, name: &mut Name) -> io::Result<()> {
        let Self { file, mut part, _limit, _begun, .. } = self;
        close(file.into_inner().map_err(io::IntoInnerError::into_error)?)?;
        name.give(&part.0)?;
        part.0.clear();
        Ok(())
    }

    /// The same, and leaves it open for what is to come behind.
    ///
    /// # Errors
    /// When not all of it could be written.
    pub(super) fn appear_open(self, name: &mut Name) -> io::Result<File> {
        let Self { file, mut part, _limit, _begun, .. } = self;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        name.give(&part.0)?;
        part.0.clear();
        Ok(file)
    }
}

/// A random name beside a place.
pub(super) fn hidden(place: &Path, name: &OsStr) -> PathBuf {
    let mut unique = OsString::from(".");
    unique.push(OsString::from_vec(name.as_bytes().iter().copied().take(LONGEST).collect()));
    unique.push(format!(".{:016x}{ENDING}", random()));
    place.with_file_name(unique)
}

/// File systems of other machines, and quotas, may say only here that something was not written.
pub(super) fn close(file: File) -> io::Result<()> {
    // SAFETY: the descriptor is the file's, which gives it up.
    let closed = unsafe { libc::close(file.into_raw_fd()) } == 0;
    let error = io::Error::last_os_error();
    // Linux has closed it, also where a signal came
    if closed || error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for NewFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let directory = std::env::temp_dir().join(format!("scorep-nccl-new-{:016x}", random()));
        fs::create_dir(&directory).unwrap();
        let place = directory.join("a".repeat(250));
        let mut file = NewFile::beside(&place).unwrap();
        file.write_all(b"half").unwrap();
        let names = || {
            fs::read_dir(&directory)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(NewFile::whole(&names()[0]), Some(&*"a".repeat(LONGEST)));
        drop(file);
        assert!(names().is_empty());
        // a link of somebody else is replaced, and not followed
        let private = directory.join("private");
        fs::write(&private, "mine").unwrap();
        std::os::unix::fs::symlink(&private, &place).unwrap();
        let mut file = NewFile::beside(&place).unwrap();
        file.write_all(b"whole").unwrap();
        file.appear().unwrap();
        assert_eq!((fs::read(&place).unwrap(), fs::read(&private).unwrap()), (b"whole".to_vec(), b"mine".to_vec()));
        assert!(!place.symlink_metadata().unwrap().is_symlink() && names().len() == 2);
        for other in ["a.prom", ".a.prom.part", ".a.prom.0123.part", ".a.prom.0123456789abcdeg.part"] {
            assert_eq!(NewFile::whole(other), None, "{other}");
        }
        fs::remove_dir_all(directory).unwrap();
    }
}
