//! The strict reader of captures: every callback a real NCCL made to a profiler plugin, one gzipped file of JSON lines a process.
//!
//! A replay hands the calls of a capture to a plugin that believes its host. So everything a host would never do (a handle that
//! was never given out, a state that does not exist, a channel that is no channel) is found here, before the first call is made,
//! and reported with file and line. What a newer NCCL may well do, an event of a type this tool has never heard of, passes. A line
//! that a newer recorder may write (its `cb` is a word that is not known; it has a time and a thread; a handle or a context in it is
//! one that was given out) is skipped and counted.
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

use common::origin::{Origin, wall_clock};
use std::fs::File;
use std::path::{Path, PathBuf};

pub(crate) use call::{Call, Event, Kernel, What};
pub(crate) use error::{CaptureError, Problem};

use line::{Content, Line, Strings};
use seen::Seen;
use text::Text;

/// The format of captures that this tool reads, as the meta line gives it.
pub(crate) const FORMAT: u32 = 1;

/// All callbacks of one process, in the order in which NCCL made them, and what the recording plugin learnt besides.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Capture {
    /// Where it was read from.
    pub(crate) path: PathBuf,
    /// Under which circumstances it was recorded.
    pub(crate) meta: Meta,
    /// The calls; never empty. Times of different threads may fall from one call to the next, the order is the recorded one.
    pub(crate) lines: Vec<Call>,
    /// Times of kernels, in the order in which they were learnt.
    pub(crate) kernels: Vec<Kernel>,
    /// Lines of kinds that this tool does not know.
    pub(crate) skipped: Skipped,
    /// Whether it goes to the end of its process; one that says that it would tell of its end, and does not, ends earlier.
    pub(crate) is_complete: bool,
}

/// Lines that were skipped because only a newer tool knows what they say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Skipped {
    /// How many there are.
    pub(crate) count: usize,
    /// The `cb` of the first, and its line.
    pub(crate) first: Option<(String, u32)>,
}

impl Capture {
    /// Whether NCCL told of a broadcast beyond its call: releases from 2.29 on do so only with `NCCL_ALLGATHERV_ENABLE=0`.
    pub(crate) fn tells_of_broadcasts(&self) -> bool {
        let is_broadcast = |call: &Call| match &call.what {
            What::Start { event: Event::Coll { func, .. }, .. } => func.as_deref() == Some("Broadcast"),
            _ => false,
        };
        self.lines.iter().any(is_broadcast)
    }
}

/// The first line of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// When the recorder's memory was full, in nanoseconds since `mono0`.
    pub(crate) full: Option<u64>,
    /// The recorded process, as far as the recorder told.
    pub(crate) origin: Origin,
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
    read_text(path, &mut text).map_err(|problem| at(text.line(), problem))
}

/// The first line of a capture alone.
///
/// # Errors
/// The first thing that is wrong with it.
pub(crate) fn read_meta(path: &Path) -> Result<Meta, CaptureError> {
    let whole = |error| CaptureError::Unreadable { path: path.into(), error };
    let at = |problem| match problem {
        Problem::Read(error) => whole(error),
        problem => CaptureError::Line { path: path.into(), line: 1, problem },
    };
    let mut text = Text::new(File::open(path).map_err(whole)?).map_err(at)?;
    let first = text.next().and_then(|first| first.ok_or(Problem::Empty)).map_err(at)?;
    Line::parse(first).and_then(|line| line.meta()).map_err(at)
}

/// Everything in the text; on an error the text stands at the line that is wrong.
fn read_text(path: &Path, text: &mut Text) -> Result<Capture, Problem> {
    let first = Line::parse(text.next()?.ok_or(Problem::Empty)?)?;
    let (mut meta, announces_end) = (first.meta()?, first.announces_end());
    let mut is_complete = !announces_end;
    let mut strings = Strings::default();
    let mut seen = Seen::default();
    let (mut lines, mut kernels, mut skipped) = (Vec::new(), Vec::new(), Skipped::default());
    loop {
        let number = text.line().saturating_add(1);
        let bytes = match text.next() {
            // the process was killed while it wrote: what is before is whole
            Err(Problem::Truncated { .. }) if announces_end => break,
            next => next?,
        };
        let Some(bytes) = bytes else { break };
        match Line::parse(bytes)?.content(number, &mut strings)? {
            Content::Call(call) => {
                seen.check(&call)?;
                lines.push(call);
            }
            Content::Kernel(kernel) => {
                seen.check_kernel(&kernel)?;
                kernels.push(kernel);
            }
            Content::End => is_complete = true,
            Content::Unknown(unknown) => {
                seen.check_unknown(&unknown)?;
                skipped.count += 1;
                skipped.first.get_or_insert((unknown.cb, number));
            }
        }
    }
    if lines.is_empty() {
        return Err(Problem::NoCall);
    }
    let last = lines.iter().map(|call| call.t).chain(kernels.iter().map(|kernel| kernel.t)).max().unwrap_or(0);
    // an older recorder does not say when it ended
    let ended = || meta.origin.started.as_ref().and_then(|_| wall_clock(i128::from(meta.real0) + i128::from(last)));
    meta.origin.ended = meta.origin.ended.take().or_else(ended);
    Ok(Capture { path: path.into(), meta, lines, kernels, skipped, is_complete })
}
