//! Files that several processes of a user add to.

use super::name::with_random_part;
use super::own::check;
use super::{Directory, is_own};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Opens a regular file of the calling user to be added to, or makes it. Where another user has taken the name, the file
/// gets a random part before its ending. Returns the file and its path.
///
/// # Errors
/// As [`Directory::open`], and where no file can be made, or the name is the user's and no regular file's.
pub fn append(place: &Path) -> io::Result<(File, PathBuf)> {
    let (directory, name) = Directory::around(place)?;
    let opened = own(&directory, &name, place);
    let is_of_another = || directory.look(&name).is_ok_and(|found| !is_own(place, found.uid()));
    match opened {
        Err(_) if is_of_another() => {
            let place = with_random_part(place);
            let name = place.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            Ok((own(&directory, name, &place)?, place))
        }
        opened => Ok((opened?, place.to_owned())),
    }
}

fn own(directory: &Directory, name: &OsStr, place: &Path) -> io::Result<File> {
    let file = directory.append(name)?;
    check(place, &file.metadata()?).map(|()| file)
}
