//! Removes temporary files and directories when a signal ends this program.

use common::files::Directory;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io};

/// Signals that end a program on a user's or a system's wish.
const SIGNALS: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];
/// Tries to remove a directory into which a child or another thread may still write.
const TRIES: usize = 100;

/// Files and directories to remove. The files' names are unique, so a path that is gone already does no harm.
static MADE: Mutex<Leftover> = Mutex::new(Leftover { files: Vec::new(), directories: Vec::new() });

struct Leftover {
    files: Vec<PathBuf>,
    directories: Vec<Left>,
}

/// A directory to remove with all that is in it.
pub struct Left {
    /// Path of the directory through its descriptor, which is open as long as this is registered.
    pub inside: PathBuf,
    /// The directory that it was made in.
    pub around: Directory,
    /// Its name there.
    pub name: OsString,
}

fn made() -> MutexGuard<'static, Leftover> {
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a temporary file that a signal will remove, if it still exists then.
///
/// # Errors
/// When it cannot be created.
pub fn make<T: AsRef<Path>>(make: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    // holding the lock, so that no signal comes between the creation and the note of its path
    let mut made = made();
    let temporary = make()?;
    made.files.push(temporary.as_ref().to_path_buf());
    Ok(temporary)
}

/// Creates a temporary directory that a signal will remove, until [`remove_directory`] does.
///
/// # Errors
/// When it cannot be created.
pub fn make_directory<T>(make: impl FnOnce() -> io::Result<(T, Left)>) -> io::Result<T> {
    let mut made = made();
    let (temporary, left) = make()?;
    made.directories.push(left);
    Ok(temporary)
}

/// Removes the temporary directory with this path. The caller closes its descriptor afterwards.
pub fn remove_directory(inside: &Path) {
    let mut made = made();
    if let Some(place) = made.directories.iter().position(|left| left.inside == inside) {
        made.directories.swap_remove(place).remove();
    }
}

/// Runs an action that a signal must not interrupt, such as giving a file its name.
pub fn undisturbed<T>(act: impl FnOnce() -> T) -> T {
    let _made = made();
    act()
}

/// Makes signals remove the temporary files, and then end this program as they would have. Child processes end with it
/// (see `offspring`).
///
/// # Errors
/// When the thread for the signals cannot be started.
pub fn remove_on_signals() -> io::Result<()> {
    // an ignored signal, as under nohup, stays ignored
    let mut signals = Signals::new(SIGNALS.into_iter().filter(|&signal| !is_ignored(signal)))?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        signals.forever().for_each(end_by);
    })?;
    // a write into a closed pipe gives an error instead, on which `output` removes the temporary files
    // SAFETY: SIG_IGN is no handler; the system carries out the action.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    Ok(())
}

/// Removes the temporary files, and ends this program as the signal does.
pub fn end_by(signal: i32) {
    // the lock is held to the end, so that nothing new is created
    let mut made = made();
    for path in &made.files {
        let _ = fs::remove_file(path);
    }
    made.directories.drain(..).for_each(|left| left.remove());
    let _ = emulate_default_handler(signal);
}

impl Left {
    fn remove(self) {
        for _ in 0..TRIES {
            if empty(&self.inside).is_ok() {
                break;
            }
        }
        // fails if another directory has the name meanwhile, unless it is empty
        let _ = fs::remove_dir(self.around.reach().join(self.name));
    }
}

/// Removes all that is in a directory; follows no link.
fn empty(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() { fs::remove_dir_all(entry.path())? } else { fs::remove_file(entry.path())? }
    }
    Ok(())
}

fn is_ignored(signal: i32) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: sigaction fills in the structure, for which zeros are valid, and without a new action it changes nothing.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}
