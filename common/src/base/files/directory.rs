//! A directory that is opened once. All that is done in it is done there, wherever its name leads later.

use super::opened::{Opened, attempted, lifted};
use super::random;
use rustix::fs::{self, AtFlags, CWD, Mode, OFlags, Timespec, Timestamps, UTIME_NOW};
use rustix::io::Errno;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Links that one name may lead through.
const MAX_LINKS: usize = 16;
/// Where the descriptors of this process are.
const DESCRIPTORS: &str = "/proc/self/fd";
/// Mode of a new file, less the umask.
const NEW_FILE: Mode = Mode::from_raw_mode(0o666);
/// Mode of a new file that processes add to, less the umask: no other user's.
const ADDED_FILE: Mode = Mode::from_raw_mode(0o644);

/// An open directory. It needs no permission to read it, only to reach what is in it.
#[derive(Debug)]
pub struct Directory(Opened);

impl Directory {
    /// Opens a directory. The last part of its name may be a link of the calling user or of root, and of nobody else:
    /// in a directory of many users, anybody's link may lead to the caller's private files. The parts before it are
    /// followed as usual.
    ///
    /// # Errors
    /// Fails where there is no directory, or another user's link, and once the process has another root.
    pub fn open(path: &Path) -> io::Result<Self> {
        check_root(path)?;
        if path.parent() == Some(Path::new(DESCRIPTORS)) {
            // the path goes through a descriptor, and not by a name
            return Self::new(open_with(path, OFlags::PATH | OFlags::DIRECTORY)?);
        }
        let mut path = named(path);
        for _ in 0..MAX_LINKS {
            let open = |flags| open_with(&path, OFlags::PATH | OFlags::NOFOLLOW | flags);
            // of a link, the system says that it is no directory
            match open(OFlags::DIRECTORY) {
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => {}
                directory => return Self::new(directory?),
            }
            let part = open(OFlags::empty())?;
            let found = part.metadata()?;
            if !found.is_symlink() {
                return Err(io::Error::from_raw_os_error(libc::ENOTDIR));
            }
            if found.uid() != 0 && !is_own(&path, found.uid()) {
                let words = format!("{} is a link of another user, which is not followed", path.display());
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, words));
            }
            // the empty name stands for the descriptor's own link
            let target = OsString::from_vec(fs::readlinkat(&part, "", Vec::new())?.into_bytes());
            path = named(&path.parent().unwrap_or(Path::new("/")).join(target));
        }
        Err(io::Error::from_raw_os_error(libc::ELOOP))
    }

    /// Opens the directory that a file lies in, and returns it with the file's name.
    ///
    /// # Errors
    /// As [`Directory::open`], and where the path names no file.
    pub fn around(file: &Path) -> io::Result<(Self, OsString)> {
        let name = file.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        Ok((Self::open(parent(file).unwrap_or(Path::new(".")))?, name.to_owned()))
    }

    /// Returns a path that leads to this directory, and to no other, in this process, while it is open.
    #[must_use]
    pub fn reach(&self) -> PathBuf {
        PathBuf::from(format!("{DESCRIPTORS}/{}", self.0.number()))
    }

    /// Leaves the directory open in programs that this process starts: [`Directory::reach`] leads there for them, too.
    ///
    /// # Errors
    /// The system's.
    pub fn inherit(&self) -> io::Result<()> {
        Ok(rustix::io::fcntl_setfd(self.0.file()?, rustix::io::FdFlags::empty())?)
    }

    fn new(file: File) -> io::Result<Self> {
        Ok(Self(Opened::new(file)?))
    }

    /// Returns whether this is the directory that the other one was when it was opened.
    pub(super) fn is_as_opened(&self, other: &Self) -> bool {
        self.0.is_as_opened(&other.0)
    }

    /// Returns what the directory is.
    ///
    /// # Errors
    /// Fails if the file system does not say.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.0.metadata()
    }

    /// Returns the user id that the file system shows for a file that this process makes here.
    pub(super) fn own_user(&self) -> io::Result<u32> {
        let name = OsString::from(format!(".{:016x}", random()));
        let made = self.create(&name)?.metadata();
        self.remove(&name)?;
        Ok(made?.uid())
    }

    /// Makes a file for writing, with the mode of any new file. Nothing that has the name is opened or followed.
    pub(super) fn create(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        opened(self.0.file()?, name, flags, NEW_FILE)
    }

    /// Opens a file to be added to, or makes it; nothing that has the name is followed or waited for. The caller looks at
    /// the owner and the kind.
    pub(super) fn append(&self, name: &OsStr) -> io::Result<File> {
        let never = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        lifted(opened(self.0.file()?, name, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | never, ADDED_FILE)?)
    }

    /// Returns what has a name; of a link, the link itself.
    pub(super) fn look(&self, name: &OsStr) -> io::Result<Metadata> {
        opened(self.0.file()?, name, OFlags::PATH | OFlags::NOFOLLOW, NEW_FILE)?.metadata()
    }

    /// Sets the time of a file's last change to the file system's present time.
    pub(super) fn touch(&self, name: &OsStr) -> io::Result<()> {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let (directory, times) = (self.0.file()?, Timestamps { last_access: now, last_modification: now });
        attempted(|| fs::utimensat(directory, name, &times, AtFlags::SYMLINK_NOFOLLOW))
    }

    /// Gives a file another name. What has that name is replaced.
    pub(super) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.both(from, to, |directory, from, to| {
            // SAFETY: both names are C strings, which live as long as the call.
            unsafe { libc::renameat(directory, from.as_ptr(), directory, to.as_ptr()) }
        })
    }

    /// Gives a file another name, if nothing has that name.
    pub(super) fn rename_where_free(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.both(from, to, |directory, from, to| {
            // SAFETY: both names are C strings, which live as long as the call.
            unsafe { libc::renameat2(directory, from.as_ptr(), directory, to.as_ptr(), libc::RENAME_NOREPLACE) }
        })
    }

    fn both(&self, from: &OsStr, to: &OsStr, call: impl FnOnce(RawFd, &CStr, &CStr) -> libc::c_int) -> io::Result<()> {
        let [from, to] = [CString::new(from.as_bytes())?, CString::new(to.as_bytes())?];
        Ok(called(call(self.0.file()?.as_raw_fd(), &from, &to)).map(drop)?)
    }

    /// Gives a file a second name, if nothing has that name.
    pub(super) fn link(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let directory = self.0.file()?;
        Ok(fs::linkat(directory, from, directory, to, AtFlags::empty())?)
    }

    /// Removes a file.
    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(fs::unlinkat(self.0.file()?, name, AtFlags::empty())?)
    }
}

/// Device and inode of the process' root directory, `None` where the system does not say.
fn root() -> Option<[u64; 2]> {
    std::fs::metadata("/").ok().map(|root| [root.dev(), root.ino()])
}

/// Learns the root directory of the process, in which all paths lie. Called once, before the program may have changed it.
pub(crate) fn know_root() -> Option<[u64; 2]> {
    static ROOT: OnceLock<Option<[u64; 2]>> = OnceLock::new();
    *ROOT.get_or_init(root)
}

/// Fails where a path from the root on would lead elsewhere than at the begin: the program has called `chroot`.
fn check_root(path: &Path) -> io::Result<()> {
    if path.is_absolute() && know_root().zip(root()).is_some_and(|(known, now)| known != now) {
        return Err(io::Error::other(
            "the program has changed its root directory (chroot), so the path leads elsewhere",
        ));
    }
    Ok(())
}

/// Returns the path of the directory that a path lies in; `None` for a root.
pub fn parent(path: &Path) -> Option<&Path> {
    path.parent().map(|parent| if parent == Path::new("") { Path::new(".") } else { parent })
}

/// Returns a path whose end is a name: a slash at the end would have a link followed.
fn named(path: &Path) -> PathBuf {
    let path = path.components().as_path();
    if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_owned() }
}

/// Opens a path with these flags.
///
/// # Errors
/// The system's, and after too many signals.
pub(crate) fn open_with(path: &Path, flags: OFlags) -> io::Result<File> {
    opened(CWD, path, flags, NEW_FILE)
}

/// Opens a name in a directory, with these flags, and this mode where that makes a file. Files are opened and renamed by
/// the C library, whose functions tests put others before.
fn opened(directory: impl AsFd, name: impl AsRef<Path>, flags: OFlags, mode: Mode) -> io::Result<File> {
    let (directory, name) = (directory.as_fd().as_raw_fd(), CString::new(name.as_ref().as_os_str().as_bytes())?);
    let flags = (flags | OFlags::CLOEXEC).bits() as libc::c_int;
    // SAFETY: the name is a C string, which lives as long as the call.
    let open = || called(unsafe { libc::openat(directory, name.as_ptr(), flags, mode.bits()) });
    // SAFETY: the descriptor is new, so nobody else owns it.
    attempted(open).map(|descriptor| unsafe { File::from_raw_fd(descriptor) })
}

/// Returns the result of a call of the C library.
fn called(result: libc::c_int) -> rustix::io::Result<libc::c_int> {
    let error = || Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO);
    if result < 0 { Err(error()) } else { Ok(result) }
}

/// Returns whether a file or directory at `place` with the owner `owner` belongs to the calling user. A network file
/// system may show its users under other ids; then a new file there shows the same id.
pub fn is_own(place: &Path, owner: u32) -> bool {
    is_own_user(owner)
        || Directory::around(place).and_then(|(directory, _)| directory.own_user()).is_ok_and(|own| own == owner)
}

/// Returns whether `user` is the calling user's id.
pub fn is_own_user(user: u32) -> bool {
    user == rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_directory_stays_the_one_that_was_opened() {
        let top = std::env::temp_dir().join(format!("scorep-nccl-directory-{:016x}", random()));
        fs::create_dir_all(top.join("real/inner")).unwrap();
        symlink("real", top.join("link")).unwrap();
        symlink("link/", top.join("further")).unwrap();
        symlink("round", top.join("round")).unwrap();
        fs::write(top.join("file"), "").unwrap();
        let same = |name: &str| {
            let found = Directory::open(&top.join(name)).and_then(|directory| directory.metadata());
            found.map(|found| found.ino()).map_err(|error| error.kind())
        };
        let real = fs::metadata(top.join("real")).unwrap().ino();
        for name in ["real", "real/", "link", "link/", "link/.", "further", "real/inner/.."] {
            assert_eq!(same(name), Ok(real), "{name}");
        }
        assert_eq!(same("file"), Err(io::ErrorKind::NotADirectory));
        assert_eq!(same("none"), Err(io::ErrorKind::NotFound));
        assert!(same("round").is_err());

        let directory = Directory::open(&top.join("real")).unwrap();
        fs::rename(top.join("real"), top.join("moved")).unwrap();
        fs::create_dir(top.join("real")).unwrap();
        let [a, b] = ["a", "b"].map(OsStr::new);
        drop(directory.create(a).unwrap());
        assert!(directory.create(a).is_err());
        drop(directory.create(b).unwrap());
        assert_eq!(directory.rename_where_free(a, b).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        directory.rename(a, b).unwrap();
        assert!(directory.look(a).is_err() && directory.look(b).unwrap().is_file());
        assert!(top.join("moved/b").exists() && directory.reach().join("b").exists());
        assert_eq!(fs::read_dir(top.join("real")).unwrap().count(), 0);
        directory.remove(b).unwrap();
        fs::remove_dir_all(top).unwrap();
    }
}
