//! Names that NCCL gives as strings (functions, algorithms, protocols) as small numbers.
//!
//! The names known beforehand have fixed numbers; a name never seen before is kept once, in a table of limited size,
//! without a lock. NCCL's strings are never trusted to be anything: NULL and overlong ones have a number too.

use crate::event::text::{Text, Words};
use std::ffi::CStr;
use std::sync::OnceLock;

/// The functions NCCL reports. Each has its own counters.
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
/// What a missing name, or one that found no room, is called.
pub const UNKNOWN: &str = "unknown";
const ROOM: usize = 64;
const LENGTH: usize = 64;

/// The names known beforehand: what has the number 1 comes first.
static KNOWN: Words<{ FUNCTIONS.len() + OTHERS.len() }> = Words::new(KNOWN_TEXTS);
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
pub struct Name(u8);

impl Name {
    /// The number of a name. Names longer than 63 bytes are cut.
    #[inline(always)]
    pub fn of<'a>(name: Option<impl Into<Text<'a>>>) -> Self {
        let Some(name) = name else { return Self::default() };
        let name = name.into();
        match KNOWN.number(name) {
            Some(number) => Self(number as u8 + 1),
            None => Self::remember(name.c_str().to_bytes()),
        }
    }

    #[cold]
    fn remember(name: &[u8]) -> Self {
        let mut kept = [0; LENGTH];
        let length = name.len().min(LENGTH - 1);
        kept[..length].copy_from_slice(&name[..length]);
        // taken by this name, or the same name is there
        let found = SEEN.iter().position(|place| *place.get_or_init(|| kept) == kept);
        found.map_or(Self::default(), |index| Self((KNOWN_TEXTS.len() + 1 + index) as u8))
    }

    /// That of [`FUNCTIONS`] which has this index.
    pub(crate) const fn of_function(index: usize) -> Self {
        Self(index as u8 + 1)
    }

    /// [`UNKNOWN`].
    pub const fn none() -> Self {
        Self(0)
    }

    /// As it was written into a slot.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// Read back from a slot.
    pub fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// The name's text; bytes that are not UTF-8 are replaced.
    pub fn text(self) -> String {
        let Some(index) = usize::from(self.0).checked_sub(1) else { return UNKNOWN.into() };
        if let Some(known) = KNOWN_TEXTS.get(index) {
            return (*known).into();
        }
        let kept = SEEN.get(index - KNOWN_TEXTS.len()).and_then(OnceLock::get);
        let text = kept.and_then(|bytes| CStr::from_bytes_until_nul(bytes).ok());
        text.map_or_else(|| UNKNOWN.into(), |text| text.to_string_lossy().into_owned())
    }

    /// Whether it is an algorithm whose kernel the GPU's stamps time: RING or PAT. They are taken by thread 0 of each
    /// block, which works as long as all others there. By TREE it leaves up to 96 % earlier (docs/presets.md has the
    /// measurement); of all others nothing is known.
    pub fn is_believed(self) -> bool {
        usize::from(self.0)
            .checked_sub(1)
            .and_then(|index| KNOWN_TEXTS.get(index))
            .is_some_and(|name| matches!(*name, "RING" | "PAT"))
    }

    /// Whether it is the function of ncclBroadcast.
    pub fn is_broadcast(self) -> bool {
        self.function().is_some_and(|index| FUNCTIONS[index] == "Broadcast")
    }

    /// Index into [`FUNCTIONS`].
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
                (Name::of(Some(text.as_c_str())).bits() as usize, Name::of(Some(text.as_c_str())).text().as_str()),
                (number + 1, *name)
            );
        }
        assert!((0..FUNCTIONS.len()).all(|index| Name::of_function(index).function() == Some(index)));
        assert_eq!(Name::of(Some(c"AllReduce")).function(), Some(0));
        assert_eq!(Name::of(Some(c"Recv")).text(), "Recv");
        assert_eq!(Name::of(Some(c"LL128")).text(), "LL128");
        assert_eq!(Name::of(Some(c"LL128")).function(), None);
    }

    #[test]
    fn names_that_differ_in_one_byte_are_others() {
        for name in FUNCTIONS.iter().chain(&OTHERS) {
            for place in 0..name.len() {
                let mut other = name.as_bytes().to_vec();
                other[place] ^= 1;
                let other = CString::new(other).unwrap();
                assert_eq!(KNOWN.number(Text::from(other.as_c_str())), None, "{name} at {place}");
            }
        }
    }

    #[test]
    fn missing_odd_and_too_many_names_are_survived() {
        assert_eq!(Name::default().text(), UNKNOWN);
        let long = Name::of(Some(c"AFunctionWithANameThatIsLongerThanSixtyThreeBytesWhichNoneOfNcclIs"));
        assert_eq!(long.text(), "AFunctionWithANameThatIsLongerThanSixtyThreeBytesWhichNoneOfNcc");
        assert_eq!(Name::of(Some(c"\xff!")).text(), "\u{fffd}!");
        let names: Vec<_> = (0..100).map(|n| CString::new(format!("new{n}")).unwrap()).collect();
        let numbers: Vec<Name> = names.iter().map(|name| Name::of(Some(name.as_c_str()))).collect();
        assert_eq!(numbers[0].text(), "new0");
        assert_eq!(Name::of(Some(names[0].as_c_str())), numbers[0]);
        assert_eq!(numbers[99].text(), UNKNOWN);
    }
}
