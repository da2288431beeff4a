//! The format of recordings, which the library writes and the tool reads: every callback that NCCL made to a profiler
//! plugin in one process, as a gzipped file of JSON lines. This crate knows nothing of NCCL's threads, of replays or of
//! tables. Callbacks come in and go out as lines ([`Content`]), and lines of a file come in, checked, and go out as
//! callbacks.
//!
//! A replay hands the calls of a recording to a plugin that trusts its host. So the reader finds everything that no
//! host would do before the first call is made: a handle that was never given out, a context that was never
//! initialised, a number out of its field's range. It reports the file and the line.
//!
//! The reader accepts what a newer NCCL or a recorder of another version may write. An event of an unknown type passes.
//! A line of an unknown kind is skipped and counted, if its `cb` is a word, if it has a time and a thread, and if its
//! handle and its context were given out before.

mod bounds;
mod callback;
mod error;
mod event;
mod field;
mod handles;
mod kept;
mod line;
mod lines;
mod meta;
mod seen;
mod strings;
mod survey;
#[cfg(test)]
mod tests;
mod text;

use common::files::input;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

pub use bounds::PROCESS;
pub use callback::{Callback, CallbackKind, Content, IntroducedCommunicator, Kernel, RecordedAnchor, write_conditions};
pub use error::{Problem, RecordingError};
pub use event::RecordedEvent;
pub use handles::Handles;
pub use kept::{Contents, KeptRecording};
pub use meta::Meta;
pub use strings::{Quoted, QuotedStrings, Text};
pub use survey::{RecordingSurvey, Skipped};
pub use text::write_member;

use lines::Lines;
use seen::HandleLines;

/// File name ending of recordings.
pub const ENDING: &str = ".jsonl.gz";

/// Returns the name of a recording's process: the file name without the ending.
pub fn process_name(recording: &Path) -> String {
    let name = recording.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.strip_suffix(ENDING).unwrap_or(&name).to_owned()
}

/// Reads only the first line of a recording. Fails for a pipe, because the replay can read a pipe only once.
///
/// # Errors
/// The first problem of the line.
pub fn read_meta(path: &Path) -> Result<Meta, RecordingError> {
    let is_read_once = path.metadata().is_ok_and(|data| data.file_type().is_fifo());
    if is_read_once {
        return Err(RecordingError::Unreadable { path: path.into(), error: io::ErrorKind::NotSeekable.into() });
    }
    Ok(open(path, None)?.0)
}

/// Reads the first line of a recording, and returns its other lines, of which each is checked as it is read.
///
/// # Errors
/// The first problem of the line.
pub fn contents(path: &Path) -> Result<(Meta, Contents), RecordingError> {
    open(path, Some(HandleLines::default())).map(|(meta, lines)| (meta, Contents::Read(lines.into())))
}

fn open(path: &Path, seen: Option<HandleLines>) -> Result<(Meta, Lines), RecordingError> {
    let file = input(path).map_err(|error| RecordingError::Unreadable { path: path.into(), error })?;
    Lines::begin(path, file, seen)
}
