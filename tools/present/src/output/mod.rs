//! Writes to standard output and standard error. A failed write is an error or is ignored, and never a panic.

pub mod apart;
pub mod format;
pub mod leftovers;
pub mod place;
pub mod progress;
pub mod scratch;
pub mod screen;

use common::visible::{steers, visible};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use textwrap::{WordSeparator, WordSplitter};

/// Writes a text to standard output.
///
/// # Errors
/// When standard output is full or closed; in words.
pub fn write(text: impl AsRef<[u8]>) -> Result<(), String> {
    let mut output = std::io::stdout().lock();
    let written = output.write_all(text.as_ref()).and_then(|()| output.flush());
    if written.as_ref().is_err_and(|error| error.kind() == ErrorKind::BrokenPipe) {
        // a reader that closes the pipe early (head) ends this program quietly, as it ends other programs
        leftovers::end_by(libc::SIGPIPE);
    }
    written.map_err(|error| format!("standard output: {error}"))
}

/// Writes JSON to standard output. Characters that steer a terminal, which JSON may hold as they are, are written as
/// escapes.
///
/// # Errors
/// As [`write()`].
pub fn json(text: &str) -> Result<(), String> {
    let mut units = [0; 2];
    let mut written = String::with_capacity(text.len());
    for letter in text.chars() {
        // without strings, JSON has no such characters but for line ends
        match letter {
            '\n' => written.push(letter),
            letter if steers(letter) => {
                letter.encode_utf16(&mut units).iter().for_each(|unit| written += &format!("\\u{unit:04x}"));
            }
            letter => written.push(letter),
        }
    }
    write(written)
}

/// Writes a text for a person, which may hold foreign names, as [`write()`] does. Control characters are shown as
/// escapes. Lines that are too long for the terminal are broken between words and indented, except lines of tables.
///
/// # Errors
/// As [`write()`].
pub fn text(text: &str) -> Result<(), String> {
    write(wrapped(&printable(text), width()))
}

/// Beginnings of lines; the rest of a broken line is indented below the text behind them.
const SIGNS: [&str; 6] = ["ok      ", "note    ", "WARNING ", "FAILS   ", "        -> ", "note: "];

fn wrapped(text: &str, width: Option<u16>) -> String {
    let Some(width) = width.map(usize::from) else { return text.to_owned() };
    let line = |line: &str| {
        if line.starts_with(TABLE) || textwrap::core::display_width(line) <= width {
            return line.to_owned();
        }
        let sign = SIGNS.iter().find(|sign| line.starts_with(*sign)).map_or(0, |sign| sign.len());
        let indent = " ".repeat(sign.max(line.len() - line.trim_start().len()));
        broken(line, width, &indent)
    };
    let lines: Vec<String> = text.split('\n').map(line).collect();
    lines.join("\n")
}

/// Breaks a line between words; the rest is indented.
pub fn broken(line: &str, width: usize, indent: &str) -> String {
    let options = textwrap::Options::new(width).subsequent_indent(indent).break_words(false);
    textwrap::fill(line, options.word_separator(WordSeparator::AsciiSpace).word_splitter(WordSplitter::NoHyphenation))
}

/// First characters of lines of tables.
const TABLE: [char; 5] = ['┌', '│', '╞', '├', '└'];

/// Writes a message to standard error, after this program's name.
pub fn say(message: impl Display) {
    line(format_args!("scorep-nccl: {message}"));
}

/// Writes a line to standard error. A line of this library or program is written once.
pub fn once(message: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let is_new = || SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(message.to_owned());
    if !message.starts_with("scorep-nccl: ") || is_new() {
        line(message);
    }
}

/// Writes a line to standard error. A failed write is ignored.
pub fn line(line: impl Display) {
    let _ = std::io::stderr().write_all(printable(&format!("{line}\n")).as_bytes());
}

/// Parses an option's number of seconds.
///
/// # Errors
/// In words.
pub fn seconds(text: &str, [least, most]: [f64; 2]) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| (least..=most).contains(seconds));
    seconds.ok_or_else(|| format!("not a number of seconds from {least} to {most}"))
}

/// Returns the exit status of a child that had to write its output.
pub fn answered(written: Result<(), String>) -> ExitCode {
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            say(message);
            ExitCode::FAILURE
        }
    }
}

/// Returns the text with control characters shown as escapes such as `\u{1b}`; line ends stay.
pub fn printable(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

/// Returns the number of the terminal's columns, or `COLUMNS` if that is set; `None` where standard output is no
/// terminal.
pub fn width() -> Option<u16> {
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
    fn prose_is_broken_between_words_and_tables_are_not() {
        let text =
            "a line of prose that is long\n│ a line of a table that is long │\n/a/path/that/is/longer/than/the/line\n";
        assert_eq!(wrapped(text, None), text);
        let expected =
            "a line of prose\nthat is long\n│ a line of a table that is long │\n/a/path/that/is/longer/than/the/line\n";
        assert_eq!(wrapped(text, Some(16)), expected);
        assert_eq!(
            wrapped("WARNING one two [code]\n        -> three four", Some(16)),
            "WARNING one two\n        [code]\n        -> three\n           four"
        );
    }

    #[test]
    fn what_steers_a_terminal_is_written_as_letters() {
        assert_eq!(printable("\u{202e}a\u{2066}"), "\\u{202e}a\\u{2066}");
        assert_eq!(printable("a\u{1b}[31mb\u{9b}\r\u{7f}é │\n"), "a\\u{1b}[31mb\\u{9b}\\r\\u{7f}é │\n");
    }
}
