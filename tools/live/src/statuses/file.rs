//! One status file: whose it is, how much of it is read, and its texts, which may be anybody's.
//!
//! A directory may belong to many users. A file of another user than the job's says nothing of the job, and a file of the
//! job's user may be damaged: neither may cost memory without bound, or reach a terminal as it is.

use super::ProgressCounts;
use common::files::{self, Directory};
use common::status::Status;
use common::visible::visible;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Longest file that is read, bytes. The longest of the library's have a third of it.
const LONGEST: u64 = 4 << 20;
/// Most values in a file. The longest of the library's have half of them.
const MOST_VALUES: usize = 1 << 17;
/// Most memory for all files of a directory, bytes, as `weight` estimates it.
const MOST_MEMORY: usize = 1 << 30;
/// Memory of an object beside its text, bytes.
const OBJECT: usize = 256;
/// Letters of a foreign text in a message.
const SHOWN: usize = 200;

/// Why a file is left out.
#[derive(Debug)]
pub(super) enum LeftOut {
    /// It is gone by now: a process may remove its own file.
    Gone,
    /// It belongs to this user, who is not the job's.
    Foreign(u32),
    /// It cannot be read; in words.
    Unreadable(String),
}

/// The bounds of one reading of a directory.
pub(super) struct StatusBounds {
    /// The owner of the directory, where the tool runs as root: the job's user.
    owner: Option<u32>,
    /// Other users that were met, and whether the file system shows the caller's own files as theirs.
    met: Mutex<BTreeMap<u32, bool>>,
    memory: AtomicUsize,
}

impl StatusBounds {
    /// Begins a reading of a directory.
    pub(super) fn of(directory: &Directory) -> io::Result<Self> {
        let owner = directory.metadata()?.uid();
        let owner = files::is_own_user(0).then_some(owner);
        Ok(Self { owner, met: Mutex::default(), memory: AtomicUsize::new(0) })
    }

    /// Reads a file. No link is followed, and a FIFO does not hold this program up.
    pub(super) fn read<T: DeserializeOwned + Foreign>(&self, path: &Path) -> Result<T, LeftOut> {
        let text = self.bytes(path, LONGEST)?;
        let weight = weight(&text).map_err(LeftOut::Unreadable)?;
        if self.memory.fetch_add(weight, Ordering::Relaxed) + weight > MOST_MEMORY {
            let most = MOST_MEMORY >> 30;
            let cause =
                format!("all files take more than {most} GiB: give each job a directory of its own, or several");
            return Err(LeftOut::Unreadable(cause));
        }
        let mut read: T = serde_json::from_slice(&text)
            .map_err(|error| LeftOut::Unreadable(format!("it is no status file: {}", shown(&error.to_string()))))?;
        read.clean();
        Ok(read)
    }

    /// Reads a file of at most `most` bytes, as [`Self::read`] does, whatever it holds.
    pub(super) fn bytes(&self, path: &Path, most: u64) -> Result<Vec<u8>, LeftOut> {
        let (file, found) = files::open_any(path).map_err(|error| self.unopened(path, &error))?;
        self.check_owner(path, &found)?;
        let unreadable = |error: io::Error| LeftOut::Unreadable(error.to_string());
        if !found.is_file() {
            return Err(LeftOut::Unreadable("it is no file".into()));
        }
        // read at once; a file that has no length, or another one by now, is read all the same
        let mut text = Vec::with_capacity(found.len().min(most) as usize + 1);
        file.take(most + 1).read_to_end(&mut text).map_err(unreadable)?;
        if text.len() as u64 > most {
            return Err(LeftOut::Unreadable(format!("it has more than {} MiB", most >> 20)));
        }
        Ok(text)
    }

    /// Returns why a file could not be opened: another user's is no trouble.
    fn unopened(&self, path: &Path, error: &io::Error) -> LeftOut {
        let Ok(found) = path.symlink_metadata() else {
            let is_gone = error.kind() == ErrorKind::NotFound;
            return if is_gone { LeftOut::Gone } else { LeftOut::Unreadable(error.to_string()) };
        };
        let words = if found.is_symlink() { "it is a link, which is not followed".into() } else { error.to_string() };
        self.check_owner(path, &found).err().unwrap_or(LeftOut::Unreadable(words))
    }

    fn check_owner(&self, path: &Path, found: &Metadata) -> Result<(), LeftOut> {
        let user = found.uid();
        if user == 0 || files::is_own_user(user) || self.owner == Some(user) {
            return Ok(());
        }
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        match *met.entry(user).or_insert_with(|| files::is_own(path, user)) {
            true => Ok(()),
            false => Err(LeftOut::Foreign(user)),
        }
    }
}

/// Returns an estimate of the memory of what a JSON text has, bytes, without parsing it. Marks in its strings count,
/// too.
///
/// # Errors
/// In words: it has too many values.
fn weight(text: &[u8]) -> Result<usize, String> {
    let number = |mark: u8| text.iter().filter(|&&byte| byte == mark).count();
    let objects = number(b'{');
    if number(b',') + number(b'[') + objects > MOST_VALUES {
        return Err(format!("it is no status file: it has more than {MOST_VALUES} values"));
    }
    Ok(text.len() + OBJECT * objects)
}

/// Returns the beginning of a foreign text, as it may stand in a line.
pub(super) fn shown(text: &str) -> String {
    let text = visible(text);
    text.char_indices().nth(SHOWN).map_or_else(|| text.clone(), |(end, _)| format!("{}...", &text[..end]))
}

/// A status file as it was read, with texts that may be anybody's.
pub(super) trait Foreign {
    /// Puts escapes in the place of control characters.
    fn clean(&mut self);
}

fn clean(text: &mut String) {
    if text.contains(char::is_control) {
        *text = visible(text);
    }
}

impl Foreign for Status {
    fn clean(&mut self) {
        let origin = &mut self.origin;
        let optional = [&mut origin.id, &mut origin.file, &mut origin.host, &mut origin.boot, &mut origin.job];
        let times = [&mut origin.started, &mut origin.ended, &mut origin.nccl, &mut self.off];
        optional.into_iter().chain(times).flatten().for_each(clean);
        clean(&mut self.schema);
        // nobody shows them
        origin.variables.clear();
        if let Some(answer) = &mut self.answer {
            let texts = [&mut answer.summary, &mut answer.stacks, &mut answer.left_out, &mut answer.refused];
            texts.into_iter().flatten().for_each(clean);
        }
        for communicator in &mut self.communicators {
            clean(&mut communicator.comm);
            clean(&mut communicator.name);
            communicator.calls.iter_mut().for_each(|call| clean(&mut call.func));
            for operation in &mut communicator.operations {
                clean(&mut operation.func);
                operation.datatype.iter_mut().for_each(clean);
            }
        }
    }
}

/// The earlier reading of a process: counts alone, since it is read for progress alone.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct EarlierStatus {
    pub(super) beat: u64,
    #[serde(deserialize_with = "common::status::bounded::at_most::<{ common::status::MOST_COMMUNICATORS }, _, _>")]
    pub(super) communicators: Vec<ProgressCounts>,
}

impl Foreign for EarlierStatus {
    fn clean(&mut self) {
        self.communicators.iter_mut().for_each(|counts| clean(&mut counts.comm));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_of_a_directory_share_one_bound() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("a.status.json");
        std::fs::write(&place, format!("{{\"later\": [{}]}}", ["{}"; 99].join(","))).unwrap();
        let reader = StatusBounds::of(&Directory::open(directory.path()).unwrap()).unwrap();
        let weight = |left: usize| {
            reader.memory.store(MOST_MEMORY - left, Ordering::Relaxed);
            reader.read::<EarlierStatus>(&place)
        };
        let needed = 100 * OBJECT + std::fs::read(&place).unwrap().len();
        assert!(weight(needed).is_ok());
        let Err(LeftOut::Unreadable(words)) = weight(needed - 1) else { unreachable!() };
        assert!(words.starts_with("all files take more than 1 GiB"), "{words}");
    }
}
