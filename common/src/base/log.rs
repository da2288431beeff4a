//! Lines for a person, on standard error. NCCL's callbacks for events write none, except one after a fault.
//!
//! Standard error may be a pipe that nobody reads or whose reader has gone. A line that does not fit is dropped and
//! counted. No call waits for room or for another thread, and no signal ends the process.

use crate::base::shortage;
use crate::base::signal::HeldSignal;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Bytes that a pipe with room takes as a whole. A longer line is cut.
const LONGEST: usize = libc::PIPE_BUF;

/// Which lines are written to standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verbosity {
    /// No lines.
    Off,
    /// Warnings: problems and their cures.
    #[default]
    Warn,
    /// Warnings, and findings worth knowing.
    Info,
}

static VERBOSITY: AtomicU8 = AtomicU8::new(Verbosity::Warn as u8);
/// Lines dropped since the last line that was written.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Sets which lines are written from now on.
pub fn set_verbosity(verbosity: Verbosity) {
    VERBOSITY.store(verbosity as u8, Ordering::Relaxed);
}

/// Writes a warning: what went wrong, where, and the cure.
pub fn warn(line: &str) {
    write(Verbosity::Warn, "warning: ", line);
}

/// Writes a line worth knowing.
pub fn info(line: &str) {
    write(Verbosity::Info, "", line);
}

fn write(level: Verbosity, kind: &str, line: &str) {
    if VERBOSITY.load(Ordering::Relaxed) < level as u8 {
        return;
    }
    let text = format!("{kind}{line}");
    // without memory, all other lines follow from the one line that says so (`warn_of_no_memory`)
    if !shortage::is_out_of_memory() {
        write_to(libc::STDERR_FILENO, &text);
    }
}

/// Warns that memory has run out. This is the last line of the process.
pub(crate) fn warn_of_no_memory(line: &str) {
    if VERBOSITY.load(Ordering::Relaxed) >= Verbosity::Warn as u8 {
        write_to(libc::STDERR_FILENO, &format!("warning: {line}"));
    }
}

fn write_to(file: libc::c_int, line: &str) {
    let dropped = DROPPED.swap(0, Ordering::Relaxed);
    let before = if dropped == 0 { String::new() } else { format!("({dropped} lines before this one found no room) ") };
    let mut text = format!("scorep-nccl: {before}{line}");
    // one line, whatever a setting or a path contains
    if text.contains(char::is_control) {
        text = text.chars().flat_map(escaped).collect();
    }
    while text.len() >= LONGEST {
        text.pop();
    }
    text.push('\n');
    if !write_at_once(file, text.as_bytes()) {
        DROPPED.fetch_add(dropped + 1, Ordering::Relaxed);
    }
}

/// Returns a control character as its escape, and any other character as it is.
fn escaped(character: char) -> impl Iterator<Item = char> {
    let escape = character.is_control().then(|| character.escape_default());
    let itself = escape.is_none().then_some(character);
    escape.into_iter().flatten().chain(itself)
}

/// Writes `text` in one call, so that lines of several ranks do not mix. Does not use the standard library's stream: a
/// thread that holds its lock may wait for a reader. Returns false if there is no room now. Returns true if the write
/// failed otherwise, for instance because the reader has gone: trying again would not help.
fn write_at_once(file: libc::c_int, text: &[u8]) -> bool {
    let _reader = HeldSignal::new(libc::SIGPIPE);
    // standard error may be a file
    let _limit = HeldSignal::new(libc::SIGXFSZ);
    if !has_room(file) {
        return false;
    }
    // SAFETY: the length is the text's own.
    unsafe { libc::write(file, text.as_ptr().cast(), text.len()) };
    true
}

/// Returns whether a write would not wait. `poll` refuses to say where a limit leaves no descriptor; `select` says it.
fn has_room(file: libc::c_int) -> bool {
    let mut asked = libc::pollfd { fd: file, events: libc::POLLOUT, revents: 0 };
    // SAFETY: poll gets one entry, which lives as long as the call, and does not wait.
    let polled = unsafe { libc::poll(&raw mut asked, 1, 0) };
    if polled >= 0 || usize::try_from(file).is_ok_and(|file| file >= libc::FD_SETSIZE) {
        return polled > 0;
    }
    let (mut set, mut at_once) = (MaybeUninit::<libc::fd_set>::uninit(), libc::timeval { tv_sec: 0, tv_usec: 0 });
    // SAFETY: the set is emptied first, its number is below FD_SETSIZE, and it and the time live as long as the call.
    unsafe {
        libc::FD_ZERO(set.as_mut_ptr());
        libc::FD_SET(file, set.as_mut_ptr());
        libc::select(file + 1, null_mut(), set.as_mut_ptr(), null_mut(), &raw mut at_once) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;

    #[test]
    fn a_line_that_finds_no_room_is_counted_by_the_next_one() {
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        // SAFETY: the test owns the descriptor.
        let room = unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_GETPIPE_SZ) };
        let mut full = vec![b'.'; usize::try_from(room).unwrap()];
        writer.write_all(&full).unwrap();
        write_to(writer.as_raw_fd(), "one");
        write_to(writer.as_raw_fd(), "two");
        reader.read_exact(&mut full).unwrap();
        write_to(writer.as_raw_fd(), "three");
        write_to(writer.as_raw_fd(), &"\u{e4}".repeat(LONGEST));
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "scorep-nccl: (2 lines before this one found no room) three");
        assert!(lines.len() == 2 && lines[1].len() < LONGEST && lines[1].ends_with('\u{e4}'), "{}", lines[1].len());
    }
}
