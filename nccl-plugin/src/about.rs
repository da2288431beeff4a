//! What this library says of itself.

use std::ffi::{CStr, c_char};

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};

/// The version of this library, a constant string. `scorep-nccl doctor` knows the library by it.
#[unsafe(no_mangle)]
pub extern "C" fn scorep_nccl_version() -> *const c_char {
    VERSION.as_ptr()
}

/// What it was built with besides, by the names of cargo's features.
const FEATURES: &CStr = match (cfg!(feature = "otel"), cfg!(feature = "otel-grpc")) {
    (_, true) => c"otel otel-grpc",
    (true, false) => c"otel",
    (false, false) => c"",
};

/// What this library was built with besides, a constant string of words: `otel`, `otel-grpc`.
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
