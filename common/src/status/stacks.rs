//! The file of a process' stacks, which it writes on request beside its status.

/// End of the file's name.
pub const ENDING: &str = ".stacks.txt";
/// Longest file, bytes.
pub const MOST_BYTES: usize = 512 << 10;
/// The line before the threads that have enqueued no operation.
pub const FURTHER: &str = "Further threads:";
