//! A capture that is played: read once to be checked and surveyed, and a long one once more, line by line, as it is
//! played. So the longest takes no more memory than the first [`bounds::KEPT`] lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek};
use std::path::{Path, PathBuf};

use super::bounds;
use super::error::CaptureError;
use super::line::Content;
use super::lines::Lines;
use super::seen::Seen;
use super::survey::Survey;
use super::{Problem, text};

/// A capture that was read once, and is right.
pub(crate) struct Recording {
    /// Where it was read from.
    pub(crate) path: PathBuf,
    /// The same for both readings, whatever becomes of the path meanwhile.
    file: File,
    /// What it is of.
    pub(crate) survey: Survey,
    /// Its lines, where they are few.
    kept: Option<Vec<Content>>,
}

/// The lines of a recording, one after the other.
pub(crate) enum Contents {
    /// That were kept when they were read first.
    Kept(std::vec::IntoIter<Content>),
    /// That are read once more.
    Again(Box<Lines>),
}

impl Contents {
    /// The next line, or `None` after the last.
    ///
    /// # Errors
    /// What is wrong with it now.
    pub(crate) fn next(&mut self) -> Result<Option<Content>, CaptureError> {
        match self {
            Self::Kept(contents) => Ok(contents.next()),
            Self::Again(lines) => lines.next(),
        }
    }
}

impl Recording {
    /// Reads and checks it.
    ///
    /// # Errors
    /// The first thing that is wrong, with the line (from 1, of the decompressed text) where it is.
    pub(crate) fn open(path: &Path) -> Result<Self, CaptureError> {
        let file = File::open(path).and_then(|file| Ok((file.metadata()?.is_file(), file)));
        let (is_file, file) = file.map_err(|error| CaptureError::Unreadable { path: path.into(), error })?;
        let file = if is_file { file } else { copy(file).map_err(|problem| CaptureError::of(path, 1, problem))? };
        let (survey, kept) = survey(path, reopened(path, &file)?)?;
        Ok(Self { path: path.into(), file, survey, kept })
    }

    /// Its lines. Where they are read again, the file may have changed: a line may be wrong now, or name a handle that
    /// was not given out.
    ///
    /// # Errors
    /// When it cannot be read again.
    pub(crate) fn contents(&mut self) -> Result<Contents, CaptureError> {
        match self.kept.take() {
            Some(kept) => Ok(Contents::Kept(kept.into_iter())),
            None => Ok(Contents::Again(Lines::begin(&self.path, reopened(&self.path, &self.file)?)?.1.into())),
        }
    }
}

/// The file from its beginning.
fn reopened(path: &Path, file: &File) -> Result<File, CaptureError> {
    let again = file.try_clone().and_then(|mut file| file.rewind().map(|()| file));
    again.map_err(|error| CaptureError::Unreadable { path: path.into(), error })
}

/// What can be read once only (a FIFO), as a file without a name.
fn copy(file: File) -> Result<File, Problem> {
    let mut source = BufReader::new(file);
    text::check(source.fill_buf().map_err(Problem::Read)?)?;
    let copied = tempfile::tempfile().and_then(|mut copy| io::copy(&mut source, &mut copy).map(|_| copy));
    copied.map_err(Problem::Read)
}

fn survey(path: &Path, file: File) -> Result<(Survey, Option<Vec<Content>>), CaptureError> {
    let (meta, mut lines) = Lines::begin(path, file)?;
    let mut survey = Survey::new(meta);
    let mut kept = Some(Vec::new());
    let mut seen = Seen::default();
    while let Some(content) = lines.next()? {
        seen.check(&content).and_then(|()| survey.note(&content)).map_err(|problem| lines.wrong(problem))?;
        kept = kept.filter(|kept: &Vec<Content>| kept.len() < bounds::KEPT);
        if let Some(kept) = &mut kept {
            kept.push(content);
        }
    }
    survey.meta.ends(survey.end);
    survey.is_complete = lines.is_complete();
    if survey.calls == 0 { Err(lines.wrong(Problem::NoCall)) } else { Ok((survey, kept)) }
}
