//! Gzip, and the text cut into lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;

use super::bounds;
use super::error::Problem;

/// Checks that a file with these first bytes is a gzip file.
pub(super) fn check(first: &[u8]) -> Result<(), Problem> {
    match first {
        [] => Err(Problem::Empty),
        [0x1f] | [0x1f, 0x8b, ..] => Ok(()),
        other => Err(Problem::NotGzip { plain: other.first() == Some(&b'{') }),
    }
}

/// The decompressed text of a capture, line by line. The file may consist of several gzip members.
pub(super) struct CaptureText {
    reader: BufReader<MultiGzDecoder<BufReader<File>>>,
    buffer: Vec<u8>,
    line: u32,
}

impl CaptureText {
    /// Checks the first bytes before the decoder reads them, because the decoder's own error for a file of another kind
    /// is of no help.
    pub(super) fn new(file: File) -> Result<Self, Problem> {
        let mut file = BufReader::new(file);
        check(file.fill_buf().map_err(Problem::Read)?)?;
        let reader = BufReader::with_capacity(1 << 16, MultiGzDecoder::new(file));
        Ok(Self { reader, buffer: Vec::new(), line: 0 })
    }

    /// Number of the line that [`next`](Self::next) returned last, from 1; 0 before the first line.
    pub(super) fn line(&self) -> u32 {
        self.line
    }

    /// Reads the next line without its end, or returns `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, Problem> {
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
