//! A file that only trusted users can have written: root, the user of the process, and the owner of the library, whose
//! code runs anyway.
//!
//! A name may lead to anything: a FIFO, a device, another user's file, a file without an end. So nothing here waits,
//! and what is read is bounded. A link is followed, since Kubernetes mounts files as links; the file behind it counts.

use crate::base::files::{attempted, is_own_user, open_with};
use rustix::fs::OFlags;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Longest file, bytes.
pub(super) const LONGEST: usize = 1 << 16;
/// Permission for the group, and for all others, to write.
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;

/// Reads a file that only root, the user or the owner of the file `library` may write to.
///
/// # Errors
/// The system's; and where the file is no regular one, is longer than [`LONGEST`], or where others may write to it. The
/// error then has the way out.
pub(super) fn read(path: &Path, library: Option<&Path>) -> io::Result<Vec<u8>> {
    let file = open_with(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
    let found = file.metadata()?;
    let refused = |why: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    if !found.is_file() {
        return refused("it is no regular file".into());
    }
    let owner = found.uid();
    if owner != 0 && !is_own_user(owner) && library.and_then(owner_of) != Some(owner) {
        return refused(format!(
            "it belongs to user {owner}, who is neither root, nor this user, nor the owner of the library (`chown root`, or \
             copy it)"
        ));
    }
    if found.mode() & (GROUP_WRITES | OTHERS_WRITE) != 0 {
        let who = if found.mode() & OTHERS_WRITE != 0 { "everybody" } else { "its group" };
        return refused(format!("{who} may write to it (`chmod go-w`)"));
    }
    if found.len() > LONGEST as u64 {
        return refused(format!("it has {} bytes, and {LONGEST} are read", found.len()));
    }
    let content = content(&file)?;
    if content.len() > LONGEST {
        return refused(format!("it has more than {LONGEST} bytes"));
    }
    Ok(content)
}

/// Reads a file up to a byte more than the longest.
fn content(file: &File) -> io::Result<Vec<u8>> {
    let mut content = vec![0; LONGEST + 1];
    let mut length = 0;
    while length < content.len() {
        match attempted(|| rustix::io::read(file, &mut content[length..]))? {
            0 => break,
            more => length += more,
        }
    }
    content.truncate(length);
    Ok(content)
}

fn owner_of(path: &Path) -> Option<u32> {
    path.metadata().ok().map(|found| found.uid())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::files::random;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    #[test]
    fn only_what_trusted_users_alone_may_write_is_read() {
        let directory = std::env::temp_dir().join(format!("scorep-nccl-trusted-{:016x}", random()));
        fs::create_dir(&directory).unwrap();
        let (file, link) = (directory.join("file"), directory.join("link"));
        fs::write(&file, "a=b").unwrap();
        symlink("file", &link).unwrap();
        let set = |mode| fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        let said = |path: &Path, library: Option<&Path>| read(path, library).map_err(|error| error.to_string());
        set(0o644);
        assert_eq!([&file, &link].map(|path| said(path, None)), [Ok(b"a=b".to_vec()), Ok(b"a=b".to_vec())]);
        for (mode, who) in [(0o664, "its group may write"), (0o666, "everybody may write"), (0o606, "everybody")] {
            set(mode);
            assert!(said(&link, None).unwrap_err().starts_with(who), "{mode:o}");
        }
        set(0o644);
        assert_eq!(said(&directory, None).unwrap_err(), "it is no regular file");
        assert_eq!(said(Path::new("/dev/zero"), None).unwrap_err(), "it is no regular file");
        assert_eq!(read(&directory.join("none"), None).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(read(Path::new("/a\0b"), None).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        // a file of /proc has no length before it is read
        assert!(read(Path::new("/proc/self/status"), None).is_ok_and(|content| content.starts_with(b"Name:")));
        for (length, is_read) in [(LONGEST, true), (LONGEST + 1, false)] {
            fs::write(&file, vec![b'#'; length]).unwrap();
            assert_eq!(read(&file, None).map(|content| content.len()).ok(), is_read.then_some(length));
        }
        // another user's, where this test may make one
        if chown(&file, Some(4242), None).is_ok() {
            fs::write(&file, "").unwrap();
            let library = directory.join("library");
            fs::write(&library, "").unwrap();
            assert!(said(&file, Some(&library)).unwrap_err().contains("user 4242, who is neither"));
            chown(&library, Some(4242), None).unwrap();
            assert_eq!(said(&file, Some(&library)), Ok(vec![]));
        }
        fs::remove_dir_all(directory).unwrap();
    }
}
