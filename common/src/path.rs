//! Paths of settings.

use crate::host_name;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A path as a setting has it: `%p` becomes the process id, `%h` the host's name.
pub fn expand(path: &Path) -> PathBuf {
    let host = host_name::of_machine();
    let process = std::process::id().to_string();
    let (mut expanded, mut rest) = (Vec::new(), path.as_os_str().as_bytes());
    loop {
        let (part, behind): (&[u8], &[u8]) = match rest {
            [b'%', b'p', behind @ ..] => (process.as_bytes(), behind),
            [b'%', b'h', behind @ ..] => (&host, behind),
            [_, behind @ ..] => (&rest[..1], behind),
            [] => return OsString::from_vec(expanded).into(),
        };
        expanded.extend_from_slice(part);
        rest = behind;
    }
}
