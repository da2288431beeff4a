//! The names in a folder of the kernel's.

use rustix::fs::{CWD, Dir, Mode, OFlags, openat};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Returns the names in a folder but `.` and `..`; none where it cannot be read.
///
/// The standard library's reader of folders panics where a sandbox refuses `close`. Here that is no matter: the folder
/// stays open then.
pub(crate) fn names(folder: &Path) -> Vec<OsString> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let entries = openat(CWD, folder, flags, Mode::empty()).and_then(Dir::new);
    let names = entries.into_iter().flat_map(|entries| entries.map_while(Result::ok));
    let names = names.map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_os_string());
    names.filter(|name| name != "." && name != "..").collect()
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
