//! What a recording can be at most. A file's compressed length says nothing of what it unpacks to, so whatever is held
//! for a recording has a bound here that no recorder reaches. The number of callbacks has none: they are read as they
//! are played, one line at a time, and what is kept of one (its handle) is less than its line takes in the compressed
//! file, times some dozens.

/// Lines that are kept while a recording is played, some 36 MiB; of a longer one all are read a second time.
pub(super) const KEPT: usize = 1 << 18;

/// Longest line, bytes. Real ones have some 250, those with every string at its longest some 30,000.
pub(super) const LINE: usize = 1 << 20;

/// Longest name of a communicator, bytes: an application gives it, NCCL logs it whole.
pub(super) const NAME: usize = 4096;

/// Longest of the other strings, bytes: functions, types, algorithms and protocols of NCCL. The recorder cuts them off
/// at 120 bytes, of which each may take three where they are no text.
pub(super) const STRING: usize = 512;

/// All different strings together, bytes: a million communicators with names of their own take less.
pub(super) const STRINGS: usize = 64 << 20;

/// Threads of a process that call. NCCL's and an application's are some dozens, and each is one of the replay's, too.
pub(super) const THREADS: usize = 4096;

/// Latest time, nanoseconds: 73 years after the clock's start. A sum of two times (since `mono0`, and that since the
/// boot) is a time still.
pub(super) const TIME: u64 = 1 << 61;

/// Characters of a string that an error shows.
pub(super) const SHOWN: usize = 80;
