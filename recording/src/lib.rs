//! The format of recordings, which the library writes and the tool reads: every callback that NCCL made to a profiler
//! plugin in one process, as a gzipped file of JSON lines. This crate knows nothing of threads, of replays or of tables.
//! Data comes in from a file, checked line by line, and goes out as calls.
//!
//! A replay hands the calls of a capture to a plugin that trusts its host. So the reader finds everything that no host
//! would do before the first call is made: a handle that was never given out, a context that was never initialised, a
//! number out of its field's range. It reports the file and the line.
//!
//! The reader accepts what a newer NCCL or a recorder of another version may write. An event of an unknown type passes.
//! A line of an unknown kind is skipped and counted, if its `cb` is a word, if it has a time and a thread, and if its
//! handle and its context were given out before.
//!
//! | file | task |
//! |---|---|
//! | `bounds.rs` | upper bounds of a recording's contents |
//! | `call.rs` | the types of a recorded call, for the rest of the tool |
//! | `meta.rs` | the first line |
//! | `skipped.rs` | lines of unknown kinds |
//! | `handles.rs` | a value for each handle |
//! | `strings.rs` | the different strings, each kept once |
//! | `text.rs` | gzip, and the text cut into lines |
//! | `field.rs` | the value of a field, in its range |
//! | `event.rs` | the fields of an event, by its type |
//! | `line.rs` | one line of JSON, field by field |
//! | `lines.rs` | one line after the other |
//! | `recording.rs` | a capture that is checked, and then played |
//! | `survey.rs` | what the player must know before the first call |
//! | `value.rs` | the kinds of value in a line |
//! | `seen.rs` | checks that handles and contexts were given out before they are used |
//! | `files.rs` | file names of captures |
//! | `error.rs` | errors, in words |

mod bounds;
mod call;
mod error;
mod event;
mod field;
mod files;
mod handles;
mod line;
mod lines;
mod meta;
mod recording;
mod seen;
mod skipped;
mod strings;
mod survey;
#[cfg(test)]
mod tests;
mod text;
mod value;

use common::files::input;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

pub use call::{Callback, CallbackKind, CapturedAnchor, CapturedEvent, Kernel};
pub use error::{CaptureError, Problem};
pub use files::{ENDING, process_name};
pub use handles::Handles;
pub use line::Content;
pub use meta::{FORMAT, Meta};
pub use recording::{Contents, KeptRecording};
pub use skipped::Skipped;
pub use survey::{CaptureSurvey, IntroducedCommunicator};

use lines::Lines;
use seen::HandleLines;

/// Reads only the first line of a capture. Fails for a pipe, because the replay can read a pipe only once.
///
/// # Errors
/// The first problem of the line.
pub fn read_meta(path: &Path) -> Result<Meta, CaptureError> {
    let is_read_once = path.metadata().is_ok_and(|data| data.file_type().is_fifo());
    if is_read_once {
        return Err(CaptureError::Unreadable { path: path.into(), error: io::ErrorKind::NotSeekable.into() });
    }
    Ok(open(path)?.0)
}

/// Reads the first line of a capture that was checked before, and returns its other lines to be read as far as they are
/// wanted.
///
/// # Errors
/// The first problem of the line.
pub fn contents(path: &Path) -> Result<(Meta, Contents), CaptureError> {
    open(path).map(|(meta, lines)| (meta, Contents::Again(lines.into())))
}

/// Reads the first line of a capture, and returns its other lines, of which each is checked as it is read.
///
/// # Errors
/// The first problem of the line.
pub fn checked_contents(path: &Path) -> Result<(Meta, Contents), CaptureError> {
    open(path).map(|(meta, lines)| (meta, Contents::Checked(lines.into(), HandleLines::default())))
}

fn open(path: &Path) -> Result<(Meta, Lines), CaptureError> {
    let file = input(path).map_err(|error| CaptureError::Unreadable { path: path.into(), error })?;
    Lines::begin(path, file)
}
