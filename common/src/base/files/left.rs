//! Files that the library's threads have begun. A thread that stops because memory has run out cannot remove its file
//! itself; the end of the process does.

use crate::base::own_thread;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Paths of the files begun. More places than the library has threads that write at a time.
static BEGUN: [AtomicPtr<libc::c_char>; 16] = [const { AtomicPtr::new(null_mut()) }; 16];

/// Registers a file that the calling thread has begun, until this is dropped.
pub(super) struct Begun(Option<&'static AtomicPtr<libc::c_char>>);

impl Begun {
    /// Registers the file if the calling thread is one of the library's. The application's threads do not stop, and
    /// remove their files themselves.
    pub(super) fn new(path: &Path) -> Self {
        let Some(path) = own_thread::is_own().then(|| CString::new(path.as_os_str().as_bytes()).ok()).flatten() else {
            return Self(None);
        };
        let path = path.into_raw();
        let free = |place: &&AtomicPtr<_>| {
            place.compare_exchange(null_mut(), path, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let place = BEGUN.iter().find(free);
        if place.is_none() {
            // SAFETY: the pointer was made above, and nobody else has it.
            drop(unsafe { CString::from_raw(path) });
        }
        Self(place)
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        let path = self.0.map_or(null_mut(), |place| place.swap(null_mut(), Ordering::AcqRel));
        if !path.is_null() {
            // SAFETY: `new` made the pointer, and this thread took it out of its place.
            drop(unsafe { CString::from_raw(path) });
        }
    }
}

/// Removes the files that are still registered, at the end of a process whose memory has run out. Allocates nothing.
pub(crate) fn remove_all() {
    for place in &BEGUN {
        let path = place.swap(null_mut(), Ordering::AcqRel);
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
        remove_all();
        assert_eq!(count(), 1);
        drop(stops);
        is_begun.recv().unwrap();
        drop(theirs);
        assert_eq!(count(), 0);
        std::fs::remove_dir(directory).unwrap();
    }
}
