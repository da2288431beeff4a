//! Whether every process of the run has loaded this plugin, without which none of them may use Score-P's communication: one that calls
//! alone waits for ever, or breaks what Score-P itself sends.
//!
//! So the processes agree through files. The first one makes a roll with its own number in front, drawn at random; each enters a random
//! number of its own. The verdict is a symbolic link: made once, by whoever is first, whatever its content, on every file system. The
//! first process makes it when all have entered, or when its patience ends; another process when it waited in vain for that. What an
//! earlier run has left convinces nobody: its verdict was not made of the roll with the new number in it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// File that all enter their number in: 8 bytes for the run, then 8 bytes a process.
const ROLL: &str = "roll";
/// Bytes of a number.
const WIDTH: usize = 8;
/// First and longest time between two looks.
const FIRST_LOOK: Duration = Duration::from_millis(1);
const LONGEST_LOOK: Duration = Duration::from_millis(100);
/// What the verdict says when not all are there.
const SOME: &str = "some";

/// One process of the run, in front of the roll.
#[derive(Debug)]
pub(crate) struct RollCall<'a> {
    directory: &'a Path,
    rank: usize,
    size: usize,
    /// Its own number; never 0.
    number: u64,
}

impl<'a> RollCall<'a> {
    /// The roll is in that directory, which the first process makes.
    pub(crate) fn new(directory: &'a Path, rank: usize, size: usize) -> Self {
        Self { directory, rank, size, number: random() | 1 }
    }

    /// True in every process, or false in every process that has loaded the plugin.
    ///
    /// # Errors
    /// What cannot be read or written there; then the others will find that this process is missing.
    pub(crate) fn all_are_here(&self, patience: Duration) -> io::Result<bool> {
        let deadline = Instant::now() + patience;
        if self.rank == 0 { self.call(deadline) } else { self.answer(deadline + patience / 2) }
    }

    /// The first process: waits for all numbers, then makes the verdict.
    fn call(&self, deadline: Instant) -> io::Result<bool> {
        std::fs::create_dir_all(self.directory)?;
        let mut roll = vec![0; WIDTH * (self.size + 1)];
        roll[..WIDTH].copy_from_slice(&random().to_ne_bytes());
        roll[WIDTH..2 * WIDTH].copy_from_slice(&self.number.to_ne_bytes());
        // appears whole, in place of what an earlier run has left
        let part = self.directory.join("roll.part");
        std::fs::write(&part, &roll)?;
        std::fs::rename(&part, self.directory.join(ROLL))?;
        let mut look = FIRST_LOOK;
        loop {
            let roll = self.read()?;
            let all = numbers(&roll).all(|number| number != 0);
            if all || Instant::now() >= deadline {
                let verdict = if all { everybody(&roll) } else { SOME.to_owned() };
                return self.decide(&roll, &verdict);
            }
            pause(&mut look);
        }
    }

    /// Any other one: enters its number as soon as there is a roll, then waits for the verdict.
    fn answer(&self, deadline: Instant) -> io::Result<bool> {
        let mut look = FIRST_LOOK;
        loop {
            match self.enter() {
                Ok(roll) => {
                    let said = std::fs::read_link(self.verdict(&roll));
                    if let Some(all) = said.ok().and_then(|said| judge(&said, &roll)) {
                        return Ok(all);
                    }
                    if Instant::now() >= deadline {
                        return self.decide(&roll, SOME);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound && Instant::now() < deadline => {}
                Err(error) => return Err(error),
            }
            pause(&mut look);
        }
    }

    /// Enters the number, unless it is there already, and gives the roll.
    fn enter(&self) -> io::Result<Vec<u8>> {
        let roll = self.read()?;
        if numbers(&roll).nth(self.rank) == Some(self.number) {
            return Ok(roll);
        }
        let file = OpenOptions::new().write(true).open(self.directory.join(ROLL))?;
        file.write_all_at(&self.number.to_ne_bytes(), (WIDTH * (self.rank + 1)) as u64)?;
        drop(file);
        self.read()
    }

    /// The roll as it is now. Opened each time: a network file system shows then what others have closed.
    fn read(&self) -> io::Result<Vec<u8>> {
        let mut roll = vec![0; WIDTH * (self.size + 1)];
        match File::open(self.directory.join(ROLL))?.read_exact_at(&mut roll, 0) {
            // an earlier run had fewer processes
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(io::ErrorKind::NotFound.into()),
            Err(error) => Err(error),
            Ok(()) => Ok(roll),
        }
    }

    fn verdict(&self, roll: &[u8]) -> PathBuf {
        self.directory.join(format!("verdict-{:016x}", number(&roll[..WIDTH])))
    }

    /// Makes the verdict, or accepts what another process has made before.
    fn decide(&self, roll: &[u8], verdict: &str) -> io::Result<bool> {
        let path = self.verdict(roll);
        match symlink(verdict, &path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        let said = std::fs::read_link(&path)?;
        Ok(judge(&said, roll).unwrap_or(false))
    }

    /// Removes the files, when nobody needs them any more.
    pub(crate) fn clear(directory: &Path) {
        let Ok(entries) = directory.read_dir() else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name == ROLL || name.starts_with("verdict-") {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

/// What a verdict says of this roll; `None` when it was made of another one.
fn judge(said: &Path, roll: &[u8]) -> Option<bool> {
    match said.to_str()? {
        SOME => Some(false),
        all => (all == everybody(roll)).then_some(true),
    }
}

/// The verdict that all are here, which tells of whom (FNV-1a over the roll).
fn everybody(roll: &[u8]) -> String {
    let hash =
        roll.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    format!("all-{hash:016x}")
}

/// The processes' numbers; 0 for one that has not entered.
fn numbers(roll: &[u8]) -> impl Iterator<Item = u64> {
    roll[WIDTH..].chunks_exact(WIDTH).map(number)
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn pause(look: &mut Duration) {
    std::thread::sleep(*look);
    *look = (*look * 2).min(LONGEST_LOOK);
}

/// From the standard library's own source of randomness.
fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the processes of a run find that have loaded the plugin.
    fn run(directory: &Path, ranks: &[usize], size: usize, patience: Duration) -> Vec<bool> {
        std::thread::scope(|scope| {
            let processes: Vec<_> = ranks
                .iter()
                .map(|&rank| scope.spawn(move || RollCall::new(directory, rank, size).all_are_here(patience).unwrap_or(false)))
                .collect();
            processes.into_iter().map(|process| process.join().unwrap()).collect()
        })
    }

    fn directory() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(200);

    #[test]
    fn all_find_that_all_are_here() {
        let directory = directory();
        for size in [2, 17, 5] {
            let ranks: Vec<usize> = (0..size).collect();
            assert_eq!(run(directory.path(), &ranks, size, LONG), vec![true; size], "an earlier run has left its files");
        }
        RollCall::clear(directory.path());
        assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn all_find_that_one_is_missing() {
        let directory = directory();
        assert_eq!(run(directory.path(), &[0, 1, 3], 4, SHORT), [false; 3]);
        assert_eq!(run(directory.path(), &[1, 2, 3], 4, SHORT), [false; 3], "the first one");
        assert_eq!(run(&directory.path().join("new"), &[1, 2], 3, SHORT), [false; 2], "the first one, and no directory");
    }

    #[test]
    fn what_a_killed_run_has_left_convinces_nobody() {
        let directory = directory();
        assert_eq!(run(directory.path(), &[0, 1, 2], 3, LONG), [true; 3]);
        // the first process is not there any more
        assert_eq!(run(directory.path(), &[1, 2], 3, SHORT), [false; 2]);
    }

    #[test]
    fn a_verdict_holds_whoever_made_it() {
        let directory = directory();
        let path = directory.path();
        let first = RollCall::new(path, 0, 2);
        std::thread::scope(|scope| {
            let caller = scope.spawn(|| first.all_are_here(LONG).unwrap());
            // a process that has lost its patience decides before the one that comes too late
            while !path.join(ROLL).exists() {
                std::thread::yield_now();
            }
            let late = RollCall::new(path, 1, 2);
            let roll = late.read().unwrap();
            assert!(!late.decide(&roll, SOME).unwrap());
            late.enter().unwrap();
            assert!(!caller.join().unwrap());
        });
    }
}
