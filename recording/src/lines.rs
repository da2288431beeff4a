//! The lines of a recording, one after the other, each checked.

use super::callback::Content;
use super::error::{Problem, RecordingError};
use super::line::LineFields;
use super::meta::Meta;
use super::seen::HandleLines;
use super::strings::Strings;
use super::text::RecordingText;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The lines of a recording after the first. Of these, only the different strings stay in memory, and the handles.
pub struct Lines {
    path: PathBuf,
    text: RecordingText,
    strings: Strings,
    /// The handles so far; `None` where an earlier reading has checked them.
    seen: Option<HandleLines>,
    /// Whether the first line announces that the last line will be the end of the process.
    announces_end: bool,
    has_ended: bool,
}

impl Lines {
    /// Opens a recording and reads its first line. `seen` checks the handles of the others.
    pub(crate) fn begin(path: &Path, file: File, seen: Option<HandleLines>) -> Result<(Meta, Self), RecordingError> {
        let first = |problem| RecordingError::new(path, 1, problem);
        let mut text = RecordingText::new(file).map_err(first)?;
        let line = text.next().and_then(|line| line.ok_or(Problem::Empty)).map_err(first)?;
        let (meta, announces_end) =
            LineFields::parse(line).and_then(|line| Ok((line.meta()?, line.announces_end()))).map_err(first)?;
        let strings = Strings::default();
        Ok((meta, Self { path: path.into(), text, strings, seen, announces_end, has_ended: false }))
    }

    /// Reads the next line, or returns `None` after the last.
    ///
    /// # Errors
    /// When the line is wrong, or the file cannot be read.
    pub fn next_line(&mut self) -> Result<Option<Content>, RecordingError> {
        let content = self.read();
        content.map_err(|problem| self.wrong(problem))
    }

    /// Returns whether the recording goes to the end of its process; valid after the last line. A recording that
    /// announces its end and does not have it ends earlier.
    pub(crate) fn is_complete(&self) -> bool {
        self.has_ended || !self.announces_end
    }

    /// Returns the error for a problem at the line that was read last.
    pub(crate) fn wrong(&self, problem: Problem) -> RecordingError {
        RecordingError::new(&self.path, self.text.line(), problem)
    }

    fn read(&mut self) -> Result<Option<Content>, Problem> {
        let number = self.text.line().saturating_add(1);
        let bytes = match self.text.next() {
            // the process was killed while it wrote the recording: the lines before are whole
            Err(Problem::Truncated { .. }) if self.announces_end => return Ok(None),
            next => next?,
        };
        let Some(bytes) = bytes else { return Ok(None) };
        let content = LineFields::parse(bytes)?.content(number, &mut self.strings)?;
        self.has_ended |= matches!(content, Content::End(_));
        self.seen.as_mut().map_or(Ok(()), |seen| seen.check(&content))?;
        Ok(Some(content))
    }
}
