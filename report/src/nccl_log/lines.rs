//! A log's lines. They end at a line feed or a carriage return, as progress bars write them, and are no longer than
//! [`LONGEST`]: NCCL's own lines have 1 KiB up to release 2.28, and later ones little more.

use memchr::memchr2;
use std::io::{self, BufRead};

/// Longest line that is read, bytes. Longer ones are passed over.
pub(super) const LONGEST: usize = 8 << 10;

/// Hands each line without its end to `line`. Returns the number of lines that were too long.
///
/// # Errors
/// Those of the reader.
pub(super) fn each(mut reader: impl BufRead, mut line: impl FnMut(&[u8])) -> io::Result<u64> {
    let (mut kept, mut is_long, mut too_long) = (Vec::with_capacity(LONGEST), false, 0);
    loop {
        let read = reader.fill_buf()?;
        let (part, has_end) = match memchr2(b'\n', b'\r', read) {
            Some(end) => (read.get(..end).unwrap_or_default(), true),
            None => (read, false),
        };
        let (taken, is_over) = (part.len() + usize::from(has_end), read.is_empty());
        is_long |= kept.len() + part.len() > LONGEST;
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
    fn lines_end_at_either_end_and_long_ones_are_counted() {
        let text = [b"one\rtwo\r\nthree\n".to_vec(), vec![b'x'; LONGEST + 1], b"\nlast".to_vec()].concat();
        for buffer in [1, 7, 64 << 10] {
            let mut lines: Vec<String> = Vec::new();
            let reader = BufReader::with_capacity(buffer, text.as_slice());
            let too_long = each(reader, |line| lines.push(String::from_utf8_lossy(line).into())).unwrap();
            lines.retain(|line| !line.is_empty());
            assert_eq!((lines, too_long), (["one", "two", "three", "last"].map(str::to_owned).to_vec(), 1));
        }
    }
}
