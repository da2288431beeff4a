//! Sizes of NCCL's data types, by NCCL's names for them.

use crate::event::text::{Text, Words};

/// The types of nccl.h under all their names, with the size of an element in bytes.
const TYPES: [(&str, u8); 17] = [
    ("ncclInt8", 1),
    ("ncclChar", 1),
    ("ncclUint8", 1),
    ("ncclFloat8e4m3", 1),
    ("ncclFloat8e5m2", 1),
    ("ncclFloat16", 2),
    ("ncclHalf", 2),
    ("ncclBfloat16", 2),
    ("ncclInt32", 4),
    ("ncclInt", 4),
    ("ncclUint32", 4),
    ("ncclFloat32", 4),
    ("ncclFloat", 4),
    ("ncclInt64", 8),
    ("ncclUint64", 8),
    ("ncclFloat64", 8),
    ("ncclDouble", 8),
];

/// The sizes, to be looked up by name.
static SIZES: Words = Words::new(TYPES);

/// Returns the size in bytes of an element of the named type, or `None` for a name that no NCCL so far has used.
///
/// NCCL passes names such as `ncclFloat32`; from 2.23 to 2.32 they are the names of the types of nccl.h.
#[inline(always)]
pub(crate) fn element_bytes<'a>(name: Option<impl Into<Text<'a>>>) -> Option<u64> {
    let name = name?.into();
    match SIZES.number(name) {
        Some(bytes) => Some(bytes.into()),
        None => without_prefix(name.c_str().to_bytes()),
    }
}

/// Looks the name up without the common prefix `nccl`.
#[cold]
fn without_prefix(name: &[u8]) -> Option<u64> {
    let (_, bytes) = TYPES.iter().find(|(known, _)| known.as_bytes().strip_prefix(b"nccl") == Some(name))?;
    Some(u64::from(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_nccl_h() {
        let sizes = [
            (c"ncclInt8", 1),
            (c"ncclUint8", 1),
            (c"ncclInt32", 4),
            (c"ncclUint32", 4),
            (c"ncclInt64", 8),
            (c"ncclUint64", 8),
            (c"ncclFloat16", 2),
            (c"ncclFloat32", 4),
            (c"ncclFloat64", 8),
            (c"ncclBfloat16", 2),
            (c"ncclFloat8e4m3", 1),
            (c"ncclFloat8e5m2", 1),
        ];
        for (name, bytes) in sizes {
            assert_eq!(element_bytes(Some(name)), Some(bytes), "{name:?}");
        }
    }

    #[test]
    fn unknown_names_have_no_size() {
        assert_eq!(element_bytes(None::<Text>), None);
        assert_eq!(element_bytes(Some(c"Unknown")), None);
        assert_eq!(element_bytes(Some(c"")), None);
    }
}
