//! The roll call: finds out whether every process of the run takes part in the communication.
//!
//! No process may use Score-P's communication unless all do: a process that calls it alone waits forever, or disturbs
//! Score-P's own messages.
//!
//! The processes agree through files. The first process creates a roll that begins with a random number for the run.
//! Each process enters a random number of its own, or that it takes no part. The verdict is a symbolic link, which any
//! file system creates only once and together with its content. The first process creates it when all processes have
//! entered or its patience ends. Another process creates it if it has waited for it in vain. A verdict of an earlier
//! run has no effect: its name and content belong to another roll.
//!
//! A process that has entered must obey the verdict. So it keeps looking for the verdict whatever file operation fails.

use common::files::{self, NewFile};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// File into which all processes enter their numbers: 8 bytes for the run, then 8 bytes for each process.
const ROLL: &str = "roll";
/// Bytes of a number.
const WIDTH: usize = 8;
/// Number of a process that takes no part. The number of a process that takes part is odd; 0 means not entered yet.
const DECLINES: u64 = 2;
/// Shortest and longest pause between two looks at the files.
const FIRST_LOOK: Duration = Duration::from_millis(2);
const LONGEST_LOOK: Duration = Duration::from_millis(100);
/// Tries to create or read a verdict, before the directory is taken for lost: a minute.
const MOST_TRIES: u32 = 600;
/// Content of the verdict that not all processes take part.
const SOME: &str = "some";

/// What a verdict says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RollCallVerdict {
    /// All processes take part.
    All,
    /// Not all processes take part.
    Some,
    /// The verdict is on another roll, without this process's number: an earlier run's.
    OfOthers,
}

/// A process of the run in the roll call.
#[derive(Debug)]
pub(crate) struct RollCall<'a> {
    directory: &'a Path,
    rank: usize,
    size: usize,
    number: u64,
}

impl<'a> RollCall<'a> {
    /// Creates a process of the roll call in `directory`, which the first process creates.
    pub(crate) fn new(directory: &'a Path, rank: usize, size: usize, takes_part: bool) -> Self {
        Self { directory, rank, size, number: if takes_part { files::random() | 1 } else { DECLINES } }
    }

    /// Returns true in every process, or false in every process that has loaded the plugin.
    ///
    /// # Errors
    /// If this process cannot enter its number; the other processes then find that it is missing.
    pub(crate) fn all_take_part(&self, patience: Duration) -> io::Result<bool> {
        let deadline = Instant::now() + patience;
        if self.rank == 0 { self.call(deadline) } else { self.answer(deadline + patience / 2) }
    }

    /// Creates the roll in the first process, waits for all numbers, and decides.
    fn call(&self, deadline: Instant) -> io::Result<bool> {
        files::make_own(self.directory)?;
        let mut roll = vec![0; WIDTH * (self.size + 1)];
        roll[..WIDTH].copy_from_slice(&files::random().to_le_bytes());
        roll[WIDTH..2 * WIDTH].copy_from_slice(&self.number.to_le_bytes());
        // appears complete, and replaces the roll of an earlier run
        let mut file = NewFile::beside(&self.directory.join(ROLL))?;
        file.write_all(&roll)?;
        file.appear()?;
        let mut look = FIRST_LOOK;
        loop {
            if let Ok(now) = self.read() {
                roll = now;
            }
            let all = numbers(&roll).all(|number| number % 2 == 1);
            let declined = numbers(&roll).any(|number| number == DECLINES);
            if all || declined || Instant::now() >= deadline {
                let verdict = if all { everybody(&roll) } else { SOME.to_owned() };
                return Ok(self.decide(&roll, &verdict));
            }
            pause(&mut look);
        }
    }

    /// Enters the number in a process other than the first, once there is a roll, and waits for the verdict.
    fn answer(&self, deadline: Instant) -> io::Result<bool> {
        let mut look = FIRST_LOOK;
        let mut entered = None;
        loop {
            pause(&mut look);
            let outcome = self.enter();
            entered = outcome.as_ref().ok().copied().or(entered);
            match (outcome, entered) {
                // once it has entered, the other processes may rely on this one: no error ends the loop
                (_, Some(run)) => {
                    match self.said(run) {
                        Some(RollCallVerdict::All) => return Ok(true),
                        Some(RollCallVerdict::Some) => return Ok(false),
                        // the roll of this run may still appear
                        Some(RollCallVerdict::OfOthers) | None => {}
                    }
                    if Instant::now() >= deadline {
                        return Ok(self.decide(&run.to_le_bytes(), SOME));
                    }
                }
                (Err(error), None) if error.kind() == io::ErrorKind::NotFound && Instant::now() < deadline => {
                    self.look_anew()
                }
                (Err(error), None) => return Err(error),
                (Ok(_), None) => {}
            }
        }
    }

    /// Opens the directories, so that a network file system forgets that the roll did not exist.
    fn look_anew(&self) {
        for directory in self.directory.ancestors().take(3) {
            let _ = File::open(directory);
        }
    }

    /// Enters the number unless the roll has it, and returns the run's number. Each call opens the file again, since
    /// only then a network file system shows what other processes have written and closed.
    fn enter(&self) -> io::Result<u64> {
        let file = files::open(&self.directory.join(ROLL), true)?;
        if file.metadata()?.len() != (WIDTH * (self.size + 1)) as u64 {
            // the roll of an earlier run
            return Err(io::ErrorKind::NotFound.into());
        }
        let (mut run, mut own) = ([0; WIDTH], [0; WIDTH]);
        let place = (WIDTH * (self.rank + 1)) as u64;
        file.read_exact_at(&mut run, 0)?;
        file.read_exact_at(&mut own, place)?;
        if own != self.number.to_le_bytes() {
            file.write_all_at(&self.number.to_le_bytes(), place)?;
        }
        Ok(u64::from_le_bytes(run))
    }

    /// Reads the roll.
    fn read(&self) -> io::Result<Vec<u8>> {
        let mut roll = vec![0; WIDTH * (self.size + 1)];
        files::open(&self.directory.join(ROLL), false)?.read_exact_at(&mut roll, 0)?;
        Ok(roll)
    }

    /// Returns the path of the verdict on a run.
    fn verdict(&self, run: u64) -> PathBuf {
        self.directory.join(format!("verdict-{run:016x}"))
    }

    /// Reads the verdict; `None` if it cannot be read.
    fn said(&self, run: u64) -> Option<RollCallVerdict> {
        Some(match std::fs::read_link(self.verdict(run)).ok()?.to_str()? {
            SOME => RollCallVerdict::Some,
            all if all == everybody(&self.read().ok()?) => RollCallVerdict::All,
            _ => RollCallVerdict::OfOthers,
        })
    }

    /// Creates the verdict, or accepts the one that another process has created. Tries again whatever fails meanwhile,
    /// since the verdict must be known.
    fn decide(&self, roll: &[u8], verdict: &str) -> bool {
        let run = number(&roll[..WIDTH]);
        let mut look = FIRST_LOOK;
        for _ in 0..MOST_TRIES {
            if symlink(verdict, self.verdict(run)).is_ok() {
                return verdict != SOME;
            }
            if let Some(said) = self.said(run) {
                return said == RollCallVerdict::All;
            }
            pause(&mut look);
        }
        // the directory is gone, and the run with it
        false
    }

    /// Removes the files, when no process needs them any more.
    pub(crate) fn clear(directory: &Path) {
        let Ok(entries) = directory.read_dir() else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if NewFile::whole(&name).unwrap_or(&name) == ROLL || name.starts_with("verdict-") {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

/// Returns the verdict that all processes take part. It contains a hash of the roll (FNV-1a), which identifies the
/// processes.
fn everybody(roll: &[u8]) -> String {
    let hash = roll
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    format!("all-{hash:016x}")
}

/// Returns the processes' numbers.
fn numbers(roll: &[u8]) -> impl Iterator<Item = u64> {
    roll[WIDTH..].chunks_exact(WIDTH).map(number)
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn pause(look: &mut Duration) {
    common::pause::pause(*look);
    *look = (*look * 2).min(LONGEST_LOOK);
}

#[cfg(test)]
mod tests;
