//! The name of the machine.

use std::ffi::CStr;

/// Returns the machine's name as the system has it; `unknown` where it has none.
pub fn of_machine() -> Vec<u8> {
    let mut name = [0_u8; 256];
    // SAFETY: gethostname writes at most the length given; the last byte stays 0.
    let told = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) } == 0;
    CStr::from_bytes_until_nul(&name)
        .ok()
        .filter(|name| told && !name.is_empty())
        .map_or(&b"unknown"[..], CStr::to_bytes)
        .to_vec()
}
