//! A recording that is played. The first reading checks and surveys it. A long recording is read a second time, line by
//! line, as it is played. So no recording takes more memory than its first [`bounds::KEPT`] lines.

use super::bounds;
use super::callback::Content;
use super::error::{Problem, RecordingError};
use super::lines::Lines;
use super::seen::HandleLines;
use super::survey::RecordingSurvey;
use super::text;
use common::files::{self, input};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A recording that was read once and has no errors.
pub struct KeptRecording {
    /// Path of the recording.
    pub path: PathBuf,
    /// The open file, so that both readings see the same file even if the path changes in between.
    file: File,
    /// What the first reading found.
    pub survey: RecordingSurvey,
    /// All lines, if there are at most [`bounds::KEPT`].
    kept: Option<Vec<Content>>,
}

/// The lines of a recording, one after the other.
pub enum Contents {
    /// Lines that the first reading kept.
    Kept(std::vec::IntoIter<Content>),
    /// Lines that are read.
    Read(Box<Lines>),
}

impl Contents {
    /// Returns the next line, or `None` after the last.
    ///
    /// # Errors
    /// When the line is wrong (one that was checked before, because the file has changed since), or cannot be read.
    pub fn next_line(&mut self) -> Result<Option<Content>, RecordingError> {
        match self {
            Self::Kept(contents) => Ok(contents.next()),
            Self::Read(lines) => lines.next_line(),
        }
    }
}

impl KeptRecording {
    /// Reads and checks a recording.
    ///
    /// # Errors
    /// The first problem, with its line (from 1, of the decompressed text).
    pub fn open(path: &Path) -> Result<Self, RecordingError> {
        let file = input(path).and_then(|file| Ok((file.metadata()?.is_file(), file)));
        let (is_file, file) = file.map_err(|error| RecordingError::Unreadable { path: path.into(), error })?;
        let file = if is_file { file } else { copy(file).map_err(|problem| RecordingError::new(path, 1, problem))? };
        let (survey, kept) = survey(path, reopened(path, &file)?)?;
        Ok(Self { path: path.into(), file, survey, kept })
    }

    /// Returns the lines of the recording: those that were kept the first time, those of the file every other time. The
    /// file may have changed: a line may be wrong then, or name a handle that was not given out.
    ///
    /// # Errors
    /// When the file cannot be read again.
    pub fn contents(&mut self) -> Result<Contents, RecordingError> {
        match self.kept.take() {
            Some(kept) => Ok(Contents::Kept(kept.into_iter())),
            None => Ok(Contents::Read(Lines::begin(&self.path, reopened(&self.path, &self.file)?, None)?.1.into())),
        }
    }
}

/// Returns the file, set to its beginning.
fn reopened(path: &Path, file: &File) -> Result<File, RecordingError> {
    let again = file.try_clone().and_then(|mut file| file.rewind().map(|()| file));
    again.map_err(|error| RecordingError::Unreadable { path: path.into(), error })
}

/// Copies a file that can be read only once (a FIFO) into a file without a name.
fn copy(file: File) -> Result<File, Problem> {
    let mut source = BufReader::new(file);
    text::check(source.fill_buf().map_err(Problem::Read)?)?;
    let copied = nameless().and_then(|mut copy| io::copy(&mut source, &mut copy).map(|_| copy));
    copied.map_err(Problem::Read)
}

/// Makes a file of which no other program knows the name.
fn nameless() -> io::Result<File> {
    let path = std::env::temp_dir().join(format!("scorep-nccl-{:016x}", files::random()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}

fn survey(path: &Path, file: File) -> Result<(RecordingSurvey, Option<Vec<Content>>), RecordingError> {
    let (meta, mut lines) = Lines::begin(path, file, Some(HandleLines::default()))?;
    let mut survey = RecordingSurvey::new(meta);
    let mut kept = Some(Vec::new());
    while let Some(content) = lines.next_line()? {
        survey.note(&content).map_err(|problem| lines.wrong(problem))?;
        kept = kept.filter(|kept: &Vec<Content>| kept.len() < bounds::KEPT);
        if let Some(kept) = &mut kept {
            kept.push(content);
        }
    }
    survey.meta.ends(survey.end);
    survey.is_complete = lines.is_complete();
    if survey.calls == 0 { Err(lines.wrong(Problem::NoCall)) } else { Ok((survey, kept)) }
}
