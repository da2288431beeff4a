//! Placeholders in the paths of settings.

use crate::base::host_name;
use crate::base::rank;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Replaces the placeholders of a path: `%p` by the process id, `%h` by the host's name, and `%r` by the rank that the
/// launcher gave this process. Without a rank, `%r` becomes `pid` and the process id, so it is never another process'
/// rank.
pub fn expand(path: &Path) -> PathBuf {
    expand_of(path, std::process::id(), rank::rank())
}

/// Returns whether the path differs for every process of a job, at least on one machine: it contains `%r` or `%p`.
pub fn is_one_for_each_process(path: &Path) -> bool {
    holds(path, PROCESS) || holds(path, RANK)
}

/// Placeholder of the process id.
pub const PROCESS: &[u8] = b"%p";
/// Placeholder of the host's name.
pub const HOST: &[u8] = b"%h";
/// Placeholder of the rank.
pub const RANK: &[u8] = b"%r";

/// Returns whether the path contains the placeholder.
pub fn holds(path: &Path, sign: &[u8]) -> bool {
    path.as_os_str().as_bytes().windows(sign.len()).any(|there| there == sign)
}

fn expand_of(path: &Path, process: u32, rank: Option<u32>) -> PathBuf {
    let host = host_name::of_machine();
    let process = process.to_string();
    let rank = rank.map_or_else(|| format!("pid{process}"), |rank| rank.to_string());
    let (mut expanded, mut rest) = (Vec::new(), path.as_os_str().as_bytes());
    loop {
        let (part, behind): (&[u8], &[u8]) = match rest {
            [b'%', b'p', behind @ ..] => (process.as_bytes(), behind),
            [b'%', b'r', behind @ ..] => (rank.as_bytes(), behind),
            [b'%', b'h', behind @ ..] => (&host, behind),
            [_, behind @ ..] => (&rest[..1], behind),
            [] => return OsString::from_vec(expanded).into(),
        };
        expanded.extend_from_slice(part);
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_nobody_has_told_is_none() {
        let of = |text: &str, rank| expand_of(Path::new(text), 7, rank).to_string_lossy().into_owned();
        assert_eq!(of("a.%r.%p%%q%", Some(3)), "a.3.7%%q%");
        assert_eq!(of("a.%r", None), "a.pid7");
        let host = String::from_utf8_lossy(&host_name::of_machine()).into_owned();
        assert_eq!(of("%h/%r", Some(0)), format!("{host}/0"));
        assert_eq!(
            ["a", "%h", "%p", "x%r.json"].map(|path| is_one_for_each_process(path.as_ref())),
            [false, false, true, true]
        );
    }
}
