//! Files that the library's threads have begun. A thread that stops because memory has run out cannot remove its file
//! itself; the end of the process does.

use crate::base::own_thread;
use crate::base::pause::pause_while;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// More places than the library has threads that write at a time.
static BEGUN: [BegunFile; 16] = [const { BegunFile::new() }; 16];
/// Set before the files are removed: from then on, no thread of the library makes one.
static CLOSED: AtomicBool = AtomicBool::new(false);
/// Looks at a thread that is about to make its file, a millisecond apart. A thread that needs longer has stopped there,
/// or its file system does not answer.
const LOOKS: u32 = 200;

/// A file that a thread has begun.
struct BegunFile {
    /// Path of the file; NULL where there is none.
    path: AtomicPtr<libc::c_char>,
    /// The file is there, or has been.
    is_made: AtomicBool,
}

impl BegunFile {
    const fn new() -> Self {
        Self { path: AtomicPtr::new(null_mut()), is_made: AtomicBool::new(false) }
    }

    /// Returns whether the file may appear at any moment.
    fn is_being_made(&self) -> bool {
        !self.path.load(Ordering::SeqCst).is_null() && !self.is_made.load(Ordering::Acquire)
    }
}

/// Registers a file that the calling thread has begun, until this is dropped.
pub(super) struct Begun(Option<&'static BegunFile>);

impl Begun {
    /// Registers a file that the calling thread is about to make, if the thread is one of the library's. The
    /// application's threads do not stop, and remove their files themselves.
    ///
    /// Does not return if the files are being removed: the thread stops, as for want of memory.
    pub(super) fn new(path: &Path) -> Self {
        let Some(path) = own_thread::is_own().then(|| CString::new(path.as_os_str().as_bytes()).ok()).flatten() else {
            return Self(None);
        };
        let path = path.into_raw();
        // SeqCst here and in `remove_all`: of the path and of CLOSED, one is seen by the other thread
        let free = |place: &&BegunFile| {
            place.path.compare_exchange(null_mut(), path, Ordering::SeqCst, Ordering::Relaxed).is_ok()
        };
        let place = BEGUN.iter().find(free);
        if place.is_none() {
            // SAFETY: the pointer was made above, and nobody else has it.
            drop(unsafe { CString::from_raw(path) });
        }
        let begun = Self(place);
        if CLOSED.load(Ordering::SeqCst) {
            drop(begun);
            own_thread::stop();
        }
        begun
    }

    /// Says that the file is there.
    pub(super) fn is_made(&self) {
        if let Some(place) = self.0 {
            place.is_made.store(true, Ordering::Release);
        }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        let Some(place) = self.0 else { return };
        place.is_made.store(false, Ordering::Relaxed);
        let path = place.path.swap(null_mut(), Ordering::AcqRel);
        if !path.is_null() {
            // SAFETY: `new` made the pointer, and this thread took it out of its place.
            drop(unsafe { CString::from_raw(path) });
        }
    }
}

/// Removes the files that are still registered, at the end of a process whose memory has run out. No thread of the
/// library makes a file after that. Allocates nothing.
pub(crate) fn remove_all() {
    CLOSED.store(true, Ordering::SeqCst);
    remove_begun();
}

fn remove_begun() {
    for place in &BEGUN {
        pause_while(LOOKS, || place.is_being_made());
        let path = place.path.swap(null_mut(), Ordering::AcqRel);
        if !path.is_null() {
            // SAFETY: the string is one of `new`, and nobody else can take it any more. It is not freed.
            unsafe { libc::unlink(path) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{NewFile, random};
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn what_a_thread_of_ours_has_begun_is_removed_and_nothing_else() {
        let directory = std::env::temp_dir().join(format!("scorep-nccl-left-{:016x}", random()));
        std::fs::create_dir(&directory).unwrap();
        let theirs = NewFile::beside(&directory.join("theirs")).unwrap();
        let (begun, (stops, stop)) = (mpsc::channel(), mpsc::channel::<()>());
        let (sender, is_begun) = begun;
        let place = directory.join("ours");
        own_thread::spawn("test", move || {
            let file = NewFile::beside(&place).unwrap();
            sender.send(()).unwrap();
            let _ = stop.recv();
            drop(file);
            sender.send(()).unwrap();
        })
        .unwrap();
        is_begun.recv().unwrap();
        let count = || directory.read_dir().unwrap().count();
        assert_eq!(count(), 2);
        remove_begun();
        assert_eq!(count(), 1);
        drop(stops);
        is_begun.recv().unwrap();
        drop(theirs);
        assert_eq!(count(), 0);
        std::fs::remove_dir(directory).unwrap();
    }
}
