//! Names that NCCL gives as strings (functions, algorithms, protocols) as small numbers.
//!
//! The names known beforehand have fixed numbers; a name never seen before is kept once, in a table of limited size, without a
//! lock. NCCL's strings are never trusted to be anything: NULL and overlong ones have a number too.

use once_cell::sync::OnceCell;
use std::ffi::CStr;

/// The functions NCCL reports. Each has its own counters.
pub const FUNCTIONS: [&str; 10] =
    ["AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce", "Send", "Recv", "AlltoAll", "Gather", "Scatter"];
const OTHERS: [&str; 11] =
    ["TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT", "LL", "LL128", "SIMPLE", "AllGatherV"];
/// What a missing name, or one that found no room, is called.
pub const UNKNOWN: &str = "unknown";
const ROOM: usize = 64;
const LENGTH: usize = 64;

/// Of the known names, by number: how long it is, and its [`ends`]. Of [`UNKNOWN`], what no name has.
const KNOWN: [(usize, [u64; 2]); FUNCTIONS.len() + OTHERS.len() + 1] = {
    let mut table = [(usize::MAX, [0; 2]); FUNCTIONS.len() + OTHERS.len() + 1];
    let mut number = 1;
    while number < table.len() {
        let name = known(number - 1).as_bytes();
        assert!(name.len() >= 2 && name.len() <= 16, "the ends of a known name must hold all of it");
        table[number] = (name.len(), ends(name));
        number += 1;
    }
    table
};

/// The first and the last 8 bytes, of shorter names 4 or 2, as numbers: of two names of one length, up to 16, they are the same when the
/// names are. Compared with less ado than bytes in a loop.
#[inline(always)]
const fn ends(name: &[u8]) -> [u64; 2] {
    if let (Some(first), Some(last)) = (name.first_chunk(), name.last_chunk()) {
        return [u64::from_le_bytes(*first), u64::from_le_bytes(*last)];
    }
    if let (Some(first), Some(last)) = (name.first_chunk(), name.last_chunk()) {
        return [u32::from_le_bytes(*first) as u64, u32::from_le_bytes(*last) as u64];
    }
    match (name.first_chunk(), name.last_chunk()) {
        (Some(first), Some(last)) => [u16::from_le_bytes(*first) as u64, u16::from_le_bytes(*last) as u64],
        _ => [0; 2],
    }
}

/// Number of the name that has such a length, first and last byte, if it is one of those known beforehand.
const PLACES: [u8; 64] = {
    let mut places = [0; 64];
    let mut number = 0;
    while number < FUNCTIONS.len() + OTHERS.len() {
        let place = place_of(known(number).as_bytes());
        assert!(places[place] == 0, "two known names have one place: change what the place is worked out from");
        number += 1;
        places[place] = number as u8;
    }
    places
};

/// The known name of that number, less one.
const fn known(number: usize) -> &'static str {
    if number < FUNCTIONS.len() { FUNCTIONS[number] } else { OTHERS[number - FUNCTIONS.len()] }
}

/// Different for all known names; any number of others have the same.
const fn place_of(name: &[u8]) -> usize {
    match name {
        [first, .., last] => (name.len() + 8 * *first as usize + *last as usize) % 64,
        _ => 0,
    }
}

static SEEN: [OnceCell<[u8; LENGTH]>; ROOM] = [const { OnceCell::new() }; ROOM];

/// A name as a number; 0 is [`UNKNOWN`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Name(u8);

impl Name {
    /// The number of a name. Names longer than 63 bytes are cut.
    pub fn of(name: Option<&CStr>) -> Self {
        let Some(name) = name.map(CStr::to_bytes) else { return Self::default() };
        let number = PLACES[place_of(name)];
        let is_known = KNOWN[usize::from(number)] == (name.len(), ends(name));
        if is_known { Self(number) } else { Self::remember(name) }
    }

    #[cold]
    fn remember(name: &[u8]) -> Self {
        let mut kept = [0; LENGTH];
        let length = name.len().min(LENGTH - 1);
        kept[..length].copy_from_slice(&name[..length]);
        let base = FUNCTIONS.len() + OTHERS.len() + 1;
        // `try_insert` fails only where another name got there first
        let found = SEEN.iter().position(|place| match place.try_insert(kept) {
            Ok(_) => true,
            Err((there, _)) => *there == kept,
        });
        found.map_or(Self::default(), |index| Self((base + index) as u8))
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
        if index < FUNCTIONS.len() + OTHERS.len() {
            return known(index).into();
        }
        let kept = SEEN.get(index - FUNCTIONS.len() - OTHERS.len()).and_then(OnceCell::get);
        let text = kept.and_then(|bytes| CStr::from_bytes_until_nul(bytes).ok());
        text.map_or_else(|| UNKNOWN.into(), |text| text.to_string_lossy().into_owned())
    }

    /// Index into [`FUNCTIONS`].
    pub fn function(self) -> Option<usize> {
        usize::from(self.0).checked_sub(1).filter(|&index| index < FUNCTIONS.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_have_their_numbers() {
        for (number, name) in FUNCTIONS.iter().chain(&OTHERS).enumerate() {
            let text = std::ffi::CString::new(*name).unwrap();
            assert_eq!((Name::of(Some(&text)).bits() as usize, Name::of(Some(&text)).text().as_str()), (number + 1, *name));
        }
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
                assert_ne!(ends(&other), ends(name.as_bytes()), "{name} at {place}");
            }
        }
    }

    #[test]
    fn missing_odd_and_too_many_names_are_survived() {
        assert_eq!(Name::of(None).text(), UNKNOWN);
        let long = Name::of(Some(c"AFunctionWithANameThatIsLongerThanSixtyThreeBytesWhichNoneOfNcclIs"));
        assert_eq!(long.text(), "AFunctionWithANameThatIsLongerThanSixtyThreeBytesWhichNoneOfNcc");
        assert_eq!(Name::of(Some(c"\xff!")).text(), "\u{fffd}!");
        let names: Vec<_> = (0..100).map(|n| std::ffi::CString::new(format!("new{n}")).unwrap()).collect();
        let numbers: Vec<Name> = names.iter().map(|name| Name::of(Some(name))).collect();
        assert_eq!(numbers[0].text(), "new0");
        assert_eq!(Name::of(Some(&names[0])), numbers[0]);
        assert_eq!(numbers[99].text(), UNKNOWN);
    }
}
