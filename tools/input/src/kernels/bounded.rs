//! JSON text whose reader's memory is bounded. A compressed trace may hold a thousand times its length, and serde_json
//! keeps a string, and the brackets that are open, as long as they are.

use std::io::{self, Read};

/// Longest text of a trace, bytes. Profilers' viewers open no longer ones.
const TEXT: u64 = 4 << 30;
/// Longest string, bytes. Names of kernels have some hundreds, and PyTorch's stacks some thousands.
const STRING: u32 = 1 << 20;
/// Most brackets that are open at a time. Traces have some five.
const DEPTH: u32 = 128;

/// A text that ends with an error where it goes beyond a bound.
pub(super) struct Bounded<R> {
    text: R,
    length: u64,
    depth: u32,
    /// Bytes of the string that is being read; `None` between strings.
    string: Option<u32>,
    is_escaped: bool,
}

impl<R: Read> Bounded<R> {
    pub(super) fn new(text: R) -> Self {
        Self { text, length: 0, depth: 0, string: None, is_escaped: false }
    }

    fn look(&mut self, byte: u8) -> io::Result<()> {
        let too = |what: String| Err(io::Error::new(io::ErrorKind::InvalidData, what));
        let Some(length) = &mut self.string else {
            match byte {
                b'"' => self.string = Some(0),
                b'[' | b'{' if self.depth == DEPTH => return too(format!("more than {DEPTH} brackets are open")),
                b'[' | b'{' => self.depth += 1,
                b']' | b'}' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            return Ok(());
        };
        *length += 1;
        if *length > STRING {
            return too(format!("a string has more than {} MiB", STRING >> 20));
        }
        if std::mem::take(&mut self.is_escaped) {
            return Ok(());
        }
        match byte {
            b'\\' => self.is_escaped = true,
            b'"' => self.string = None,
            _ => {}
        }
        Ok(())
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.text.read(bytes)?;
        self.length += read as u64;
        if self.length > TEXT {
            let what = format!("it has more than {} GiB of text", TEXT >> 30);
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        bytes.iter().take(read).try_for_each(|&byte| self.look(byte))?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Result<Vec<u8>, String> {
        let mut read = Vec::new();
        Bounded::new(text).read_to_end(&mut read).map(|_| read).map_err(|error| error.to_string())
    }

    #[test]
    fn strings_and_brackets_are_bounded_and_nothing_else_is() {
        let long = "x".repeat(STRING as usize - 1);
        let fits = [
            "[{\"a\":\"[[\\\"{{\",\"b\\\\\":[1]}]".to_owned() + &" ".repeat(1 << 21),
            "[".repeat(DEPTH as usize),
            "[]".repeat(1000),
            format!("\"{long}\"").repeat(3),
        ];
        for text in fits {
            assert_eq!(read(text.as_bytes()).as_deref(), Ok(text.as_bytes()));
        }
        assert_eq!(read("{".repeat(129).as_bytes()), Err("more than 128 brackets are open".into()));
        for text in [format!("\"{long}xx"), format!("\"\\\"{long}")] {
            assert_eq!(read(text.as_bytes()), Err("a string has more than 1 MiB".into()));
        }
    }
}
