//! Files of facts, read whole: they are written by people or by small scripts, and are no longer than a bound.

use common::files;
use report::job::Unreadable;
use std::io::Read;
use std::path::Path;

/// Longest file with a fact a line: of steps, dimensions, or rates of links, bytes.
pub(super) const LINES: u64 = 16 << 20;
/// Longest report as JSON, bytes.
pub(super) const REPORT: u64 = 256 << 20;

/// Reads a text of at most `most` bytes. A device or a pipe is read as far.
///
/// # Errors
/// The file and the cause.
pub(super) fn read(file: &Path, most: u64) -> Result<String, Unreadable> {
    let wrong = |cause: String| Unreadable::whole(file, cause);
    let mut text = String::new();
    let read = files::input(file).and_then(|file| file.take(most + 1).read_to_string(&mut text));
    match read.map_err(|error| wrong(error.to_string()))? as u64 {
        length if length > most => Err(wrong(format!("it has more than {} MiB, which no such file has", most >> 20))),
        _ => Ok(text),
    }
}

/// Returns the lines of facts, each with its number and its words. Empty lines and `#` comments are passed over.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    let lines = text.lines().zip(1..).map(|(line, number): (&str, usize)| {
        let words = line.split('#').next().unwrap_or_default().split_whitespace();
        (number, words.collect::<Vec<&str>>())
    });
    lines.filter(|(_, words)| !words.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_end_is_refused() {
        let refused = read(Path::new("/dev/zero"), 1 << 20).unwrap_err().to_string();
        assert_eq!(refused, "/dev/zero: it has more than 1 MiB, which no such file has");
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "abc").unwrap();
        assert_eq!(read(&file, 3).as_deref(), Ok("abc"));
        assert!(read(&file, 2).is_err());
        std::fs::write(&file, [0xff]).unwrap();
        assert!(read(&file, 3).unwrap_err().cause.contains("UTF-8"));
    }
}
