//! A piece of a message as a line. The channel may tear lines, mix them, and put words before them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Crc;

/// Begin of a line, which no data has: their letters are those of base64.
const MARK: &str = "scorep-nccl-relay-1 ";
/// Longest line, bytes, its end included. SLURM hands on at most 1,024 bytes at a time, and shorter lines whole; a pipe
/// takes 4,096 bytes at once or not at all.
pub(super) const LONGEST_LINE: usize = 1000;
/// Bytes of a message in a line, which base64 makes 900.
const DATA: usize = 675;
/// Most lines of a message.
const MOST_PIECES: u16 = 2048;

/// A piece of a message.
#[derive(Debug, PartialEq)]
pub(super) struct Piece {
    /// Random number of the relay.
    pub(super) relay: u64,
    /// Number of the message among those of the relay.
    pub(super) message: u32,
    /// Number of the piece, from 0.
    pub(super) number: u16,
    /// Pieces of the message.
    pub(super) count: u16,
    pub(super) data: Vec<u8>,
}

/// Returns the pieces of a message; `None` where it has too many.
pub(super) fn pieces(relay: u64, message: u32, data: &[u8]) -> Option<impl Iterator<Item = Piece>> {
    let count = u16::try_from(data.len().div_ceil(DATA)).ok().filter(|&count| count <= MOST_PIECES)?;
    let pieces = (0..count).zip(data.chunks(DATA));
    Some(pieces.map(move |(number, data)| Piece { relay, message, number, count, data: data.to_vec() }))
}

impl Piece {
    /// Returns the line, with its end.
    pub(super) fn line(&self) -> String {
        let Self { relay, message, number, count, data } = self;
        let body = format!("{relay:016x} {message:08x} {number:04x} {count:04x} {}", STANDARD.encode(data));
        format!("{MARK}{:08x} {body}\n", checksum(&body))
    }

    /// Reads a line without its end; `None` where it is no whole one. What stands before the last mark is not read: a
    /// label of the channel, or a torn line.
    pub(super) fn of(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?.trim_ascii_end();
        let (sum, body) = line[line.rfind(MARK)? + MARK.len()..].split_once(' ')?;
        if u32::from_str_radix(sum, 16).ok()? != checksum(body) {
            return None;
        }
        let mut fields = body.split(' ');
        let mut number = || u64::from_str_radix(fields.next()?, 16).ok();
        let (relay, message) = (number()?, u32::try_from(number()?).ok()?);
        let (number, count) = (u16::try_from(number()?).ok()?, u16::try_from(number()?).ok()?);
        let data = STANDARD.decode(fields.next()?).ok()?;
        (number < count && count <= MOST_PIECES).then_some(Self { relay, message, number, count, data })
    }
}

fn checksum(text: &str) -> u32 {
    let mut crc = Crc::new();
    crc.update(text.as_bytes());
    crc.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_short_and_read_as_it_was_written() {
        let data: Vec<u8> = (0..2000u32).map(|byte| (byte * 7) as u8).collect();
        let made: Vec<Piece> = pieces(u64::MAX, u32::MAX, &data).unwrap().collect();
        assert_eq!(made.len(), 3);
        for piece in &made {
            let line = piece.line();
            assert!(line.len() <= LONGEST_LINE && line.ends_with('\n'), "{}", line.len());
            assert_eq!(Piece::of(line.trim_end().as_bytes()).as_ref(), Some(piece));
            assert_eq!(Piece::of(format!("12: {}\r", line.trim_end()).as_bytes()).as_ref(), Some(piece));
        }
        assert_eq!(made.into_iter().flat_map(|piece| piece.data).collect::<Vec<_>>(), data);
        assert!(pieces(1, 1, &vec![0; DATA * usize::from(MOST_PIECES) + 1]).is_none());
    }

    #[test]
    fn a_torn_or_changed_line_is_none_and_hides_no_whole_one() {
        let line = pieces(1, 2, b"some bytes of a message").unwrap().next().unwrap().line();
        let line = line.trim_end();
        for end in 0..line.len() {
            assert_eq!(Piece::of(&line.as_bytes()[..end]), None);
            assert!(Piece::of(format!("{}{line}", &line[..end]).as_bytes()).is_some());
            let mut changed = line.as_bytes().to_vec();
            changed[end] ^= 1;
            assert_eq!(Piece::of(&changed), None, "byte {end}");
        }
    }
}
