//! The lines of a capture, one after the other, each checked.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::Meta;
use super::error::{CaptureError, Problem};
use super::line::{Content, LineFields};
use super::strings::Strings;
use super::text::CaptureText;

/// The lines of a capture after the first. Only the different strings stay in memory.
pub struct Lines {
    path: PathBuf,
    text: CaptureText,
    strings: Strings,
    /// Whether the first line announces that the last line will be the end of the process.
    announces_end: bool,
    has_ended: bool,
}

impl Lines {
    /// Opens a capture and reads its first line.
    pub(super) fn begin(path: &Path, file: File) -> Result<(Meta, Self), CaptureError> {
        let first = |problem| CaptureError::of(path, 1, problem);
        let mut text = CaptureText::new(file).map_err(first)?;
        let line = text.next().and_then(|line| line.ok_or(Problem::Empty)).map_err(first)?;
        let (meta, announces_end) =
            LineFields::parse(line).and_then(|line| Ok((line.meta()?, line.announces_end()))).map_err(first)?;
        let strings = Strings::default();
        Ok((meta, Self { path: path.into(), text, strings, announces_end, has_ended: false }))
    }

    /// Reads the next line, or returns `None` after the last.
    ///
    /// # Errors
    /// When the line is wrong, or the file cannot be read.
    pub fn next(&mut self) -> Result<Option<Content>, CaptureError> {
        let content = self.read();
        content.map_err(|problem| self.wrong(problem))
    }

    /// Returns whether the capture goes to the end of its process; valid after the last line. A capture that announces
    /// its end and does not have it ends earlier.
    pub(super) fn is_complete(&self) -> bool {
        self.has_ended || !self.announces_end
    }

    /// Returns the error for a problem at the line that was read last.
    pub(super) fn wrong(&self, problem: Problem) -> CaptureError {
        CaptureError::of(&self.path, self.text.line(), problem)
    }

    fn read(&mut self) -> Result<Option<Content>, Problem> {
        let number = self.text.line().saturating_add(1);
        let bytes = match self.text.next() {
            // the process was killed while it wrote the capture: the lines before are whole
            Err(Problem::Truncated { .. }) if self.announces_end => return Ok(None),
            next => next?,
        };
        let Some(bytes) = bytes else { return Ok(None) };
        let content = LineFields::parse(bytes)?.content(number, &mut self.strings)?;
        self.has_ended |= matches!(content, Content::End);
        Ok(Some(content))
    }
}
