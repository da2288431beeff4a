//! NCCL's strings. Every operation and call carries several short names out of a small set; this module compares them
//! without measuring their length first.

use std::ffi::{CStr, c_char};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// Size of a [`Word`] in bytes. A string and its NUL must fit.
const WORD: usize = 16;

/// A C string whose length has not been measured.
#[derive(Clone, Copy)]
pub struct CText<'a> {
    first: NonNull<c_char>,
    lives: PhantomData<&'a CStr>,
}

impl<'a> CText<'a> {
    /// Wraps a C string; `None` for NULL.
    ///
    /// # Safety
    /// `text` is NULL or a NUL-terminated string that lives as long as `'a`.
    #[inline(always)]
    pub unsafe fn new(text: *const c_char) -> Option<Self> {
        Some(Self { first: NonNull::new(text.cast_mut())?, lives: PhantomData })
    }

    /// Returns the string's address.
    pub fn as_ptr(self) -> *const c_char {
        self.first.as_ptr()
    }

    /// Returns the string with its length measured.
    pub fn c_str(self) -> &'a CStr {
        // SAFETY: the caller of `new` guarantees a NUL-terminated string that lives as long as `'a`; the only other
        // source is a CStr.
        unsafe { CStr::from_ptr(self.as_ptr()) }
    }

    /// Returns the whole string as a word; `None` if it is longer than a word.
    #[inline(always)]
    pub fn word(self) -> Option<Word> {
        word::of(self)
    }

    /// Like [`CText::word`], but measures the string first.
    #[cfg_attr(target_arch = "x86_64", cold)]
    fn measured_word(self) -> Option<Word> {
        Word::of(self.c_str().to_bytes())
    }
}

impl<'a> From<&'a CStr> for CText<'a> {
    fn from(text: &'a CStr) -> Self {
        Self { first: NonNull::from(text).cast(), lives: PhantomData }
    }
}

impl fmt::Debug for CText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.c_str().fmt(f)
    }
}

impl PartialEq for CText<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.c_str() == other.c_str()
    }
}

impl Eq for CText<'_> {}

/// A string of less than 16 bytes without NUL, as two numbers: its bytes from the lowest on, then zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word([u64; 2]);

impl Word {
    /// What no string makes: the last byte of a word is zero.
    const NONE: Self = Self([u64::MAX; 2]);

    const fn is_none(self) -> bool {
        let [_, high] = self.0;
        high == u64::MAX
    }

    /// Makes a word; `None` for strings of 16 bytes or more.
    const fn of(text: &[u8]) -> Option<Self> {
        if text.len() >= WORD {
            return None;
        }
        Some(Self::of_short(text))
    }

    const fn of_short(text: &[u8]) -> Self {
        let mut bytes = [0; WORD];
        let mut place = 0;
        while place < text.len() {
            bytes[place] = text[place];
            place += 1;
        }
        let number = u128::from_le_bytes(bytes);
        Self([number as u64, (number >> 64) as u64])
    }

    /// Returns one of the [`PLACES`], which depends on the factor.
    #[inline(always)]
    const fn place(self, factor: u64) -> usize {
        let [low, high] = self.0;
        ((low ^ high.rotate_left(29)).wrapping_mul(factor) >> 58) as usize
    }
}

/// Places of a table of words.
const PLACES: usize = 64;

/// A table of different words, each with a number. A word is found by one look: no two words share a place.
#[derive(Debug)]
pub struct WordTable {
    /// The word at each place; [`Word::NONE`] where there is none.
    words: [Word; PLACES],
    /// Number of the word at each place.
    numbers: [u8; PLACES],
    factor: u64,
}

impl WordTable {
    /// Makes the table of these words and their numbers. To be called at compile time: it tries factors until one keeps
    /// all words apart.
    ///
    /// # Panics
    /// Panics when a text is too long for a word, or when none of 10,000 factors keeps the words apart.
    pub const fn new<const N: usize>(numbered: [(&str, u8); N]) -> Self {
        let mut factor: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut tries = 0;
        loop {
            assert!(tries < 10_000, "no factor keeps the words apart: change how a word's place is worked out");
            if let Some(table) = Self::apart(&numbered, factor) {
                return table;
            }
            // the multiplier of Knuth's MMIX generator
            factor = factor.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(2);
            tries += 1;
        }
    }

    const fn apart<const N: usize>(numbered: &[(&str, u8); N], factor: u64) -> Option<Self> {
        let mut table = Self { words: [Word::NONE; PLACES], numbers: [0; PLACES], factor };
        let mut next = 0;
        while next < N {
            let (text, number) = numbered[next];
            assert!(text.len() < WORD, "longer than a word");
            let word = Word::of_short(text.as_bytes());
            let place = word.place(factor);
            if !table.words[place].is_none() {
                return None;
            }
            (table.words[place], table.numbers[place]) = (word, number);
            next += 1;
        }
        Some(table)
    }

    /// Returns the number of the string, if it is in the table.
    #[inline(always)]
    pub fn number(&self, text: CText<'_>) -> Option<u8> {
        let word = text.word()?;
        let place = word.place(self.factor);
        (self.words[place] == word).then_some(self.numbers[place])
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod word {
    use super::{CText, WORD, Word};
    use std::arch::asm;
    use std::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_cmpeq_epi8, _mm_cvtsi128_si64, _mm_loadu_si128, _mm_movemask_epi8,
        _mm_setzero_si128, _mm_unpackhi_epi64,
    };

    /// Size of the smallest page, bytes. A page is readable as a whole.
    const PAGE: usize = 4096;

    /// Masks: a window of 16 bytes into this array keeps the first bytes of a word and clears the rest.
    static KEEP: [u8; 2 * WORD] = {
        let mut keep = [0; 2 * WORD];
        let mut place = 0;
        while place < WORD {
            keep[place] = u8::MAX;
            place += 1;
        }
        keep
    };

    /// See [`CText::word`]. If the string begins at least 16 bytes before the end of a page, 16 bytes are read at once,
    /// whatever follows the string. The C library's string functions do the same.
    #[inline(always)]
    pub(super) fn of(text: CText<'_>) -> Option<Word> {
        let first = text.as_ptr();
        if first as usize % PAGE > PAGE - WORD {
            return text.measured_word();
        }
        let head: __m128i;
        // SAFETY: the maker of the Text guarantees that the string's first byte is readable. So all bytes of its page
        // are readable, and the check above keeps the 16 bytes within the page. The bytes behind the string are not
        // Rust's memory, hence the instruction instead of a read.
        unsafe {
            asm!("movdqu {}, [{}]", out(xmm_reg) head, in(reg) first, options(pure, readonly, nostack, preserves_flags))
        };
        // SAFETY: every x86-64 processor has SSE2. The window begins at most 16 bytes behind the start of the 32 bytes,
        // so it lies within them.
        unsafe {
            let ends = _mm_movemask_epi8(_mm_cmpeq_epi8(head, _mm_setzero_si128()));
            if ends == 0 {
                return None;
            }
            let length = ends.trailing_zeros() as usize;
            let kept = _mm_and_si128(head, _mm_loadu_si128(KEEP.as_ptr().add(WORD - length).cast()));
            let high = _mm_unpackhi_epi64(kept, kept);
            Some(Word([_mm_cvtsi128_si64(kept).cast_unsigned(), _mm_cvtsi128_si64(high).cast_unsigned()]))
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod word {
    use super::{CText, Word};

    #[inline(always)]
    pub(super) fn of(text: CText<'_>) -> Option<Word> {
        text.measured_word()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    #[test]
    fn a_word_is_the_whole_string_and_nothing_behind_it() {
        for length in 0..40 {
            let text = "abcdefghijklmnopqrstuvwxyz0123456789....".get(..length).unwrap();
            let mut bytes = text.as_bytes().to_vec();
            bytes.push(0);
            // whatever follows the string
            bytes.extend([0xAA; 48]);
            let text = CText::from(CStr::from_bytes_until_nul(&bytes).unwrap());
            assert_eq!(text.word(), Word::of(text.c_str().to_bytes()), "{text:?}");
            assert_eq!(text.word().is_some(), length < WORD);
        }
    }

    // on other processors pages may be larger, and nothing is read ahead
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_string_at_the_end_of_the_last_page_is_read_no_further() {
        // SAFETY: the two pages are new, and the second is made unreadable.
        let page = unsafe {
            let page = libc::mmap(
                std::ptr::null_mut(),
                2 * 4096,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(page, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(page.byte_add(4096), 4096, libc::PROT_NONE), 0);
            page.cast::<u8>()
        };
        for length in 0..64 {
            let text = CString::new("x".repeat(length)).unwrap();
            // SAFETY: the string with its NUL ends where the first page ends.
            let text = unsafe {
                let first = page.add(4096 - length - 1);
                first.copy_from_nonoverlapping(text.as_ptr().cast(), length + 1);
                CText::new(first.cast()).unwrap()
            };
            assert_eq!(text.word(), Word::of(&vec![b'x'; length]), "{length}");
        }
    }

    #[test]
    fn null_is_no_string() {
        // SAFETY: NULL is allowed.
        assert_eq!(unsafe { CText::new(std::ptr::null()) }, None);
    }

    #[test]
    fn words_are_found_by_all_of_their_bytes() {
        const WORDS: WordTable = WordTable::new([("LL", 7), ("LL128", 1), ("RING", 255), ("COLLNET_DIRECT", 0)]);
        let number = |text: &str| WORDS.number(CText::from(CString::new(text).unwrap().as_c_str()));
        assert_eq!(["LL", "LL128", "RING", "COLLNET_DIRECT"].map(number), [7, 1, 255, 0].map(Some));
        for text in ["", "L", "LL1", "LL129", "RINH", "COLLNET_DIRECU", "DOLLNET_DIRECT", "COLLNET_DIRECTX"] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
