//! The format's number, and upper bounds of a recording's contents.
//!
//! The length of a compressed file does not bound the length of its text. So everything that the reader holds in memory
//! has a bound here, which no recorder reaches. The number of callbacks has no bound: the reader takes them one line at
//! a time and keeps only their handles. The memory of a handle is bounded by the length of its line in the compressed
//! file, times some dozens.

/// The format that this crate writes and reads, as the first line gives it.
pub(crate) const FORMAT: u32 = 1;

/// Length of the first line in bytes, padded with blanks: more than the description of a process needs.
pub(crate) const META: usize = 8192;

/// Bytes of the first line for the process; its other fields need fewer than the remaining bytes.
pub const PROCESS: usize = META - 512;

/// Lines that are kept in memory for the playing, some 36 MiB. The lines of a longer recording are read a second time.
pub(crate) const KEPT: usize = 1 << 18;

/// Longest line, bytes. Recorded lines have some 250 bytes; a line with every string at its longest has some 30,000.
pub(crate) const LINE: usize = 1 << 20;

/// Longest name of a communicator, bytes. The application chooses the name, and NCCL passes it in full.
pub(crate) const NAME: usize = 4096;

/// Longest string of another kind (functions, types, algorithms and protocols of NCCL), bytes. The recorder cuts these
/// strings off at 120 bytes; a byte that is not valid text may take three.
pub(crate) const STRING: usize = 512;

/// Total length of all different strings, bytes: enough for a million communicators with a name each.
pub(crate) const STRINGS: usize = 64 << 20;

/// Largest number of calling threads in a process. NCCL and an application have some dozens. A replay starts a thread
/// for each of them.
pub(crate) const THREADS: usize = 4096;

/// Latest time, nanoseconds: 73 years after the start of the clock. The sum of two times (the time since `mono0` and
/// `mono0` itself) is a time that may be.
pub(crate) const TIME: u64 = common::moments::LATEST / 2;

/// Characters of a string that an error shows.
pub(crate) const SHOWN: usize = 80;
