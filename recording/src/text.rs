//! The text of a recording: gzip members, written whole, and read as lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Write};

use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::bounds;
use super::error::Problem;

/// Bytes of text that are compressed at once.
const BLOCK: usize = 1 << 16;

/// Writes lines as a gzip member. Speed matters more than size, since the job waits for the library at its end. Text is
/// compressed in whole blocks, since each write costs.
///
/// # Errors
/// Those of `lines` and of `out`.
pub fn write_member<T>(out: &mut dyn Write, lines: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
    let mut member = BufWriter::with_capacity(BLOCK, GzEncoder::new(out, Compression::fast()));
    let written = lines(&mut member)?;
    member.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
    Ok(written)
}

/// Checks that a file with these first bytes is a gzip file.
pub(crate) fn check(first: &[u8]) -> Result<(), Problem> {
    match first {
        [] => Err(Problem::Empty),
        [0x1f] | [0x1f, 0x8b, ..] => Ok(()),
        other => Err(Problem::NotGzip { plain: other.first() == Some(&b'{') }),
    }
}

/// The decompressed text of a recording, line by line. The file may consist of several gzip members.
pub(crate) struct RecordingText {
    reader: BufReader<MultiGzDecoder<BufReader<File>>>,
    buffer: Vec<u8>,
    line: u32,
}

impl RecordingText {
    /// Checks the first bytes before the decoder reads them, because the decoder's own error for a file of another kind
    /// is of no help.
    pub(crate) fn new(file: File) -> Result<Self, Problem> {
        let mut file = BufReader::new(file);
        check(file.fill_buf().map_err(Problem::Read)?)?;
        let reader = BufReader::with_capacity(1 << 16, MultiGzDecoder::new(file));
        Ok(Self { reader, buffer: Vec::new(), line: 0 })
    }

    /// Number of the line that [`next`](Self::next) returned last, from 1; 0 before the first line.
    pub(crate) fn line(&self) -> u32 {
        self.line
    }

    /// Reads the next line without its end, or returns `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, Problem> {
        self.buffer.clear();
        // One byte more than the longest line, for the line end.
        let limit = bounds::LINE as u64 + 1;
        let read = self
            .reader
            .by_ref()
            .take(limit)
            .read_until(b'\n', &mut self.buffer)
            .map_err(|error| self.problem(error))?;
        if read == 0 {
            return Ok(None);
        }
        self.line = self.line.saturating_add(1);
        if self.buffer.last() == Some(&b'\n') {
            self.buffer.pop();
        }
        if self.buffer.len() > bounds::LINE {
            return Err(Problem::TooLong);
        }
        Ok(Some(&self.buffer))
    }

    fn problem(&self, error: io::Error) -> Problem {
        let after = self.line;
        match error.kind() {
            ErrorKind::UnexpectedEof => Problem::Truncated { after },
            ErrorKind::InvalidInput | ErrorKind::InvalidData => Problem::Damaged { after, error },
            _ => Problem::Read(error),
        }
    }
}
