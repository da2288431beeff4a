//! Mutations of a text or of bytes, by a generator: what a damaged disk, a careless editor or a foe does to a file.

use fastrand::Rng;

/// Words that replace others: ends of types, brackets, and what steers programs.
const WORDS: [&str; 26] = [
    "0",
    "-1",
    "1",
    "255",
    "2147483647",
    "2147483648",
    "4294967296",
    "9007199254740992",
    "9223372036854775807",
    "18446744073709551615",
    "1e308",
    "-1e308",
    "NaN",
    "null",
    "true",
    "\"\"",
    "[]",
    "{}",
    "[[[[[[[[",
    "*",
    "#",
    "0-1048575",
    "\u{202e}",
    "\\u0000",
    "=cmd",
    "<script>",
];

/// Longest result, bytes.
const LONGEST: usize = 1 << 20;

/// Returns one of the seeds, mutated some times.
pub(crate) fn of_text(seeds: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut text = rng.choice(seeds).unwrap().clone();
    let other = rng.choice(seeds).unwrap();
    for _ in 0..rng.usize(1..6) {
        match rng.u8(..9) {
            // a number or a word becomes another one
            0..=3 => replace(&mut text, rng),
            4 => flip(&mut text, rng),
            5 => remove(&mut text, rng),
            6 => repeat(&mut text, rng),
            7 => insert(&mut text, other, rng),
            _ => text.truncate(rng.usize(..=text.len())),
        }
        text.truncate(LONGEST);
    }
    text
}

/// Returns one of the seeds, damaged. Every second damage is among its last bytes, `of_end` of them.
pub(crate) fn of_bytes(seeds: &[Vec<u8>], of_end: usize, rng: &mut Rng) -> Vec<u8> {
    let mut bytes = rng.choice(seeds).unwrap().clone();
    for _ in 0..rng.usize(1..5) {
        let from = if rng.bool() { bytes.len().saturating_sub(of_end) } else { 0 };
        let mut part = bytes.split_off(from);
        match rng.u8(..12) {
            0..=4 => flip(&mut part, rng),
            5..=7 => {
                // several bytes of one value: the ends of numbers of any length
                let (at, value) = (rng.usize(..=part.len()), rng.choice([0, 0x7f, 0x80, 0xff]).unwrap());
                part.iter_mut().skip(at).take(rng.usize(1..9)).for_each(|byte| *byte = value);
            }
            8 => replace(&mut part, rng),
            9 => remove(&mut part, rng),
            10 => {
                let other = bytes.clone();
                insert(&mut part, &other, rng);
            }
            _ => part.truncate(rng.usize(..=part.len())),
        }
        bytes.append(&mut part);
        bytes.truncate(LONGEST);
    }
    bytes
}

fn flip(text: &mut [u8], rng: &mut Rng) {
    if !text.is_empty() {
        text[rng.usize(..text.len())] ^= 1 << rng.u8(..8);
    }
}

/// A word of letters and digits, or of other characters, becomes another one.
fn replace(text: &mut Vec<u8>, rng: &mut Rng) {
    if text.is_empty() {
        return;
    }
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let at = rng.usize(..text.len());
    let kind = is_word(text[at]);
    let begin = text[..at].iter().rposition(|&byte| is_word(byte) != kind).map_or(0, |before| before + 1);
    let length = text[begin..].iter().take_while(|&&byte| is_word(byte) == kind).count().min(40);
    text.splice(begin..begin + length, rng.choice(WORDS).unwrap().bytes());
}

fn range(text: &[u8], rng: &mut Rng) -> std::ops::Range<usize> {
    let at = rng.usize(..=text.len());
    let most = *rng.choice(&[1, 10, 100, 1000]).unwrap();
    at..(at + rng.usize(..=most)).min(text.len())
}

fn remove(text: &mut Vec<u8>, rng: &mut Rng) {
    let range = range(text, rng);
    text.drain(range);
}

fn repeat(text: &mut Vec<u8>, rng: &mut Rng) {
    let range = range(text, rng);
    let times = (LONGEST / 2 / range.len().max(1)).min(*rng.choice(&[1, 3, 100, 100_000]).unwrap());
    let again = text[range.clone()].repeat(times);
    text.splice(range.end..range.end, again);
}

fn insert(text: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    let part = other[range(other, rng)].to_vec();
    let at = rng.usize(..=text.len());
    text.splice(at..at, part);
}
