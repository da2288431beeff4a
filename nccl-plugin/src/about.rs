//! Version and features of this library.

use std::ffi::{CStr, c_char};

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};

/// Returns the version of this library, a constant string. `scorep-nccl doctor` recognises the library by this
/// function.
#[unsafe(no_mangle)]
pub extern "C" fn scorep_nccl_version() -> *const c_char {
    VERSION.as_ptr()
}

/// Optional features that the library was built with, by cargo's names.
const FEATURES: &CStr = if cfg!(feature = "otel") { c"otel" } else { c"" };

/// Returns the optional features that this library was built with, a constant string of words: `otel`.
#[unsafe(no_mangle)]
pub extern "C" fn scorep_nccl_features() -> *const c_char {
    FEATURES.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_its_version() {
        assert_eq!(VERSION.to_str(), Ok(env!("CARGO_PKG_VERSION")));
    }
}
