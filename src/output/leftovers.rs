//! Removes temporary files and directories when a signal ends this program.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io};

/// Signals that end a program on a user's or a system's wish.
const SIGNALS: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];
/// Tries to remove a directory into which a child or another thread may still write.
const TRIES: usize = 100;

/// Paths of temporary files and directories. Their names are unique, so a path that is gone already does no harm.
static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn made() -> MutexGuard<'static, Vec<PathBuf>> {
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a temporary file or directory that a signal will remove, if it still exists then.
///
/// # Errors
/// When it cannot be created.
pub(crate) fn make<T: AsRef<Path>>(make: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    // holding the lock, so that no signal comes between the creation and the note of its path
    let mut paths = made();
    let temporary = make()?;
    paths.push(temporary.as_ref().to_path_buf());
    Ok(temporary)
}

/// Runs an action that a signal must not interrupt, such as giving a file its name.
pub(crate) fn undisturbed<T>(act: impl FnOnce() -> T) -> T {
    let _paths = made();
    act()
}

/// Makes signals remove the temporary files, and then end this program as they would have. Child processes end with it
/// (see `offspring`).
///
/// # Errors
/// When the thread for the signals cannot be started.
pub(crate) fn remove_on_signals() -> io::Result<()> {
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
pub(crate) fn end_by(signal: i32) {
    // the lock is held to the end, so that nothing new is created
    let paths = made();
    paths.iter().for_each(|path| remove(path));
    let _ = emulate_default_handler(signal);
}

fn remove(path: &Path) {
    for _ in 0..TRIES {
        let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        if removed.is_ok() || !path.exists() {
            return;
        }
    }
}

fn is_ignored(signal: i32) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: sigaction fills in the structure, for which zeros are valid, and without a new action it changes nothing.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}
