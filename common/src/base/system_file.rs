//! Small files of the kernel's, and threads that read them with descriptors of their own.
//!
//! An application may close descriptors by number, as daemons do, and then open files under the same numbers. A thread of
//! the library that opens and reads once a second could meet that moment. So the thread has a table of descriptors for
//! itself, which the application's calls do not reach. Linux before 5.9 cannot give it an empty one; there the thread uses
//! the process' table.

use std::ffi::{CStr, CString, c_uint};

/// `CLOSE_RANGE_UNSHARE` of Linux.
const UNSHARE: c_uint = 2;

/// Gives the calling thread an empty table of descriptors. Returns whether it has one. For a thread of the library's, or a
/// child of its own: it makes one call of the system.
pub(crate) fn take_own_descriptors() -> bool {
    // SAFETY: with UNSHARE, the kernel gives the calling thread a table without these descriptors, and does not touch that
    // of the other threads. The caller has no descriptor open.
    unsafe { libc::syscall(libc::SYS_close_range, 0 as c_uint, c_uint::MAX, UNSHARE) == 0 }
}

/// Reads a file into the buffer, without an allocation or a second attempt. Returns its text, or the part that fits; `None` where the file cannot be read.
pub(crate) fn read<'a>(path: &CStr, buffer: &'a mut [u8]) -> Option<&'a str> {
    // SAFETY: the path ends with a zero. The buffer is as long as said. The descriptor is this function's and is closed once.
    let length = unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NOFOLLOW);
        if file < 0 {
            return None;
        }
        let length = libc::read(file, buffer.as_mut_ptr().cast(), buffer.len());
        libc::close(file);
        usize::try_from(length).ok()?
    };
    let bytes = buffer.get(..length)?;
    // a cut within a character leaves the text before it
    let valid = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), |_| length);
    std::str::from_utf8(bytes.get(..valid)?).ok()
}

/// Returns the path as the system's functions take it.
pub(crate) fn path(text: String) -> Option<CString> {
    CString::new(text).ok()
}

/// Returns the number behind a word of a text of lines `word number`.
pub(crate) fn number_behind(text: &str, word: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_with_its_own_table_reads_and_leaves_the_others_alone() {
        let kept = std::fs::File::open("/proc/self/stat").unwrap();
        let read = std::thread::spawn(|| {
            let has_own = take_own_descriptors();
            let mut buffer = [0; 64];
            let text = read(c"/proc/self/comm", &mut buffer).map(str::to_owned);
            // an empty table gives the lowest number
            // SAFETY: the path ends with a zero; the descriptor is closed with the thread's table.
            let first = unsafe { libc::open(c"/proc/self/comm".as_ptr(), libc::O_RDONLY) };
            (has_own, text, first)
        })
        .join()
        .unwrap();
        assert!(read.1.is_some_and(|name| name.ends_with('\n')));
        if read.0 {
            assert_eq!(read.2, 0);
        }
        assert!(kept.metadata().is_ok(), "the test's own file stays open");
        assert_eq!(super::read(c"/proc/self/nowhere", &mut [0; 8]), None);
    }

    #[test]
    fn numbers_stand_behind_whole_words() {
        let text = "nr_throttled 3\nthrottled_usec 1700\nthrottled 5\n";
        assert_eq!(number_behind(text, "throttled_usec"), Some(1700));
        assert_eq!([number_behind(text, "throttled"), number_behind(text, "usec")], [Some(5), None]);
    }
}
