//! The strict reader of captures: every callback a real NCCL made to a profiler plugin, one gzipped file of JSON lines a process.
//!
//! A replay hands the calls of a capture to a plugin that believes its host. So everything a host would never do (a handle that
//! was never given out, a state that does not exist, a channel that is no channel) is found here, before the first call is made,
//! and reported with file and line. What a newer NCCL may well do, an event of a type this tool has never heard of, passes.
//!
//! | file | task |
//! |---|---|
//! | `call.rs` | what a call is: the types that the rest of the tool sees |
//! | `text.rs` | gzip, and the text cut into lines |
//! | `line.rs` | one line of JSON, field by field |
//! | `value.rs` | the kinds of value in it |
//! | `seen.rs` | handles and contexts: were they given out before they were used |
//! | `error.rs` | what can be wrong, in words |

mod call;
mod error;
mod line;
mod seen;
#[cfg(test)]
mod tests;
mod text;
mod value;

use std::fs::File;
use std::path::{Path, PathBuf};

pub(crate) use call::{Call, Event, What};
pub(crate) use error::{CaptureError, Problem};

use line::{Line, Strings};
use seen::Seen;
use text::Text;

/// The format of captures that this tool reads, as the meta line gives it.
pub(crate) const FORMAT: u32 = 1;

/// All callbacks of one process, in the order in which NCCL made them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Capture {
    /// Where it was read from.
    pub(crate) path: PathBuf,
    /// Under which circumstances it was recorded.
    pub(crate) meta: Meta,
    /// The calls; never empty. Times of different threads may fall from one call to the next, the order is the recorded one.
    pub(crate) lines: Vec<Call>,
}

/// The first line of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Meta {
    /// Version of the profiler interface that NCCL spoke (5 for `ncclProfiler_v5`).
    pub(crate) api: u32,
    /// Event types that the recording plugin asked for, one bit each.
    pub(crate) mask: u64,
    /// Process id of the recorded process; proxy operations of its own carry the same.
    pub(crate) pid: i32,
    /// `CLOCK_REALTIME` in nanoseconds, at the same moment as `mono0`.
    pub(crate) real0: u64,
    /// `CLOCK_MONOTONIC` in nanoseconds; every [`Call::t`] counts from here.
    pub(crate) mono0: u64,
    /// Callbacks that the recorder lost: when it is not 0, figures from this capture are lower bounds.
    pub(crate) dropped: u64,
}

/// Reads and checks a whole capture.
///
/// # Errors
/// The first thing that is wrong, with the line (from 1, of the decompressed text) where it is.
pub(crate) fn read(path: &Path) -> Result<Capture, CaptureError> {
    let whole = |error| CaptureError::Unreadable { path: path.into(), error };
    let at = |line: u32, problem| match problem {
        Problem::Read(error) => whole(error),
        problem => CaptureError::Line { path: path.into(), line: line.max(1), problem },
    };
    let file = File::open(path).map_err(whole)?;
    let mut text = Text::new(file).map_err(|problem| at(1, problem))?;
    let (meta, lines) = read_text(&mut text).map_err(|problem| at(text.line(), problem))?;
    Ok(Capture { path: path.into(), meta, lines })
}

/// Everything in the text; on an error the text stands at the line that is wrong.
fn read_text(text: &mut Text) -> Result<(Meta, Vec<Call>), Problem> {
    let first = text.next()?.ok_or(Problem::Empty)?;
    let meta = Line::parse(first)?.meta()?;
    let mut strings = Strings::default();
    let mut seen = Seen::default();
    let mut lines = Vec::new();
    loop {
        let number = text.line().saturating_add(1);
        let Some(bytes) = text.next()? else { break };
        let call = Line::parse(bytes)?.call(number, &mut strings)?;
        seen.check(&call)?;
        lines.push(call);
    }
    if lines.is_empty() {
        return Err(Problem::NoCall);
    }
    Ok((meta, lines))
}
