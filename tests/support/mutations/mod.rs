//! Mutations of recordings: a part of a real one, damaged by a seed as files, lines and fields are.

use std::io::{Read, Write};
use std::path::Path;

use fastrand::Rng;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// Lines of a real recording that a mutation begins with, at most.
const LINES: usize = 3000;
/// Times that a line is repeated, at most.
const REPEATED: usize = 4000;

/// Numbers at the ends of the types that fields have, and some that none has.
const EXTREMES: [&str; 18] = [
    "0",
    "-1",
    "1",
    "127",
    "255",
    "256",
    "65535",
    "2147483647",
    "-2147483648",
    "4294967295",
    "4294967296",
    "2305843009213693952",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e300",
    "null",
];

/// Fields with numbers that they may have, however unlikely.
const LIKELY: [(&[&str], &[&str]); 6] = [
    (&["ch", "nch", "phase", "nwarps"], &["0", "1", "64", "255"]),
    (
        &["rank", "peer", "nranks", "nnodes", "root", "nsteps", "chunk", "step", "depth", "pid"],
        &["0", "-1", "1", "1048576", "2147483647", "-2147483648"],
    ),
    (&["seq", "count", "arg", "ptimer", "mask", "dropped"], &["0", "1", "9223372036854775808", "18446744073709551615"]),
    (&["t", "at", "mono0"], &["0", "1", "1000000000000000", "2305843009213693952"]),
    (&["state"], &["0", "3", "8", "9", "13", "20", "22", "23", "24", "25", "31", "4294967295"]),
    (&["parent"], &["0"]),
];

/// The text of a capture.
fn text(capture: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    MultiGzDecoder::new(std::fs::File::open(capture).unwrap()).read_to_end(&mut text).unwrap();
    text
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// A damaged recording: a part of one of these, with lines of another.
pub(crate) fn mutated(captures: &[impl AsRef<Path>], rng: &mut Rng) -> Vec<u8> {
    let mut choose = || text(captures[rng.usize(..captures.len())].as_ref());
    let [text, other] = [choose(), choose()];
    let cut = |text: &[u8], most: usize| -> Vec<Vec<u8>> {
        text.split(|byte| *byte == b'\n').take(most).map(<[u8]>::to_vec).collect()
    };
    let mut lines = cut(&text, rng.usize(2..LINES));
    let other = cut(&other, LINES);
    // what is no recording any more is refused at once: most are to be one
    let is_likely = rng.u8(..4) > 0;
    for _ in 0..rng.usize(0..8) {
        if is_likely { likely(&mut lines, rng) } else { mutate(&mut lines, &other, rng) }
    }
    let file = gzip(&lines.join(&b'\n'));
    if !is_likely && rng.u8(..2) == 0 { damaged(file, &lines, rng) } else { file }
}

/// One mutation of the text that leaves it a recording, most likely.
fn likely(lines: &mut Vec<Vec<u8>>, rng: &mut Rng) {
    let place = rng.usize(..lines.len());
    let many = rng.choice([1, 1, 10, 3000]).unwrap();
    match rng.u8(..6) {
        // calls on other threads, up to one a line
        0 => {
            let threads = rng.choice([2, 8, 600]).unwrap();
            lines
                .iter_mut()
                .skip(place)
                .take(many)
                .for_each(|line| set(line, "tid", &rng.u32(1..=threads).to_string()));
        }
        1 if !has(&lines[place], "start") && !has(&lines[place], "init") && place > 0 => {
            let again = vec![lines[place].clone(); rng.usize(1..REPEATED)];
            lines.splice(place..place, again);
        }
        2 if !has(&lines[place], "start") && !has(&lines[place], "init") && place > 0 => drop(lines.remove(place)),
        _ => {
            let (fields, values) = LIKELY[rng.usize(..LIKELY.len())];
            let field = rng.choice(fields).unwrap();
            // the same for all, or each its own
            let value = rng.choice(values).unwrap();
            let is_one = rng.bool();
            lines.iter_mut().skip(place).take(many).for_each(|line| {
                let value = if is_one { value } else { rng.choice(values).unwrap() };
                set(line, field, value);
            });
        }
    }
}

/// Whether the line is of that callback.
fn has(line: &[u8], callback: &str) -> bool {
    String::from_utf8_lossy(line).contains(&format!("\"cb\":\"{callback}\""))
}

/// A field of the line, if it is a number there, becomes another.
fn set(line: &mut Vec<u8>, field: &str, value: &str) {
    let name = format!("\"{field}\":");
    if let Some(place) = line.windows(name.len()).position(|found| found == name.as_bytes()) {
        let begin = place + name.len();
        let length = line[begin..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'-').count();
        if length > 0 {
            line.splice(begin..begin + length, value.bytes());
        }
    }
}

/// One mutation of the text.
fn mutate(lines: &mut Vec<Vec<u8>>, other: &[Vec<u8>], rng: &mut Rng) {
    if lines.is_empty() {
        return;
    }
    let place = rng.usize(..lines.len());
    match rng.u8(..10) {
        0 => flip(&mut lines[place], rng),
        1 => {
            let with = rng.usize(..lines.len());
            lines.swap(place, with);
        }
        2 => drop(lines.remove(place)),
        3 => {
            let again = vec![lines[place].clone(); rng.usize(1..REPEATED)];
            lines.splice(place..place, again);
        }
        4 => lines.insert(place, other[rng.usize(..other.len())].clone()),
        5 => grow(&mut lines[place], rng),
        6 => {
            // the same field of many lines
            let extreme = rng.choice(EXTREMES).unwrap();
            let field = rng.usize(..12);
            lines.iter_mut().skip(place).take(rng.usize(1..500)).for_each(|line| replace(line, field, extreme));
        }
        7 => lines[place].truncate(rng.usize(..400)),
        _ => replace(&mut lines[place], rng.usize(..16), rng.choice(EXTREMES).unwrap()),
    }
}

fn flip(line: &mut [u8], rng: &mut Rng) {
    if let Some(place) = (!line.is_empty()).then(|| rng.usize(..line.len())) {
        line[place] ^= 1 << rng.u8(..8);
    }
}

/// A number of the line becomes another.
fn replace(line: &mut Vec<u8>, number: usize, by: &str) {
    let begins: Vec<usize> = (1..line.len()).filter(|&at| line[at - 1] == b':' && line[at].is_ascii_digit()).collect();
    if let Some(&begin) = begins.get(number % begins.len().max(1)) {
        let length = line[begin..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        line.splice(begin..begin + length, by.bytes());
    }
}

/// A string of the line grows, by text, control characters or what is none.
fn grow(line: &mut Vec<u8>, rng: &mut Rng) {
    let quotes: Vec<usize> = (1..line.len()).filter(|&at| line[at] == b'"').collect();
    if let Some(&quote) = rng.choice(&quotes) {
        let length = rng.choice([1, 120, 513, 5000, 1_100_000]).unwrap();
        let filling = rng.choice([&b"x"[..], b"\\u0000", b"\\u001b", b"\xff", "\u{10ffff}".as_bytes(), b"["]).unwrap();
        line.splice(quote..quote, filling.repeat(length));
    }
}

/// One mutation of the file.
fn damaged(mut file: Vec<u8>, lines: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    match rng.u8(..6) {
        0 => file.truncate(rng.usize(..file.len())),
        1 => (0..rng.usize(1..4)).for_each(|_| flip(&mut file, rng)),
        // two gzip members, and a second first line
        2 => file.extend(file.clone()),
        3 => file.extend(gzip(b"").repeat(rng.usize(1..1000))),
        4 => file.extend((0..rng.usize(1..100)).map(|_| rng.u8(..))),
        _ => file = lines.join(&b'\n'),
    }
    file
}
