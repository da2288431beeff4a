//! Strings of recorded callbacks. Each is copied once, since the lifetime of NCCL's strings is unknown, and then
//! referred to by number.

use common::mapping::{Mapping, Zeroed};
use common::text;
use recording::{Quoted, QuotedStrings};
use std::cell::OnceCell;
use std::io;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// Largest number of different strings; NCCL has a few dozen.
const MAX_STRINGS: usize = 4096;
/// Bytes kept of a string; NCCL's have some twenty.
const MAX_BYTES: usize = 120;
/// Places that are searched for one string.
const PROBES: usize = 64;

const EMPTY: u32 = 0;
const WRITING: u32 = 1;
const READY: u32 = 2;

/// Number of a string; 0 for NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StringNumber(u16);

/// A place for one string; all zero is empty.
#[derive(Debug)]
struct StringEntry {
    state: AtomicU32,
    length: AtomicU32,
    bytes: [AtomicU8; MAX_BYTES],
}

// SAFETY: the entry consists of atomic integers, which are valid as zeros and need no drop.
unsafe impl Zeroed for StringEntry {}

impl StringEntry {
    fn holds(&self, text: &[u8]) -> bool {
        self.length.load(Ordering::Relaxed) as usize == text.len()
            && self.bytes.iter().zip(text).all(|(kept, byte)| kept.load(Ordering::Relaxed) == *byte)
    }
}

/// All strings so far.
#[derive(Debug)]
pub(super) struct RecordedStrings(Mapping<StringEntry>);

impl RecordedStrings {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self(Mapping::new(MAX_STRINGS)?))
    }

    /// Returns the number of a string. It neither allocates nor waits: if another thread is just writing the same
    /// string, this thread writes a second copy.
    pub(super) fn number(&self, text: Option<text::CText<'_>>) -> StringNumber {
        let Some(text) = text else { return StringNumber(0) };
        let text = text.c_str().to_bytes();
        let text = text.get(..MAX_BYTES).unwrap_or(text);
        // FNV-1a
        let hash = text
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
        let first = (hash ^ hash >> 32) as usize;
        for probe in 0..PROBES {
            let place = first.wrapping_add(probe) % MAX_STRINGS;
            let entry = &self.0[place];
            let state = entry.state.load(Ordering::Acquire);
            let ours = state == EMPTY
                && entry.state.compare_exchange(EMPTY, WRITING, Ordering::Acquire, Ordering::Relaxed).is_ok();
            if ours {
                entry.bytes.iter().zip(text).for_each(|(kept, byte)| kept.store(*byte, Ordering::Relaxed));
                entry.length.store(text.len() as u32, Ordering::Relaxed);
                entry.state.store(READY, Ordering::Release);
            }
            if ours || state == READY && entry.holds(text) {
                return StringNumber(place as u16 + 1);
            }
        }
        StringNumber(0)
    }

    /// Returns the string with that number.
    pub(super) fn text(&self, text: StringNumber) -> Option<String> {
        let entry = self.0.get(usize::from(text.0).checked_sub(1)?)?;
        if entry.state.load(Ordering::Acquire) != READY {
            return None;
        }
        let length = (entry.length.load(Ordering::Relaxed) as usize).min(MAX_BYTES);
        let bytes: Vec<u8> = entry.bytes[..length].iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The strings of a part, in quotation marks; each is made when first used.
pub(super) struct StringsOfPart<'a> {
    strings: &'a RecordedStrings,
    quoted: Vec<OnceCell<String>>,
}

impl<'a> StringsOfPart<'a> {
    pub(super) fn new(strings: &'a RecordedStrings) -> Self {
        Self { strings, quoted: vec![OnceCell::new(); MAX_STRINGS + 1] }
    }
}

impl QuotedStrings<StringNumber> for StringsOfPart<'_> {
    fn quoted(&self, text: StringNumber) -> &str {
        let quote = || Quoted(self.strings.text(text).as_deref()).to_string();
        self.quoted.get(usize::from(text.0)).map_or("null", |place| place.get_or_init(quote))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_have_one_number_and_null_has_none() {
        let strings = RecordedStrings::new().unwrap();
        let (ring, tree) = (strings.number(Some(c"RING".into())), strings.number(Some(c"TREE".into())));
        assert_ne!(ring, tree);
        assert_eq!(strings.number(Some(c"RING".into())), ring);
        assert_eq!((strings.text(ring).as_deref(), strings.text(tree).as_deref()), (Some("RING"), Some("TREE")));
        let empty = strings.number(Some(c"".into()));
        assert_eq!(strings.text(empty).as_deref(), Some(""));
        assert_eq!(strings.text(strings.number(None)), None);
    }

    #[test]
    fn too_long_ones_are_cut_off_and_too_many_are_null() {
        let strings = RecordedStrings::new().unwrap();
        let long = std::ffi::CString::new("x".repeat(500)).unwrap();
        assert_eq!(strings.text(strings.number(Some(long.as_c_str().into()))), Some("x".repeat(MAX_BYTES)));
        for number in 0..2 * MAX_STRINGS {
            let text = std::ffi::CString::new(number.to_string()).unwrap();
            let kept = strings.text(strings.number(Some(text.as_c_str().into())));
            assert!(kept.is_none_or(|kept| kept == number.to_string()));
        }
    }
}
