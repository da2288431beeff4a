//! Errors of a recording, in words that name the place and, where possible, the cure.

use common::visible::visible;
use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use super::bounds::{self, FORMAT};

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file cannot be opened or read: it is absent, a directory or forbidden, or the disk fails.
    #[error("{}: cannot be read: {error}", path.display())]
    Unreadable {
        /// The recording.
        path: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
    /// The contents of the file are wrong.
    #[error("{}:{line}: {}", path.display(), visible(&problem.to_string()))]
    Line {
        /// The recording.
        path: PathBuf,
        /// Line of the decompressed text, from 1.
        line: u32,
        /// The problem of this line.
        problem: Problem,
    },
}

impl RecordingError {
    /// Returns the error for a problem at a line. An error of the operating system is one of the whole file.
    pub(crate) fn new(path: &Path, line: u32, problem: Problem) -> Self {
        match problem {
            Problem::Read(error) => Self::Unreadable { path: path.into(), error },
            problem => Self::Line { path: path.into(), line: line.max(1), problem },
        }
    }
}

/// Returns the beginning of a string, which may be very long.
fn shown(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(bounds::SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]).into(),
        None => text.into(),
    }
}

/// What is wrong with a line, or with the file up to that line.
#[expect(missing_docs, reason = "each has its message")]
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("the file is empty: a capture begins with a meta line")]
    Empty,
    #[error("not a gzip file: captures are gzipped JSON lines{}", if *.plain { "; this one seems to be plain text, so gzip it first" } else { "" })]
    NotGzip { plain: bool },
    #[error("the gzip data ends too early, after line {after}: the file was cut off, copy or record it again")]
    Truncated { after: u32 },
    #[error("the gzip data is damaged after line {after} ({error}): copy or record the file again")]
    Damaged { after: u32, error: io::Error },
    #[error("cannot be read: {0}")]
    Read(io::Error),
    #[error(
        "the line is longer than {} bytes: no recorder writes such lines, copy or record the file again",
        bounds::LINE
    )]
    TooLong,
    #[error("field \"{field}\" is a string of {bytes} bytes, of which at most {most} are read: shorten it")]
    Long { field: &'static str, bytes: usize, most: usize },
    #[error(
        "the different strings up to this line take more than {} bytes: fewer names of communicators are needed",
        bounds::STRINGS
    )]
    Strings,
    #[error(
        "more than {} threads call up to this line, and no more can be played: record a process of fewer threads",
        bounds::THREADS
    )]
    Threads,
    #[error(
        "field \"{field}\" is {time} ns, which is more than {} and no time since a machine's boot: record again",
        bounds::TIME
    )]
    Time { field: &'static str, time: u64 },
    #[error("field \"real0\": {}", common::moments::refusal(*.time))]
    Day { time: u64 },
    #[error("field \"{field}\": {}", common::ranks::refusal(*.ranks))]
    Ranks { field: &'static str, ranks: i64 },
    #[error("no JSON object of a capture: {message} (column {column})")]
    Json { message: String, column: usize },
    #[error("the first line must be the meta line ({{\"cb\":\"meta\",\"format\":{FORMAT},...}})")]
    NoMeta,
    #[error("a second meta line: two captures in one file; keep each in a file of its own")]
    MetaAgain,
    #[error("format {found} is not known, this tool reads format {FORMAT}")]
    Format { found: i128 },
    #[error("no call after the meta line: nothing was recorded (did NCCL load the recording plugin?)")]
    NoCall,
    #[error("callback \"{}\" is not known (known: init, start, state, stop, finalize, kernel)", shown(.0))]
    Callback(String),
    #[error("event type \"{}\" is not known (known: {}; a newer type can be given by its number)", shown(name), known.join(", "))]
    EventName { name: String, known: &'static [&'static str] },
    #[error("field \"{0}\" is missing")]
    Missing(&'static str),
    #[error("field \"{field}\" is {value}, which is not within {range}")]
    Range { field: &'static str, value: i128, range: &'static str },
    #[error("field \"{field}\" is \"{}\", which is not a hexadecimal number of at most 64 bits", shown(value))]
    Hexadecimal { field: &'static str, value: String },
    #[error("field \"{field}\" holds a NUL character, which NCCL's strings cannot")]
    Nul { field: &'static str },
    #[error("a moment between {from} and {until} cannot be")]
    Anchor { from: u64, until: u64 },
    #[error("a kernel between events at {first} and {last}{} cannot be", begin.map_or(String::new(), |begin| format!(" that begins at {begin}")))]
    Kernel { first: u64, last: u64, begin: Option<u64> },
    #[error("handle 0 stands for no event and cannot be started")]
    NullHandle,
    #[error("handle {h} in field \"{field}\" was never started before this line")]
    Handle { field: &'static str, h: u64 },
    #[error("handle {h} is started a second time, it was started on line {first} already")]
    HandleAgain { h: u64, first: u32 },
    #[error("context {0} was never initialised before this line")]
    Context(u32),
    #[error("context {ctx} is initialised a second time, it was initialised on line {first} already")]
    ContextAgain { ctx: u32, first: u32 },
}
