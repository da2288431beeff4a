//! The strict reader of captures: every callback a real NCCL made to a profiler plugin, one gzipped file of JSON lines
//! a process.
//!
//! A replay hands the calls of a capture to a plugin that believes its host. So everything a host would never do (a
//! handle that was never given out, a state that does not exist, a channel that is no channel) is found here, before
//! the first call is made, and reported with file and line. What a newer NCCL may well do, an event of a type this tool
//! has never heard of, passes. A line that a newer recorder may write (its `cb` is a word that is not known; it has a
//! time and a thread; a handle or a context in it is one that was given out) is skipped and counted.
//!
//! | file | task |
//! |---|---|
//! | `bounds.rs` | how much of anything a recording can have |
//! | `call.rs` | what a call is: the types that the rest of the tool sees |
//! | `meta.rs` | the first line |
//! | `skipped.rs` | lines of kinds that are not known |
//! | `strings.rs` | its strings, each once |
//! | `text.rs` | gzip, and the text cut into lines |
//! | `line.rs` | one line of JSON, field by field |
//! | `lines.rs` | one line after the other |
//! | `recording.rs` | a capture that is played, and so read twice |
//! | `survey.rs` | what its player must know before the first call |
//! | `value.rs` | the kinds of value in it |
//! | `seen.rs` | handles and contexts: were they given out before they were used |
//! | `error.rs` | what can be wrong, in words |

mod bounds;
mod call;
mod error;
mod files;
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

use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

pub(crate) use call::{Call, Event, Kernel, What};
pub(crate) use error::{CaptureError, Problem};
pub(crate) use files::{ENDING, process_name};
pub(crate) use line::Content;
pub(crate) use meta::{FORMAT, Meta};
pub(crate) use recording::{Contents, Recording};
pub(crate) use skipped::Skipped;
pub(crate) use survey::{Communicator, Survey};

use lines::Lines;
use seen::Seen;

/// All callbacks of one process, in the order in which NCCL made them, and what the recording plugin learnt besides.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Capture {
    /// Where it was read from.
    pub(crate) path: PathBuf,
    /// Under which circumstances it was recorded.
    pub(crate) meta: Meta,
    /// The calls; never empty. Times of different threads may fall from one call to the next, the order is the recorded
    /// one.
    pub(crate) lines: Vec<Call>,
    /// Times of kernels, in the order in which they were learnt.
    pub(crate) kernels: Vec<Kernel>,
    /// Lines of kinds that this tool does not know.
    pub(crate) skipped: Skipped,
}

/// Reads and checks a whole capture, for those who look at all calls at once.
///
/// # Errors
/// The first thing that is wrong, with the line (from 1, of the decompressed text) where it is.
pub(crate) fn read(path: &Path) -> Result<Capture, CaptureError> {
    let (mut meta, mut rest) = open(path)?;
    let mut seen = Seen::default();
    let (mut lines, mut kernels, mut skipped) = (Vec::new(), Vec::new(), Skipped::default());
    while let Some(content) = rest.next()? {
        seen.check(&content).map_err(|problem| rest.wrong(problem))?;
        match content {
            Content::Call(call) => lines.push(call),
            Content::Kernel(kernel) => kernels.push(kernel),
            Content::End => {}
            Content::Unknown(unknown) => skipped.note(&unknown),
        }
    }
    if lines.is_empty() {
        return Err(rest.wrong(Problem::NoCall));
    }
    meta.ends(lines.iter().map(|call| call.t).chain(kernels.iter().map(|kernel| kernel.t)).max().unwrap_or(0));
    Ok(Capture { path: path.into(), meta, lines, kernels, skipped })
}

/// The first line of a capture alone. Of a pipe it is not known before its replay, which reads the pipe once.
///
/// # Errors
/// The first thing that is wrong with it.
pub(crate) fn read_meta(path: &Path) -> Result<Meta, CaptureError> {
    let is_read_once = path.metadata().is_ok_and(|data| data.file_type().is_fifo());
    if is_read_once {
        return Err(CaptureError::Unreadable { path: path.into(), error: io::ErrorKind::NotSeekable.into() });
    }
    Ok(open(path)?.0)
}

fn open(path: &Path) -> Result<(Meta, Lines), CaptureError> {
    let file = File::open(path).map_err(|error| CaptureError::Unreadable { path: path.into(), error })?;
    Lines::begin(path, file)
}
