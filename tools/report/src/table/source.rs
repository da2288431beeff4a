//! A file as Parquet's reader reads it. Its decoders trust lengths in places where a damaged file breaks them, and panic,
//! so a child process reads foreign files to their ends before this one does.

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Bytes that are read for the header of a page.
const HEADER: usize = 256;

/// An open file of one descriptor. Parquet's own reader of files takes two more.
pub(super) struct TableFile {
    file: Arc<File>,
    length: u64,
}

impl TableFile {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Self { file: Arc::new(file), length })
    }
}

impl Length for TableFile {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for TableFile {
    type T = BufReader<Place>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::with_capacity(HEADER, Place { file: Arc::clone(&self.file), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        // before the memory is taken: a damaged footer may ask for any length
        if start.checked_add(length as u64).is_none_or(|end| end > self.length) {
            return Err(ParquetError::EOF(format!("{length} bytes at byte {start} go beyond the end of the file")));
        }
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(bytes.into())
    }
}

/// A place in the file from which bytes are read.
pub(super) struct Place {
    file: Arc<File>,
    at: u64,
}

impl Read for Place {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(bytes, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
