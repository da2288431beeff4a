//! Looks at a directory, one after the other: each is compared with the one before.

use super::file::EarlierStatus;
use super::reading::{observed, read};
use super::{Life, ProgressCounts, StatusReading};
use common::origin::since_epoch;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Seconds for which a process that has not written counts as one that writes: a network file system shows files late.
const PATIENCE: f64 = 6.0;
/// Age of a status from which on its process does not count as one that writes, until it does.
const OLD: Duration = Duration::from_secs(60);

/// Looks at the status files of one directory.
pub(crate) struct StatusLooks {
    directory: PathBuf,
    before: BTreeMap<String, EarlierStatus>,
    /// Time at which each process was last seen to have written, seconds.
    written: BTreeMap<String, f64>,
}

impl StatusLooks {
    /// Begins without an earlier look.
    pub(crate) fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), before: BTreeMap::new(), written: BTreeMap::new() }
    }

    /// Reads the files once. `now` are seconds by a clock that does not jump. In a first look, all processes write and
    /// all has moved.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub(crate) fn look(&mut self, now: f64) -> io::Result<StatusReading> {
        let mut reading = observed(read(&self.directory)?, &self.before);
        let mut written = BTreeMap::new();
        for process in &mut reading.processes {
            let last = match self.written.get(&process.file) {
                // when its parent has noticed, it is not found any more, and is as dead
                _ if process.life == Life::Zombie => f64::NEG_INFINITY,
                Some(last) if !process.beats => *last,
                None if is_old(process.status.written) => f64::NEG_INFINITY,
                _ => now,
            };
            process.beats = now - last < PATIENCE;
            written.insert(process.file.clone(), last);
        }
        self.written = written;
        let earlier = reading.processes.iter().map(|process| {
            let communicators = process.status.communicators.iter().map(ProgressCounts::from).collect();
            (process.file.clone(), EarlierStatus { beat: process.status.beat, communicators })
        });
        self.before = earlier.collect();
        Ok(reading)
    }
}

/// Returns whether a status that is seen first is left over from an earlier run, or its host's clock is far behind.
fn is_old(written: u64) -> bool {
    since_epoch().saturating_sub(Duration::from_nanos(written)) > OLD
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::origin::Origin;
    use common::status::{ENDING, SCHEMA, Status};
    use common::{birth, host_name};
    use std::process::Command;

    #[test]
    fn a_process_is_silent_when_it_has_not_written_for_a_while() {
        let directory = tempfile::tempdir().unwrap();
        let write = |beat, written| {
            let status = Status { schema: SCHEMA.into(), beat, written, ..Status::default() };
            let text = serde_json::to_string(&status).unwrap();
            std::fs::write(directory.path().join(format!("a{ENDING}")), text).unwrap();
        };
        let mut looks = StatusLooks::new(directory.path());
        let mut beats = |now| looks.look(now).unwrap().processes[0].beats;
        write(1, 1);
        assert!(!beats(-2.0), "it is older than the watch");
        write(2, 2);
        assert_eq!([beats(0.0), beats(4.0), beats(7.0)], [true, true, false]);
        write(3, 3);
        assert_eq!([beats(9.0), beats(14.0), beats(16.0)], [true, true, false]);
    }

    #[test]
    fn a_process_that_was_killed_is_as_dead_when_its_parent_has_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let mut child = Command::new("false").spawn().unwrap();
        let host = String::from_utf8_lossy(&host_name::of_machine()).into_owned();
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let (pid, born) = (child.id(), birth::of_stat(&stat));
        let written = u64::MAX;
        let origin = Origin { host: Some(host), ..Origin::default() };
        let status = Status { schema: SCHEMA.into(), beat: 7, pid, born, written, origin, ..Status::default() };
        std::fs::write(directory.path().join(format!("a{ENDING}")), serde_json::to_string(&status).unwrap()).unwrap();
        let mut looks = StatusLooks::new(directory.path());
        let mut look = |now| {
            let process = looks.look(now).unwrap().processes.remove(0);
            (process.life, process.beats)
        };
        while look(0.0).0 != Life::Zombie {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert_eq!(look(1.0), (Life::Gone, false));
    }
}
