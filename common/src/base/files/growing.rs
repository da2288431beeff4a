//! A file that grows in parts while the process runs, and is readable whenever the process ends.

use super::opened::Opened;
use super::{FileName, NewFile};
use crate::base::signal::HeldSignal;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Bytes that are written at a time, since every write has a cost.
const BLOCK: usize = 1 << 16;

/// An open file that consists of whole parts. A part that cannot be written completely is taken back.
#[derive(Debug)]
pub struct Growing {
    file: Opened,
    place: PathBuf,
    length: u64,
}

impl Growing {
    /// Makes the file with its first part, under `name`.
    ///
    /// # Errors
    /// Fails when the file cannot be made or the part cannot be written completely; then nothing is left behind.
    pub fn begin<T>(name: &mut FileName, part: impl FnOnce(&mut NewFile) -> io::Result<T>) -> io::Result<(Self, T)> {
        let mut file = NewFile::beside(name.place())?;
        let written = part(&mut file)?;
        file.flush()?;
        let mut file = file.appear_open(name)?;
        let length = file.seek(SeekFrom::End(0))?;
        Ok((Self { file, place: name.place().to_owned(), length }, written))
    }

    /// Makes a file of a single part, under `name`. It appears when it is closed.
    ///
    /// # Errors
    /// As [`Growing::begin`], and [`Growing::close`].
    pub fn whole<T>(name: &mut FileName, part: impl FnOnce(&mut NewFile) -> io::Result<T>) -> io::Result<T> {
        let mut file = NewFile::beside(name.place())?;
        let written = part(&mut file)?;
        file.appear_as(name)?;
        Ok(written)
    }

    /// Returns the file's path.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Returns whether somebody has removed the file, into which nobody would look any more.
    pub fn is_removed(&self) -> bool {
        self.file.is_removed()
    }

    /// Adds a part.
    ///
    /// # Errors
    /// Fails when the part cannot be written completely; then none of it is in the file.
    pub fn add<T>(&mut self, part: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
        let _limit = HeldSignal::new(libc::SIGXFSZ);
        self.file.seek(SeekFrom::Start(self.length))?;
        let mut buffer = BufWriter::with_capacity(BLOCK, &mut self.file);
        let written = part(&mut buffer).and_then(|written| buffer.flush().map(|()| written));
        // dropping the writer would write the rest of its buffer again
        drop(buffer.into_parts());
        if written.is_ok() {
            self.length = self.file.stream_position()?;
        } else {
            self.file.set_len(self.length)?;
        }
        written
    }

    /// Overwrites the first bytes of the file with `head`.
    ///
    /// # Errors
    /// Fails when the bytes cannot be written.
    pub fn change_head(&mut self, head: &[u8]) -> io::Result<()> {
        let _limit = HeldSignal::new(libc::SIGXFSZ);
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(head)
    }

    /// Closes the file.
    ///
    /// # Errors
    /// Network file systems and quotas may report only here that something was not written.
    pub fn close(self) -> io::Result<()> {
        self.file.close()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Earlier, random};
    use super::*;
    use std::fs;

    #[test]
    fn a_part_that_fails_is_taken_back() {
        let place = std::env::temp_dir().join(format!("scorep-nccl-growing-{:016x}", random()));
        let mut name = FileName::new(&place, Earlier::Kept);
        assert!(
            Growing::begin(&mut name, |_| Err::<(), _>(io::ErrorKind::StorageFull.into())).is_err() && !place.exists()
        );
        let (mut file, ()) = Growing::begin(&mut name, |out| out.write_all(b"head one ")).unwrap();
        let failed = |out: &mut dyn Write| {
            out.write_all(b"half").and_then(|()| out.flush()).and(Err::<(), _>(io::ErrorKind::StorageFull.into()))
        };
        assert!(file.add(failed).is_err());
        file.add(|out| out.write_all(b"two")).unwrap();
        file.change_head(b"HEAD").unwrap();
        file.add(|out| out.write_all(b" three")).unwrap();
        assert_eq!(fs::read_to_string(file.place()).unwrap(), "HEAD one two three");
        file.close().unwrap();
        fs::remove_file(place).unwrap();
    }
}
