//! The names in a folder of the kernel's.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Returns the names in a folder but `.` and `..`; none where it cannot be read.
///
/// The standard library's reader of folders panics where a sandbox refuses `close`. Here that is no matter: the folder
/// stays open then.
pub(crate) fn names(folder: &Path) -> Vec<OsString> {
    let Ok(path) = CString::new(folder.as_os_str().as_bytes()) else { return vec![] };
    // SAFETY: `path` ends with a NUL and lives until the call is over.
    let stream = unsafe { libc::opendir(path.as_ptr()) };
    if stream.is_null() {
        return vec![];
    }
    let mut names = vec![];
    loop {
        // SAFETY: `opendir` has returned the stream, which nobody else has and which is closed below.
        let entry = unsafe { libc::readdir(stream) };
        if entry.is_null() {
            break;
        }
        // SAFETY: `readdir` has returned an entry, whose name ends with a NUL and stays until the stream's next call.
        let name = unsafe { CStr::from_ptr((*entry).d_name.as_ptr()) };
        if name != c"." && name != c".." {
            names.push(OsStr::from_bytes(name.to_bytes()).to_os_string());
        }
    }
    // SAFETY: the stream is `opendir`'s and is not used again.
    unsafe { libc::closedir(stream) };
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_its_names_and_none_that_is_not_there() {
        let mut found = names(Path::new("/proc/self"));
        found.sort_unstable();
        assert!(found.contains(&OsString::from("fd")) && !found.contains(&OsString::from("..")), "{found:?}");
        assert_eq!(names(Path::new("/proc/self/nowhere")), Vec::<OsString>::new());
    }
}
