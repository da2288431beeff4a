//! Standard output and standard error: what cannot be written is an error or is lost, and never a panic.

pub(crate) mod leftovers;
pub(crate) mod place;

use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

/// Writes all of a text to standard output.
///
/// # Errors
/// When it is full or closed: what is said of that.
pub(crate) fn write(text: impl AsRef<[u8]>) -> Result<(), String> {
    let mut output = std::io::stdout().lock();
    let written = output.write_all(text.as_ref()).and_then(|()| output.flush());
    if written.as_ref().is_err_and(|error| error.kind() == ErrorKind::BrokenPipe) {
        // a reader that has seen enough (head) ends this program quietly, as it does any other
        leftovers::end_by(libc::SIGPIPE);
    }
    written.map_err(|error| format!("standard output: {error}"))
}

/// The same of a text for a person, which may hold names that others have chosen.
///
/// # Errors
/// As [`write()`].
pub(crate) fn text(text: &str) -> Result<(), String> {
    write(printable(text))
}

/// A message to standard error, behind this program's name.
pub(crate) fn say(message: impl Display) {
    line(format_args!("scorep-nccl: {message}"));
}

/// A line to standard error. Where nobody can be reached, nobody is.
pub(crate) fn line(line: impl Display) {
    let _ = std::io::stderr().write_all(printable(&format!("{line}\n")).as_bytes());
}

/// The status of a child that was to write something.
pub(crate) fn answered(written: Result<(), String>) -> ExitCode {
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            say(message);
            ExitCode::FAILURE
        }
    }
}

/// A text without characters that steer a terminal, but line ends: those are written as `\u{1b}`.
pub(crate) fn printable(text: &str) -> String {
    let is_plain = |letter: char| letter == '\n' || !letter.is_control();
    text.chars().flat_map(|letter| if is_plain(letter) { vec![letter] } else { letter.escape_default().collect() }).collect()
}

/// Columns of the terminal that standard output is, or of `COLUMNS` there; `None` where it is none.
pub(crate) fn width() -> Option<u16> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    let chosen = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    chosen.filter(|&columns| columns > 0).or_else(|| Some(console::Term::stdout().size_checked()?.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_written_as_letters() {
        assert_eq!(printable("a\u{1b}[31mb\u{9b}\r\u{7f}é │\n"), "a\\u{1b}[31mb\\u{9b}\\r\\u{7f}é │\n");
    }
}
