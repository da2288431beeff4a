//! Whether a process lives, as this host's system says.

use common::status::Status;
use common::{birth, host_name};
use std::fs;

/// Field 52 of /proc/PID/stat, counted from the first one behind the program's name: status and signal of the end.
const EXIT_CODE: usize = 49;

/// What the system says of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    /// It is there.
    Runs,
    /// A signal or a debugger has stopped it.
    Stopped,
    /// It has ended, and its parent has not noticed.
    Zombie,
    /// This host has no such process.
    Gone,
    /// It has ended by itself, without a word to the library, or may have: it was forked, and left by `_exit`.
    Left,
    /// It belongs to another host.
    Elsewhere,
}

/// This host, whose processes can be looked up.
pub(crate) struct OwnHost {
    host: String,
    boot: Option<String>,
}

impl OwnHost {
    pub(crate) fn own() -> Self {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
        let host = String::from_utf8_lossy(&host_name::of_machine()).into_owned();
        Self { host, boot: boot.map(|boot| boot.trim().to_owned()) }
    }

    /// Returns what this host's system says of a process.
    pub(crate) fn life(&self, status: &Status) -> Life {
        let origin = &status.origin;
        if origin.host.as_ref() != Some(&self.host) {
            return Life::Elsewhere;
        }
        if origin.boot.is_some() && self.boot.is_some() && origin.boot != self.boot {
            // a boot ends all processes, but hosts of one name may be several
            return Life::Elsewhere;
        }
        let stat = fs::read_to_string(format!("/proc/{}/stat", status.pid)).unwrap_or_default();
        match of_stat(&stat, status.born) {
            Life::Gone if status.forked => Life::Left,
            life => life,
        }
    }
}

/// Returns the life from the text of /proc/PID/stat. A process that was born at another time has only the same id.
fn of_stat(stat: &str, born: Option<u64>) -> Life {
    let Some(fields) = birth::fields(stat) else { return Life::Gone };
    if born.is_some() && born != birth::of_stat(stat) {
        return Life::Gone;
    }
    match fields.clone().next() {
        Some("T" | "t") => Life::Stopped,
        Some("Z" | "X") if fields.clone().nth(EXIT_CODE) == Some("0") => Life::Left,
        Some("Z" | "X") => Life::Zombie,
        _ => Life::Runs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::origin::Origin;

    const STAT: &str = "42 (a (b) c) T 1 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 7777 2 3";

    #[test]
    fn a_process_is_known_by_its_birth() {
        assert_eq!(of_stat(STAT, Some(7777)), Life::Stopped);
        assert_eq!(of_stat(STAT, None), Life::Stopped);
        assert_eq!(of_stat(STAT, Some(7778)), Life::Gone);
        assert_eq!(of_stat(&STAT.replace(" T ", " Z "), Some(7777)), Life::Zombie);
        assert_eq!(of_stat(&STAT.replace(" T ", " D "), Some(7777)), Life::Runs);
        assert_eq!(of_stat("", None), Life::Gone);
    }

    #[test]
    fn a_process_that_has_left_by_itself_is_not_taken_for_killed() {
        let ended = |code: &str| {
            let rest = vec!["0"; 27].join(" ");
            of_stat(&format!("{} {rest} {code}", STAT.replace(" T ", " Z ")), Some(7777))
        };
        assert_eq!((ended("0"), ended("9"), ended("256")), (Life::Left, Life::Zombie, Life::Zombie));
        let gone = |forked| {
            OwnHost::own().life(&Status {
                pid: u32::MAX,
                forked,
                origin: Origin { host: Some(OwnHost::own().host), ..Origin::default() },
                ..Status::default()
            })
        };
        assert_eq!((gone(false), gone(true)), (Life::Gone, Life::Left));
    }

    #[test]
    fn another_host_or_boot_is_elsewhere() {
        let own = OwnHost::own();
        let of = |host: &str, boot: Option<&String>| {
            let origin = Origin { host: Some(host.into()), boot: boot.cloned(), ..Origin::default() };
            own.life(&Status { pid: std::process::id(), origin, ..Status::default() })
        };
        assert_eq!(of(&own.host, own.boot.as_ref()), Life::Runs);
        assert_eq!(of(&own.host, Some(&"another".into())), Life::Elsewhere);
        assert_eq!(of("another", own.boot.as_ref()), Life::Elsewhere);
    }
}
