//! Lines for a person, on standard error. Never called from a callback that NCCL makes while it works.
//!
//! Standard error may be a pipe that nobody reads, or whose reader is gone: a line that does not fit is dropped and
//! counted, nobody waits for room or for another thread, and no signal ends the process.

use crate::base::shortage;
use crate::base::signal::Held;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Bytes that a pipe takes whole, or not at all, where it has room: more of a line is left out.
const LONGEST: usize = libc::PIPE_BUF;

/// What is written to standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Verbosity {
    /// Nothing.
    Off,
    /// What went wrong.
    #[default]
    Warn,
    /// Also what was found.
    Info,
}

static VERBOSITY: AtomicU8 = AtomicU8::new(Verbosity::Warn as u8);
/// Lines that found no room since the last one that did.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Sets what is written from here on.
pub fn set_verbosity(verbosity: Verbosity) {
    VERBOSITY.store(verbosity as u8, Ordering::Relaxed);
}

/// Something went wrong: what, where, and the way out.
pub fn warn(line: &str) {
    write(Verbosity::Warn, "warning: ", line);
}

/// Something worth knowing.
pub fn info(line: &str) {
    write(Verbosity::Info, "", line);
}

fn write(level: Verbosity, kind: &str, line: &str) {
    if VERBOSITY.load(Ordering::Relaxed) < level as u8 {
        return;
    }
    let text = format!("{kind}{line}");
    // then that is what a person must know, and all else follows from it
    if !shortage::is_out_of_memory() {
        write_to(libc::STDERR_FILENO, &text);
    }
}

/// The last line: nothing is said after it.
pub(crate) fn warn_of_no_memory(line: &str) {
    if VERBOSITY.load(Ordering::Relaxed) >= Verbosity::Warn as u8 {
        write_to(libc::STDERR_FILENO, &format!("warning: {line}"));
    }
}

fn write_to(file: libc::c_int, line: &str) {
    let dropped = DROPPED.swap(0, Ordering::Relaxed);
    let before = if dropped == 0 { String::new() } else { format!("({dropped} lines before this one found no room) ") };
    let mut text = format!("scorep-nccl: {before}{line}");
    // one line, whatever a setting or a path holds
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

/// A control character as it is written in a string.
fn escaped(character: char) -> impl Iterator<Item = char> {
    let escape = character.is_control().then(|| character.escape_default());
    let itself = escape.is_none().then_some(character);
    escape.into_iter().flatten().chain(itself)
}

/// One write, so that lines of many ranks do not mix, and without the lock of the standard library's stream: whoever
/// holds that may wait for a reader. False where there is no room now; one that is closed is no reason to try again.
fn write_at_once(file: libc::c_int, text: &[u8]) -> bool {
    let _reader = Held::new(libc::SIGPIPE);
    // of a file that it goes to
    let _limit = Held::new(libc::SIGXFSZ);
    let mut asked = libc::pollfd { fd: file, events: libc::POLLOUT, revents: 0 };
    // SAFETY: one entry, which lives as long as the call; it does not wait.
    if unsafe { libc::poll(&raw mut asked, 1, 0) } < 1 {
        return false;
    }
    // SAFETY: as many bytes as the text has.
    unsafe { libc::write(file, text.as_ptr().cast(), text.len()) };
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;

    #[test]
    fn a_line_that_finds_no_room_is_counted_by_the_next_one() {
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        // SAFETY: fcntl of a descriptor of our own.
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
