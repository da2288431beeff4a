//! Errors while an archive is written.

use std::io;
use std::path::PathBuf;

/// Why the OTF2 library cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// None of the library's file names can be opened.
    #[error("no OTF2 library ({0}): install libotf2-trace-dev (Debian) or put libotf2.so.10 on LD_LIBRARY_PATH")]
    Missing(String),
    /// The opened library lacks a function.
    #[error("{library} has no {symbol}: install libotf2-trace-dev (Debian) or put libotf2.so.10 on LD_LIBRARY_PATH")]
    Symbol {
        /// Name under which the library was opened.
        library: &'static str,
        /// Name of the function.
        symbol: &'static str,
    },
}

/// Why an archive was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Otf2Error {
    /// The OTF2 library is missing or is not usable.
    #[error(transparent)]
    Library(#[from] &'static LibraryError),
    /// The library has another major version than the declarations of its functions.
    #[error("the OTF2 library is version {0}.{1}; a version 3 is needed")]
    Version(u8, u8),
    /// A function of the library failed.
    #[error("{function}: {reason}")]
    Call {
        /// The function's name.
        function: &'static str,
        /// OTF2's description of the failure.
        reason: String,
    },
    /// There is no process, so there is nothing to write.
    #[error("no process to write into an OTF2 archive")]
    NoProcess,
    /// Two processes have different ticks per second, and an archive has one clock.
    #[error("{process} counts {found} ticks per second, {first} counts {expected}: one OTF2 archive needs one clock")]
    Clocks {
        /// The process with other ticks per second than the first.
        process: String,
        /// Its ticks per second.
        found: u64,
        /// The first process.
        first: String,
        /// The first process' ticks per second.
        expected: u64,
    },
    /// The events of a location are out of order.
    #[error("{location}: the time falls from {before} to {after} ticks at event {index}")]
    TimesFall {
        /// Process and location.
        location: String,
        /// Position of the later event, from 0.
        index: usize,
        /// Time of the event before it.
        before: u64,
        /// Time of the later event.
        after: u64,
    },
    /// An event has more or fewer values than its process has counters.
    #[error("{location}: {found} values for {expected} counters")]
    ValueCount {
        /// Process and location.
        location: String,
        /// Number of counters.
        expected: usize,
        /// Number of values.
        found: usize,
    },
    /// A metric has a number that Score-P's interface does not define.
    #[error("metric {metric}: {number} is no {what} of Score-P")]
    MetricNumber {
        /// The metric's name.
        metric: String,
        /// The property with that number.
        what: &'static str,
        /// The number found.
        number: u32,
    },
    /// An event of a lane names a number that its list does not have.
    #[error("an event names a {0} that is not defined")]
    Undefined(&'static str),
    /// An archive has a record that this library, or this program, does not know.
    #[error("the archive has a kind of {0} that this program and its OTF2 library do not know")]
    Unknown(&'static str),
    /// An archive has no lanes with events.
    #[error("the trace has no lanes of NCCL's operations: NCCL_SCOREP_LANES=off, or no NCCL in the job")]
    NoLanes,
    /// A time of an archive that no clock shows, nanoseconds.
    #[error("an event or a definition of the archive is damaged: {}", common::moments::refusal(*.0))]
    Late(u64),
    /// The copy would lie in the directory that is copied.
    #[error("{0} lies in the experiment, which stays as it is: name a new directory beside it")]
    Inside(PathBuf),
    /// An anchor file lacks parts.
    #[error("the anchor file of the archive is damaged: {0}")]
    Anchor(&'static str),
    /// A file of an archive cannot be read.
    #[error("cannot read {file}: {source}")]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The process that read an archive has refused it, or has ended before its time; in words.
    #[error("{0}")]
    Apart(String),
    /// An archive has snapshots or thumbnails, which a copy would not fit.
    #[error("the trace has snapshots or thumbnails, which describe its events and would be wrong in a copy")]
    Snapshots,
    /// A file beside the archive cannot be read or copied.
    #[error("cannot copy {file}: {source}")]
    File {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// All communicators of an archive are in it twice.
    #[error("two processes have the same rank of each communicator: nobody knows whom a message goes to")]
    TwoJobs,
    /// An archive has the records already.
    #[error("the trace has NCCL's messages and collectives already")]
    HasMessages,
    /// The archive's events are not in a file for each location.
    #[error("the archive is packed in SIONlib's files: a file for each location is needed (otf2-config, POSIX)")]
    Substrate,
    /// There are more items of a kind than OTF2 can number.
    #[error("too many {0} for one OTF2 archive")]
    TooMany(&'static str),
    /// A string contains a zero byte, at which C strings end.
    #[error("{0:?} holds a zero byte, which OTF2 cannot store")]
    ZeroByte(String),
    /// The target exists and is no directory.
    #[error("{0} is not a directory")]
    NotDirectory(PathBuf),
    /// The target directory is not empty; it may hold an earlier archive.
    #[error("{0} is not empty: name a directory for the OTF2 archive that is missing or empty")]
    NotEmpty(PathBuf),
    /// The target or its parent directory cannot be read or written.
    #[error("cannot write an OTF2 archive to {directory}: {source}")]
    Directory {
        /// The target.
        directory: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}
