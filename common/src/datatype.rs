//! Sizes of NCCL's data types, by the names NCCL gives them.

use crate::text::{Text, Words};

/// The names that NCCL gives its types, those of one byte first.
static NAMES: Words<12> = Words::new([
    "ncclInt8",
    "ncclUint8",
    "ncclFloat8e4m3",
    "ncclFloat8e5m2",
    "ncclFloat16",
    "ncclBfloat16",
    "ncclInt32",
    "ncclUint32",
    "ncclFloat32",
    "ncclInt64",
    "ncclUint64",
    "ncclFloat64",
]);
const BYTES: [u8; 12] = [1, 1, 1, 1, 2, 2, 4, 4, 4, 8, 8, 8];

/// Size in bytes of an element of the named type, or `None` for a name that no NCCL so far has used.
///
/// NCCL passes names such as `ncclFloat32`. From 2.23 to 2.32 these are the types of nccl.h; types of the same size
/// have the same answer, so what counts is the number in the name, or the few names without one.
#[inline(always)]
pub fn element_bytes<'a>(name: Option<impl Into<Text<'a>>>) -> Option<u64> {
    let name = name?.into();
    match name.word().and_then(|word| NAMES.number(word)) {
        Some(number) => Some(u64::from(BYTES[number])),
        None => by_another_name(name.c_str().to_bytes()),
    }
}

/// Types as nccl.h names them besides, with or without what all names begin with.
#[cold]
fn by_another_name(name: &[u8]) -> Option<u64> {
    let name = name.strip_prefix(b"nccl").unwrap_or(name);
    Some(match name {
        b"Int8" | b"Char" | b"Uint8" | b"Float8e4m3" | b"Float8e5m2" => 1,
        b"Float16" | b"Half" | b"Bfloat16" => 2,
        b"Int32" | b"Int" | b"Uint32" | b"Float32" | b"Float" => 4,
        b"Int64" | b"Uint64" | b"Float64" | b"Double" => 8,
        _ => return None,
    })
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
