//! Names that NCCL passes as strings (functions, algorithms, protocols), as small numbers.
//!
//! The known names have fixed numbers. An unknown name is stored once, without a lock, in a table of limited size.
//! NCCL's strings are not trusted: NULL and overlong strings have a number too.

use crate::event::text::{CText, WordTable};
use std::ffi::{CStr, CString};
use std::sync::OnceLock;

/// The functions that NCCL reports. Each has its own counters.
pub const FUNCTIONS: [&str; 10] =
    ["AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce", "Send", "Recv", "AlltoAll", "Gather", "Scatter"];
const OTHERS: [&str; 11] = [
    "TREE",
    "RING",
    "COLLNET_DIRECT",
    "COLLNET_CHAIN",
    "NVLS",
    "NVLS_TREE",
    "PAT",
    "LL",
    "LL128",
    "SIMPLE",
    "AllGatherV",
];
/// Text of a missing name, and of a name that found no room in the table.
pub const UNKNOWN: &str = "unknown";
const ROOM: usize = 64;
const LENGTH: usize = 64;

/// The numbers of the known names, to be looked up by name. The first one has the number 1.
static KNOWN: WordTable = {
    let mut numbered = [("", 0); KNOWN_TEXTS.len()];
    let mut index = 0;
    while index < numbered.len() {
        numbered[index] = (KNOWN_TEXTS[index], index as u8 + 1);
        index += 1;
    }
    WordTable::new(numbered)
};
const KNOWN_TEXTS: [&str; FUNCTIONS.len() + OTHERS.len()] = {
    let mut texts = [""; FUNCTIONS.len() + OTHERS.len()];
    let mut number = 0;
    while number < texts.len() {
        texts[number] = if number < FUNCTIONS.len() { FUNCTIONS[number] } else { OTHERS[number - FUNCTIONS.len()] };
        number += 1;
    }
    texts
};

static SEEN: [OnceLock<[u8; LENGTH]>; ROOM] = [const { OnceLock::new() }; ROOM];

/// A name as a number; 0 is [`UNKNOWN`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct NcclName(u8);

impl NcclName {
    /// Returns the number of a name. Names longer than 63 bytes are cut.
    #[inline(always)]
    pub fn of<'a>(name: Option<impl Into<CText<'a>>>) -> Self {
        let Some(name) = name else { return Self::default() };
        let name = name.into();
        match KNOWN.number(name) {
            Some(number) => Self(number),
            None => Self::remember(name.c_str().to_bytes()),
        }
    }

    /// Returns the number of a name; [`UNKNOWN`] of a text that holds a zero byte. Not for callbacks: it allocates.
    pub fn of_text(text: &str) -> Self {
        CString::new(text).map_or(Self::none(), |text| Self::of(Some(text.as_c_str())))
    }

    #[cold]
    fn remember(name: &[u8]) -> Self {
        let mut kept = [0; LENGTH];
        let length = name.len().min(LENGTH - 1);
        kept[..length].copy_from_slice(&name[..length]);
        // the place was free and holds this name now, or it held the same name already
        let found = SEEN.iter().position(|place| *place.get_or_init(|| kept) == kept);
        found.map_or(Self::default(), |index| Self((KNOWN_TEXTS.len() + 1 + index) as u8))
    }

    /// Returns the number of the function with that index in [`FUNCTIONS`].
    pub(crate) const fn of_function(index: usize) -> Self {
        Self(index as u8 + 1)
    }

    /// Returns the number of [`UNKNOWN`].
    pub const fn none() -> Self {
        Self(0)
    }

    /// Returns the number as a slot stores it.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// Reads a number back from a slot.
    pub fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Returns the name's text. Bytes that are not UTF-8 are replaced.
    pub fn text(self) -> String {
        let Some(index) = usize::from(self.0).checked_sub(1) else { return UNKNOWN.into() };
        if let Some(known) = KNOWN_TEXTS.get(index) {
            return (*known).into();
        }
        let kept = SEEN.get(index - KNOWN_TEXTS.len()).and_then(OnceLock::get);
        let text = kept.and_then(|bytes| CStr::from_bytes_until_nul(bytes).ok());
        text.map_or_else(|| UNKNOWN.into(), |text| text.to_string_lossy().into_owned())
    }

    /// Returns whether the name is an algorithm whose kernels the GPU's stamps time correctly: RING or PAT. Thread 0 of
    /// each block takes the stamps. With RING and PAT it works as long as the other threads of its block. With TREE it
    /// leaves up to 96 % earlier (docs/presets.md has the measurement). The other algorithms were not measured.
    pub fn is_believed(self) -> bool {
        usize::from(self.0)
            .checked_sub(1)
            .and_then(|index| KNOWN_TEXTS.get(index))
            .is_some_and(|name| matches!(*name, "RING" | "PAT"))
    }

    /// Returns whether the name is the function of ncclBroadcast.
    pub fn is_broadcast(self) -> bool {
        self.function().is_some_and(|index| FUNCTIONS[index] == "Broadcast")
    }

    /// Returns whether the name is a function with a root.
    pub fn has_root(self) -> bool {
        self.function().is_some_and(|index| matches!(FUNCTIONS[index], "Broadcast" | "Reduce" | "Gather" | "Scatter"))
    }

    /// Returns whether the name is a function whose operations NCCL reports in bytes, whatever the caller's type.
    pub fn is_in_bytes(self) -> bool {
        self.function().is_some_and(|index| matches!(FUNCTIONS[index], "AllGather" | "Broadcast"))
    }

    /// Returns whether the name is a function of a send or a receive.
    pub fn is_p2p(self) -> bool {
        self.function().is_some_and(|index| matches!(FUNCTIONS[index], "Send" | "Recv"))
    }

    /// Returns the index into [`FUNCTIONS`].
    pub fn function(self) -> Option<usize> {
        usize::from(self.0).checked_sub(1).filter(|&index| index < FUNCTIONS.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    #[test]
    fn known_names_have_their_numbers() {
        for (number, name) in FUNCTIONS.iter().chain(&OTHERS).enumerate() {
            let text = CString::new(*name).unwrap();
            assert_eq!(
                (
                    NcclName::of(Some(text.as_c_str())).bits() as usize,
                    NcclName::of(Some(text.as_c_str())).text().as_str()
                ),
                (number + 1, *name)
            );
        }
        assert!((0..FUNCTIONS.len()).all(|index| NcclName::of_function(index).function() == Some(index)));
        assert_eq!(NcclName::of(Some(c"AllReduce")).function(), Some(0));
        assert_eq!(NcclName::of(Some(c"Recv")).text(), "Recv");
        assert_eq!(NcclName::of(Some(c"LL128")).text(), "LL128");
        assert_eq!(NcclName::of(Some(c"LL128")).function(), None);
    }

    #[test]
    fn names_that_differ_in_one_byte_are_others() {
        for name in FUNCTIONS.iter().chain(&OTHERS) {
            for place in 0..name.len() {
                let mut other = name.as_bytes().to_vec();
                other[place] ^= 1;
                let other = CString::new(other).unwrap();
                assert_eq!(KNOWN.number(CText::from(other.as_c_str())), None, "{name} at {place}");
            }
        }
    }

    #[test]
    fn missing_odd_and_too_many_names_are_survived() {
        assert_eq!(NcclName::default().text(), UNKNOWN);
        let long = NcclName::of(Some(c"AFunctionWithANameThatIsLongerThanSixtyThreeBytesWhichNoneOfNcclIs"));
        assert_eq!(long.text(), "AFunctionWithANameThatIsLongerThanSixtyThreeBytesWhichNoneOfNcc");
        assert_eq!(NcclName::of(Some(c"\xff!")).text(), "\u{fffd}!");
        let names: Vec<_> = (0..100).map(|n| CString::new(format!("new{n}")).unwrap()).collect();
        let numbers: Vec<NcclName> = names.iter().map(|name| NcclName::of(Some(name.as_c_str()))).collect();
        assert_eq!(numbers[0].text(), "new0");
        assert_eq!(NcclName::of(Some(names[0].as_c_str())), numbers[0]);
        assert_eq!(numbers[99].text(), UNKNOWN);
    }
}
