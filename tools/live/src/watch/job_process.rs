//! The process of a job that a watch is beside, and ends with.

use common::birth;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::str::FromStr;

/// Field 20 of /proc/PID/stat, counted from the first one behind the program's name: threads.
const THREADS: usize = 17;

/// A process, by its id and its start: a later process of the same id is another one. As text, `PID.START`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobProcess {
    pub(super) pid: u32,
    /// Clock ticks since boot.
    born: u64,
}

impl JobProcess {
    /// Returns this process, and that which `exec` makes of it. `None` where /proc does not have it, or is that of
    /// another namespace of process ids.
    pub fn own() -> Option<Self> {
        let pid = std::process::id();
        let born = birth::own()?;
        let of_pid = fs::read_to_string(stat(pid)).ok()?;
        (birth::of_stat(&of_pid) == Some(born)).then_some(Self { pid, born })
    }

    /// Returns whether the process has ended, or is about to be waited for. Where the system does not say, it has not.
    pub(super) fn has_ended(self) -> bool {
        match fs::read_to_string(stat(self.pid)) {
            Ok(stat) => self.has_ended_by(&stat),
            // the file may vanish while it is read
            Err(error) => error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH),
        }
    }

    fn has_ended_by(self, stat: &str) -> bool {
        let Some(mut fields) = birth::fields(stat) else { return false };
        let is_zombie = matches!(fields.clone().next(), Some("Z" | "X"));
        // a process whose first thread has ended alone is no zombie, although it looks so
        let is_alone = fields.nth(THREADS).and_then(|threads| threads.parse().ok()).is_none_or(|count: u64| count <= 1);
        is_zombie && is_alone || birth::of_stat(stat) != Some(self.born)
    }
}

fn stat(pid: u32) -> String {
    format!("/proc/{pid}/stat")
}

impl fmt::Display for JobProcess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.pid, self.born)
    }
}

impl FromStr for JobProcess {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('.').and_then(|(pid, born)| Some((pid.parse().ok()?, born.parse().ok()?)));
        parsed.map(|(pid, born)| Self { pid, born }).ok_or_else(|| "not a process, as PID.START".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_ends_once_whoever_has_its_id_then() {
        let own = JobProcess::own().unwrap();
        assert!(!own.has_ended());
        assert_eq!(own.to_string().parse(), Ok(own));
        assert!(JobProcess { born: own.born + 1, ..own }.has_ended());
        // no process has the largest id
        assert!(JobProcess { pid: i32::MAX.unsigned_abs(), born: 7 }.has_ended());
        for text in ["", "7", "7.", "7.x", "-7.7"] {
            assert!(text.parse::<JobProcess>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_zombie_has_ended_unless_threads_of_it_run() {
        let of = |state: &str, threads: u64| {
            let stat = format!("42 (a (b) c) {state} 1 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 {threads} 0 7777 2 3");
            JobProcess { pid: 42, born: 7777 }.has_ended_by(&stat)
        };
        assert_eq!([of("R", 1), of("T", 9), of("Z", 1), of("Z", 2), of("X", 0)], [false, false, true, false, true]);
    }
}
