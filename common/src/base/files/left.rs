//! Files that threads of ours have begun, for when one of them stops for want of memory: it cannot take them away
//! itself.

use crate::base::own_thread;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// More than threads of ours write at a time.
static BEGUN: [AtomicPtr<libc::c_char>; 16] = [const { AtomicPtr::new(null_mut()) }; 16];

/// A file that the calling thread has begun, until this is dropped.
pub(super) struct Begun(Option<&'static AtomicPtr<libc::c_char>>);

impl Begun {
    /// Of a thread of ours; others come to their end, and take their files away.
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
            // SAFETY: made above, and nobody else has it.
            drop(unsafe { CString::from_raw(path) });
        }
        Self(place)
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        let path = self.0.map_or(null_mut(), |place| place.swap(null_mut(), Ordering::AcqRel));
        if !path.is_null() {
            // SAFETY: made by `new`, and taken out of its place by this thread.
            drop(unsafe { CString::from_raw(path) });
        }
    }
}

/// Removes those that are begun: where memory has run out, at the end of the process. Takes no memory.
pub(crate) fn remove_all() {
    for place in &BEGUN {
        let path = place.swap(null_mut(), Ordering::AcqRel);
        if !path.is_null() {
            // SAFETY: a string of `new`, which nobody gives back any more.
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
