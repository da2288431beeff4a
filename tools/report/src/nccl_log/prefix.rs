//! The beginning of each line of NCCL's: `HOST:PID:TID [DEVICE] NCCL INFO`, and with a file and a function before
//! `NCCL WARN` (NCCL's `debug.cc`). A time may stand before it, and whatever a launcher puts before each line.
//!
//! A log's lines. They end at a line feed or a carriage return, as progress bars write them, and are no longer than
//! [`MAX_LINE_BYTES`]: NCCL's own lines have 1 KiB up to release 2.28, and later ones little more.

use memchr::{memchr2, memmem};
use std::io::{self, BufRead};

/// The words that all lines of NCCL's have after their prefix.
const MARK: &[u8] = b"NCCL ";
/// Longest name of a host, as of `gethostname`.
const MAX_HOST_BYTES: usize = 255;

/// Kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Info,
    Warn,
}

/// Who wrote a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prefix<'a> {
    pub(super) host: &'a str,
    pub(super) pid: u32,
    pub(super) tid: u32,
    /// The thread's CUDA device.
    pub(super) device: i32,
}

/// A line of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogLine<'a> {
    /// It is not NCCL's.
    Foreign,
    /// It is NCCL's, but its beginning is cut, or two lines are mixed in it.
    Broken,
    /// It is NCCL's.
    Whole { by: Prefix<'a>, level: Level, text: &'a str },
}

/// Returns whether a line may be NCCL's. Most lines of a job's output are not.
pub(super) fn may_be_nccl(line: &[u8]) -> bool {
    memmem::find(line, MARK).is_some()
}

/// Divides a line into its prefix and its message.
pub(super) fn divided(line: &str) -> LogLine<'_> {
    let marks = ["NCCL INFO ", "NCCL WARN "].map(|mark| line.matches(mark).count());
    let (mark, level) = match marks {
        [0, 0] => return LogLine::Foreign,
        [1, 0] => ("NCCL INFO ", Level::Info),
        [0, 1] => ("NCCL WARN ", Level::Warn),
        _ => return LogLine::Broken,
    };
    let Some((head, text)) = line.split_once(mark) else { return LogLine::Foreign };
    match prefix(head, level) {
        Some(by) => LogLine::Whole { by, level, text: text.trim_end() },
        None => LogLine::Broken,
    }
}

/// Reads `... HOST:PID:TID [DEVICE] `, which a file and a function may follow in a warning.
fn prefix(head: &str, level: Level) -> Option<Prefix<'_>> {
    let mut words = head.split_whitespace().rev().peekable();
    if level == Level::Warn {
        // file:line, (function)
        for _ in 0..2 {
            words.next_if(|word| device(word).is_none());
        }
    }
    let device = device(words.next()?)?;
    // a launcher's `[1,3]<stdout>:` or `[rank3]:` may touch the host
    let mut parts = words.next()?.rsplitn(4, ':');
    let [tid, pid, host] = [parts.next()?, parts.next()?, parts.next()?];
    let host = host.rsplit([']', '>', ')', '|']).next()?;
    let is_host = |host: &str| {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        (1..=MAX_HOST_BYTES).contains(&host.len()) && host.chars().all(fits)
    };
    Some(Prefix {
        host: Some(host).filter(|host| is_host(host))?,
        pid: pid.parse().ok()?,
        tid: tid.parse().ok()?,
        device,
    })
}

fn device(word: &str) -> Option<i32> {
    word.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

/// Longest line that is read, bytes. Longer ones are passed over.
pub(super) const MAX_LINE_BYTES: usize = 8 << 10;

/// Hands each line without its end to `line`. Returns the number of lines that were too long.
///
/// # Errors
/// Those of the reader.
pub(super) fn each(mut reader: impl BufRead, mut line: impl FnMut(&[u8])) -> io::Result<u64> {
    let (mut kept, mut is_long, mut too_long) = (Vec::with_capacity(MAX_LINE_BYTES), false, 0);
    loop {
        let read = reader.fill_buf()?;
        let (part, has_end) = match memchr2(b'\n', b'\r', read) {
            Some(end) => (read.get(..end).unwrap_or_default(), true),
            None => (read, false),
        };
        let (taken, is_over) = (part.len() + usize::from(has_end), read.is_empty());
        is_long |= kept.len() + part.len() > MAX_LINE_BYTES;
        if has_end && kept.is_empty() && !is_long {
            line(part);
        } else if !is_long {
            kept.extend_from_slice(part);
        }
        if has_end || is_over {
            too_long += u64::from(is_long);
            if !is_long && !kept.is_empty() {
                line(&kept);
            }
            kept.clear();
            is_long = false;
        }
        reader.consume(taken);
        if is_over {
            return Ok(too_long);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn launchers_and_times_stand_before_the_host() {
        let by = Prefix { host: "n-1", pid: 12, tid: 34, device: 5 };
        let text = "Using network IB";
        for before in
            ["", "3: ", "[rank3]:", "[1,3]<stdout>:", "[1,3]<stdout>: ", "[2026-01-02 03:04:05]", "(W pid=1) "]
        {
            let line = format!("{before}n-1:12:34 [5] NCCL INFO {text}\r");
            assert_eq!(divided(&line), LogLine::Whole { by, level: Level::Info, text }, "{line}");
        }
        for at in ["misc/a.cc:7", "misc/a.cc:7 (ncclF)"] {
            let line = format!("n-1:12:34 [5] {at} NCCL WARN {text}");
            assert_eq!(divided(&line), LogLine::Whole { by, level: Level::Warn, text }, "{line}");
        }
    }

    #[test]
    fn lines_that_are_cut_or_mixed_are_broken() {
        for line in [
            "12:34 [5] NCCL INFO a",
            "] NCCL INFO a",
            "n/1:12:34 [5] NCCL INFO a",
            "n-1:99999999999:34 [5] NCCL INFO a",
            "n-1:12:34 [5] NCCL INFO an-1:12:35 [5] NCCL INFO b",
            "n-1:12:34 [5] NCCL INFO an-1:12:35 [5] a.cc:1 NCCL WARN b",
        ] {
            assert_eq!(divided(line), LogLine::Broken, "{line}");
        }
        assert_eq!(divided("NCCL version 2.19.3+cuda12.3"), LogLine::Foreign);
    }

    #[test]
    fn lines_end_at_either_end_and_long_ones_are_counted() {
        let text = [b"one\rtwo\r\nthree\n".to_vec(), vec![b'x'; MAX_LINE_BYTES + 1], b"\nlast".to_vec()].concat();
        for buffer in [1, 7, 64 << 10] {
            let mut lines: Vec<String> = Vec::new();
            let reader = BufReader::with_capacity(buffer, text.as_slice());
            let too_long = each(reader, |line| lines.push(String::from_utf8_lossy(line).into())).unwrap();
            lines.retain(|line| !line.is_empty());
            assert_eq!((lines, too_long), (["one", "two", "three", "last"].map(str::to_owned).to_vec(), 1));
        }
    }
}
