//! What a signal that ends this program would leave behind: temporary files and directories, which are removed first.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io};

/// Signals that end a program of which somebody has had enough.
const SIGNALS: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];
/// How often a directory is removed into which a child, or another thread, may write meanwhile.
const TRIES: usize = 100;

/// Paths that were made under names that nobody else has. Those that are gone meanwhile do no harm.
static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn made() -> MutexGuard<'static, Vec<PathBuf>> {
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a temporary file or directory that a signal removes. Where it is not there any more, nothing is done.
///
/// # Errors
/// When it cannot be made.
pub(crate) fn make<T: AsRef<Path>>(make: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    // a signal comes before or after both
    let mut paths = made();
    let temporary = make()?;
    paths.push(temporary.as_ref().to_path_buf());
    Ok(temporary)
}

/// Does something that a signal ends before or after, and not amid: a file gets its name.
pub(crate) fn undisturbed<T>(act: impl FnOnce() -> T) -> T {
    let _paths = made();
    act()
}

/// From here on a signal removes what was made, and then ends this program as it would have. Child processes end with
/// it (`offspring`).
///
/// # Errors
/// When there is no room for a thread.
pub(crate) fn remove_on_signals() -> io::Result<()> {
    // one that is ignored, as by nohup, stays so
    let mut signals = Signals::new(SIGNALS.into_iter().filter(|&signal| !is_ignored(signal)))?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        signals.forever().for_each(end_by);
    })?;
    // who writes into a pipe that nobody reads is told by an error, and ends likewise: see `output`
    // SAFETY: no handler is installed; the system takes the action.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    Ok(())
}

/// Removes what was made, and ends this program as the signal does.
pub(crate) fn end_by(signal: i32) {
    // held to the end: nothing new is made
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
    // SAFETY: sigaction fills in the structure, which is valid as zeros besides, and changes nothing without a new
    // action.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}
