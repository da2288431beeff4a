//! The anchor file of an archive, looked at before the OTF2 library reads it.
//!
//! OTF2 3.0.2 believes the file's number of properties: it allocates memory for twice as many texts, counted in 32 bits,
//! and writes behind it. So the parts of a file must be there before the library gets it.

use crate::otf2::Otf2Error;
use common::files;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Longest anchor file, bytes. Score-P's have some hundreds.
const LONGEST: u64 = 1 << 20;
/// The first byte, of a chunk's header.
const CHUNK: u8 = 3;
/// The second byte of a file whose numbers have their lowest byte first.
const LITTLE_ENDIAN: u8 = b'B';
/// The text that follows.
const MAGIC: &[u8] = b"OTF2";
/// Format of the file, from which on it has properties and a number of the trace.
const WITH_PROPERTIES: u8 = 2;
/// Versions, sizes of chunks, substrate, compression, and the numbers of locations and of definitions.
const NUMBERS: usize = 38;
/// Machine, creator and description.
const TEXTS: usize = 3;
/// Number of the trace.
const NUMBER: usize = 8;

/// Checks that a file has the parts of an anchor file.
///
/// # Errors
/// It has not, or it cannot be read.
pub(super) fn check(anchor: &Path) -> Result<(), Otf2Error> {
    let failed = |source: io::Error| Otf2Error::Unreadable { file: anchor.to_owned(), source };
    let text = read(anchor).map_err(failed)?;
    if text.len() as u64 > LONGEST {
        return Err(Otf2Error::Anchor("it is longer than 1 MiB"));
    }
    parts(&text).map_err(Otf2Error::Anchor)
}

/// Reads a little more than the longest file, and waits for nobody.
fn read(anchor: &Path) -> io::Result<Vec<u8>> {
    // the user may have named a link
    let place = anchor.canonicalize()?;
    let (file, found): (File, _) = files::open_any(&place)?;
    if !found.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut text = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut text)?;
    Ok(text)
}

fn parts(file: &[u8]) -> Result<(), &'static str> {
    let mut rest = Rest(file);
    let [chunk, order] = rest.take().ok_or("it is too short")?;
    if chunk != CHUNK || rest.text().ok_or("it is too short")? != MAGIC {
        return Err("it is no anchor file of OTF2");
    }
    let [format] = rest.take().ok_or("it is too short")?;
    rest.skip(NUMBERS).ok_or("it ends within its numbers")?;
    (0..TEXTS).try_for_each(|_| rest.text().map(drop)).ok_or("a text of it has no end")?;
    if format < WITH_PROPERTIES {
        return Ok(());
    }
    let count = rest.take().ok_or("it ends before its properties")?;
    let count = if order == LITTLE_ENDIAN { u32::from_le_bytes(count) } else { u32::from_be_bytes(count) };
    // each has a name and a value, of a byte at least
    if count as usize > rest.0.len() / 2 {
        return Err("it has fewer properties than it says");
    }
    (0..2 * count).try_for_each(|_| rest.text().map(drop)).ok_or("it has fewer properties than it says")?;
    rest.skip(NUMBER).ok_or("it ends before the number of the trace")
}

/// The part of a file that was not read yet.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take<const COUNT: usize>(&mut self) -> Option<[u8; COUNT]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        self.0 = self.0.get(count..)?;
        Some(())
    }

    /// Returns a text up to the zero byte that ends it.
    fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|&byte| byte == 0)?;
        let (text, rest) = self.0.split_at_checked(end)?;
        self.0 = rest.get(1..)?;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An anchor file of this format that says it has so many properties, and has these.
    fn anchor(format: u8, order: u8, count: [u8; 4], properties: &[u8]) -> Vec<u8> {
        let head = [&[CHUNK, order], MAGIC, &[0, format], &[0; NUMBERS], b"machine\0creator\0description\0"].concat();
        [&head, &count[..], properties, &[7; NUMBER], &[0; 8], &[2]].concat()
    }

    #[test]
    fn a_number_of_properties_that_are_not_there_is_refused() {
        let whole = |count: [u8; 4], order| parts(&anchor(3, order, count, b"name\0value\0"));
        assert_eq!((whole([1, 0, 0, 0], LITTLE_ENDIAN), whole([0, 0, 0, 1], b'#')), (Ok(()), Ok(())));
        for count in [[0, 0, 0, 0x80], [0xff; 4], [15, 0, 0, 0], [0, 0, 0, 1]] {
            assert_eq!(whole(count, LITTLE_ENDIAN), Err("it has fewer properties than it says"), "{count:?}");
        }
        // the first format has none
        assert_eq!(parts(&anchor(1, LITTLE_ENDIAN, [0xff; 4], b"")), Ok(()));
    }

    #[test]
    fn a_file_that_is_cut_off_is_refused_wherever_it_is_cut() {
        let whole = anchor(3, LITTLE_ENDIAN, [1, 0, 0, 0], b"name\0value\0");
        let end = whole.len() - 9;
        assert!((0..end).all(|length| parts(&whole[..length]).is_err()));
        assert_eq!(parts(&whole[..end]), Ok(()));
        assert_eq!(parts(b"no archive\0"), Err("it is no anchor file of OTF2"));
    }

    #[test]
    fn what_is_no_file_is_refused_at_once() {
        let directory = tempfile::tempdir().unwrap();
        assert!(check(directory.path()).unwrap_err().to_string().contains("it is no regular file"));
        assert!(check(&directory.path().join("none")).is_err());
    }
}
