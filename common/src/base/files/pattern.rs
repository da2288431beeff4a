//! Paths as settings have them: what stands in them for the process.

use crate::base::host_name;
use crate::base::rank;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A path as a setting has it: `%p` becomes the process id, `%h` the host's name, `%r` the rank that the launcher has
/// told this process, `pid` and the process id where none has: never the rank of another process.
pub fn expand(path: &Path) -> PathBuf {
    expand_of(path, std::process::id(), rank::rank())
}

/// Whether the path is another one for each process of a job, on one machine at least: rank or process id are in it.
pub fn is_one_for_each_process(path: &Path) -> bool {
    holds(path, PROCESS) || holds(path, RANK)
}

/// What stands for the process id in a path.
pub const PROCESS: &[u8] = b"%p";
/// What stands for the host's name.
pub const HOST: &[u8] = b"%h";
/// What stands for the rank.
pub const RANK: &[u8] = b"%r";

/// Whether one of these is in the path.
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
