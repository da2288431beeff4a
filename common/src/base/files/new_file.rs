//! A file that appears whole or not at all.

use super::hidden::{ENDING, TRIES, hidden};
use super::left::Begun;
use super::opened::Opened;
use super::{Directory, FileName};
use crate::base::signal::HeldSignal;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A file under a random name beside its final place. Dropping it removes the file. While it exists, a write of its
/// thread beyond the size limit (RLIMIT_FSIZE) is an error and does not end the process.
pub struct NewFile {
    file: BufWriter<Opened>,
    part: IncompleteFile,
    /// Final name.
    name: OsString,
    _limit: HeldSignal,
    _begun: Begun,
}

/// An incomplete file in its directory. Dropping it removes the file, unless the file has appeared.
struct IncompleteFile {
    directory: Directory,
    /// The directory's path.
    path: PathBuf,
    /// Empty once the file has appeared.
    name: OsString,
}

impl IncompleteFile {
    /// Lets `give` give the file its name; what fails leaves the file to be removed.
    fn appear(mut self, give: impl FnOnce(&Directory, &OsStr) -> io::Result<()>) -> io::Result<()> {
        give(&self.directory, &self.name)?;
        self.name.clear();
        Ok(())
    }
}

impl Drop for IncompleteFile {
    fn drop(&mut self) {
        if self.name.is_empty() || self.directory.remove(&self.name).is_ok() {
            return;
        }
        // the program may have closed the directory's descriptor, and may do so again
        for _ in 0..TRIES {
            let again = Directory::open(&self.path).ok().filter(|again| again.is_as_opened(&self.directory));
            if again.is_some_and(|again| again.remove(&self.name).is_ok()) {
                return;
            }
        }
    }
}

impl NewFile {
    /// Makes a file that is to appear at `place`, with the mode of any new file. It appears in the directory that is
    /// there now.
    ///
    /// # Errors
    /// As [`Directory::open`], and when no file can be made in that directory.
    pub fn beside(place: &Path) -> io::Result<Self> {
        let (directory, name) = Directory::around(place)?;
        let limit = HeldSignal::new(libc::SIGXFSZ);
        let mut taken = io::ErrorKind::AlreadyExists.into();
        for _ in 0..TRIES {
            let hidden = hidden(&name);
            // before there is a file: a thread that stops for want of memory takes it no further
            let begun = Begun::new(&place.with_file_name(&hidden));
            match directory.create(&hidden) {
                Ok(file) => {
                    begun.is_made();
                    let path = place.parent().unwrap_or(Path::new("")).to_owned();
                    let part = IncompleteFile { directory, path, name: hidden };
                    let file = BufWriter::new(Opened::new(file)?);
                    return Ok(Self { file, part, name, _limit: limit, _begun: begun });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
                Err(error) => return Err(error),
            }
        }
        Err(taken)
    }

    /// Returns the final name of an incomplete file: `NAME` for `.NAME.RANDOM.part`.
    pub fn whole(part: &str) -> Option<&str> {
        let (name, random) = part.strip_prefix('.')?.strip_suffix(ENDING)?.rsplit_once('.')?;
        (random.len() == 16 && random.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(name)
    }

    /// Writes out what is buffered, and returns the file's time by the clock of its file system.
    ///
    /// # Errors
    /// Fails when it cannot be written.
    pub fn modified(&mut self) -> io::Result<SystemTime> {
        self.file.flush()?;
        self.file.get_ref().metadata()?.modified()
    }

    /// Sets the file's mode, whatever the process' umask is.
    ///
    /// # Errors
    /// Fails when the file system has no modes.
    pub fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        self.file.get_ref().set_permissions(permissions)
    }

    /// Closes the file and moves it to its place. A file or a link there is replaced.
    ///
    /// # Errors
    /// Fails when the file could not be written completely. Network file systems and quotas may report that only when
    /// the file is closed.
    pub fn appear(self) -> io::Result<()> {
        // the size limit is held until the end
        let Self { file, part, name, _limit, _begun } = self;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.close()?;
        part.appear(|directory, part| directory.rename(part, &name))
    }

    /// Moves the file to its place at once, and leaves it open for what is still to come.
    ///
    /// # Errors
    /// As [`NewFile::appear`].
    pub(super) fn appear_begun(self) -> io::Result<File> {
        let Self { file, part, name, _limit, _begun } = self;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        part.appear(|directory, part| directory.rename(part, &name))?;
        file.into_file()
    }

    /// Closes the file and moves it to a name of this process, without replacing a file of another process.
    ///
    /// # Errors
    /// As [`NewFile::appear`].
    pub fn appear_as(self, name: &mut FileName) -> io::Result<()> {
        let Self { file, part, _limit, _begun, .. } = self;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.close()?;
        part.appear(|directory, part| name.give(directory, part))
    }

    /// Moves the file to a name of this process like [`NewFile::appear_as`], and leaves it open for later parts.
    ///
    /// # Errors
    /// Fails when the first part could not be written completely.
    pub(super) fn appear_open(self, name: &mut FileName) -> io::Result<Opened> {
        let Self { file, part, _limit, _begun, .. } = self;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        part.appear(|directory, part| name.give(directory, part))?;
        Ok(file)
    }
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
    use super::super::hidden::LONGEST;
    use super::super::random;
    use super::*;
    use std::fs;

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
        // a link of another user is replaced and not followed
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
