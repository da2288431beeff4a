//! NCCL's data types by NCCL's names for them, as small numbers that have the size of an element in them.

use crate::event::text::{CText, WordTable};
use std::sync::atomic::{AtomicBool, Ordering};

/// The types of nccl.h, with the size of an element in bytes. Their order is of no meaning outside this process.
const TYPES: [(&str, u8); 12] = [
    ("ncclInt8", 1),
    ("ncclUint8", 1),
    ("ncclFloat8e4m3", 1),
    ("ncclFloat8e5m2", 1),
    ("ncclFloat16", 2),
    ("ncclBfloat16", 2),
    ("ncclInt32", 4),
    ("ncclUint32", 4),
    ("ncclFloat32", 4),
    ("ncclInt64", 8),
    ("ncclUint64", 8),
    ("ncclFloat64", 8),
];
/// The other names that nccl.h has for some of them, with their place among the types.
const ALIASES: [(&str, usize); 5] =
    [("ncclChar", 0), ("ncclHalf", 4), ("ncclInt", 6), ("ncclFloat", 8), ("ncclDouble", 11)];
/// What NCCL calls `ncclUint8`, the type of PyTorch's bytes and truth values: NCCL 2.23 to 2.32.3 has a name for
/// each type of its nccl.h except this one.
const UNNAMED: &str = "Unknown";
/// Its place among the types.
const UNNAMED_IS: usize = 1;
/// Set when a newer NCCL calls, which may have further types without a name.
static DOUBTED: AtomicBool = AtomicBool::new(false);
/// Number of bits for the size of an element in a [`Datatype`].
const SIZE_BITS: u32 = 4;
const SIZE_MASK: u8 = (1 << SIZE_BITS) - 1;
const _: () = assert!(TYPES.len() <= 1 << (u8::BITS - SIZE_BITS));

/// All names with the bits of their types.
const NAMES: [(&str, u8); TYPES.len() + ALIASES.len()] = {
    let mut names = [("", 0); TYPES.len() + ALIASES.len()];
    let mut next = 0;
    while next < names.len() {
        let (name, place) = if next < TYPES.len() { (TYPES[next].0, next) } else { ALIASES[next - TYPES.len()] };
        names[next] = (name, (place as u8) << SIZE_BITS | TYPES[place].1);
        next += 1;
    }
    names
};

/// The types' bits, to be looked up by name.
static BITS: WordTable = WordTable::new(NAMES);

/// Takes the type that NCCL has no name for as unknown from now on.
pub fn doubt_unnamed_type() {
    DOUBTED.store(true, Ordering::Relaxed);
}

/// Returns the name in nccl.h of the type that NCCL calls so.
pub fn type_name(name: &str) -> &str {
    if is_unnamed(name.as_bytes()) { TYPES[UNNAMED_IS].0 } else { name }
}

/// Returns whether NCCL calls the one type so that it has no name for.
fn is_unnamed(name: &[u8]) -> bool {
    name == UNNAMED.as_bytes() && !DOUBTED.load(Ordering::Relaxed)
}

/// The type of an operation's elements: its place among NCCL's types, and the size of an element. All bits are zero for
/// a type of which neither is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Datatype(u8);

impl Datatype {
    /// Returns the named type; the unknown one for a name that no NCCL so far has used.
    ///
    /// NCCL passes names such as `ncclFloat32`; from 2.23 to 2.32 they are the names of the types of nccl.h.
    #[inline(always)]
    pub(crate) fn of<'a>(name: Option<impl Into<CText<'a>>>) -> Self {
        let Some(name) = name else { return Self::default() };
        let name = name.into();
        match BITS.number(name) {
            Some(bits) => Self(bits),
            None => Self::of_other_name(name.c_str().to_bytes()),
        }
    }

    /// Takes the name as that of the type without a name, or looks it up without the common prefix `nccl`.
    #[cold]
    fn of_other_name(name: &[u8]) -> Self {
        if is_unnamed(name) {
            return Self(NAMES[UNNAMED_IS].1);
        }
        let found = NAMES.iter().find(|(known, _)| known.as_bytes().strip_prefix(b"nccl") == Some(name));
        Self(found.map_or(0, |(_, bits)| *bits))
    }

    /// Returns the size of an element in bytes; 0 for the unknown type.
    #[inline(always)]
    pub(crate) fn element_bytes(self) -> u64 {
        u64::from(self.0 & SIZE_MASK)
    }

    /// Returns the name in nccl.h, of several the most exact one; `None` for the unknown type.
    pub(crate) fn name(self) -> Option<&'static str> {
        let (name, bytes) = TYPES.get(usize::from(self.0 >> SIZE_BITS))?;
        (*bytes == self.0 & SIZE_MASK).then_some(*name)
    }

    /// Returns the bits as a slot stores them.
    #[inline(always)]
    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    /// Reads the bits back from a slot.
    pub(crate) fn from_bits(bits: u8) -> Self {
        Self(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    #[test]
    fn every_type_of_nccl_h() {
        let types = [
            ("ncclInt8", 1, "ncclInt8"),
            ("ncclChar", 1, "ncclInt8"),
            ("ncclUint8", 1, "ncclUint8"),
            ("ncclInt32", 4, "ncclInt32"),
            ("ncclInt", 4, "ncclInt32"),
            ("ncclUint32", 4, "ncclUint32"),
            ("ncclInt64", 8, "ncclInt64"),
            ("ncclUint64", 8, "ncclUint64"),
            ("ncclFloat16", 2, "ncclFloat16"),
            ("ncclHalf", 2, "ncclFloat16"),
            ("ncclFloat32", 4, "ncclFloat32"),
            ("ncclFloat", 4, "ncclFloat32"),
            ("ncclFloat64", 8, "ncclFloat64"),
            ("ncclDouble", 8, "ncclFloat64"),
            ("ncclBfloat16", 2, "ncclBfloat16"),
            ("ncclFloat8e4m3", 1, "ncclFloat8e4m3"),
            ("ncclFloat8e5m2", 1, "ncclFloat8e5m2"),
        ];
        for (name, bytes, known) in types {
            for text in [name, &name["nccl".len()..]] {
                let text = CString::new(text).unwrap();
                let found = Datatype::of(Some(text.as_c_str()));
                assert_eq!((found.element_bytes(), found.name()), (bytes, Some(known)), "{text:?}");
                assert_eq!(Datatype::from_bits(found.bits()), found);
            }
        }
    }

    #[test]
    fn the_type_without_a_name_is_uint8_unless_the_release_is_newer() {
        let found = || Datatype::of(Some(c"Unknown"));
        assert_eq!(
            (found().element_bytes(), found().name(), type_name("Unknown")),
            (1, Some("ncclUint8"), "ncclUint8")
        );
        doubt_unnamed_type();
        assert_eq!((found().element_bytes(), found().name(), type_name("Unknown")), (0, None, "Unknown"));
        DOUBTED.store(false, Ordering::Relaxed);
    }

    #[test]
    fn unknown_names_have_neither_size_nor_name() {
        for unknown in [None, Some(c"unknown"), Some(c""), Some(c"ncclFloat4e2m1")] {
            let found = Datatype::of(unknown);
            assert_eq!((found.element_bytes(), found.name(), found.bits()), (0, None, 0), "{unknown:?}");
        }
        // bits that no type has
        assert_eq!([0x02, 0xF1, 0xFF].map(|bits| Datatype::from_bits(bits).name()), [None; 3]);
    }
}
