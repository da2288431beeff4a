//! Sizes of NCCL's data types, by the names NCCL gives them.

use std::ffi::CStr;

/// Size in bytes of an element of the named type, or `None` for a name that no NCCL so far has used.
///
/// NCCL passes names such as `ncclFloat32`. From 2.23 to 2.32 these are the types of nccl.h; types of the same size
/// have the same answer, so what counts is the number in the name, or the few names without one.
#[inline]
pub fn element_bytes(name: Option<&CStr>) -> Option<u64> {
    let name = name?.to_bytes();
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
        assert_eq!(element_bytes(None), None);
        assert_eq!(element_bytes(Some(c"Unknown")), None);
        assert_eq!(element_bytes(Some(c"")), None);
    }
}
