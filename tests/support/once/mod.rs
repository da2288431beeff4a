//! A directory that several tests need and one of them fills: each test may be a process of its own.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Returns the directory of this name. The first test of a run that asks for it fills it, and the others wait.
pub(crate) fn made_once(name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    // cargo-nextest numbers its runs; otherwise the parent is cargo's process
    let run = std::env::var("NEXTEST_RUN_ID").unwrap_or_else(|_| {
        let parent = std::os::unix::process::parent_id();
        let stat = fs::read_to_string(format!("/proc/{parent}/stat")).unwrap();
        // which has its begin, too: the number may come again
        format!("parent {parent} {:?}", stat.split(' ').nth(21))
    });
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let (content, mark) = (place.join("content"), place.join("run"));
    fs::create_dir_all(&place).unwrap();
    let lock = File::create(place.join("lock")).unwrap();
    // SAFETY: the file is open; the lock ends with it.
    assert_eq!(unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX) }, 0);
    if fs::read_to_string(&mark).is_ok_and(|maker| maker == run) {
        return content;
    }
    let _ = fs::remove_file(&mark);
    let _ = fs::remove_dir_all(&content);
    fs::create_dir(&content).unwrap();
    make(&content);
    fs::write(mark, run).unwrap();
    content
}
