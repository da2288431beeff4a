//! A copy of an archive with communicators, and with records of communication on some locations. Every other record is
//! as it was.
//!
//! Only the locations with new records are read and written anew, and the global definitions. Local numbers and clock
//! offsets of these locations are applied then, so that they have none any more. The files of all other locations are
//! copied as they are, so the chunks have the size of the original's.

mod communicator;
mod definitions;
mod events;

use super::archive::Archive;
use super::error::Otf2Error;
use super::library;
use super::reader::ArchiveReader;
use definitions::DefinitionNumbers;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

pub(crate) use communicator::AddedCommunicator;
pub(crate) use definitions::LANES;
pub(crate) use events::{Due, Message};

/// Directory of the locations' files, beside the anchor file.
const LOCATIONS: &str = "traces";

/// Returns the directory of an anchor file, also of one that is named without a directory.
pub(crate) fn directory_of(anchor: &Path) -> &Path {
    anchor.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."))
}

/// Copies the archive of an anchor file into a directory that has no archive.
///
/// `communicators` are added; `lanes` are the locations that have records, which `due` names. `progress` gets the bytes of
/// each file that was copied.
///
/// # Errors
/// OTF2 is missing, cannot read the archive, or does not know a kind of record in it; the directory cannot be used. The
/// files that were written until then stay in the directory.
pub(crate) fn with(
    anchor: &Path,
    directory: &Path,
    communicators: &[AddedCommunicator],
    lanes: &[u64],
    due: Due<'_>,
    progress: &mut dyn FnMut(u64),
) -> Result<(), Otf2Error> {
    let library = library::opened()?;
    let mut reader = ArchiveReader::open(anchor)?;
    reader.select(lanes)?;
    if reader.has_snapshots()? {
        return Err(Otf2Error::Snapshots);
    }
    let from = directory_of(anchor);
    let (event_chunk, definition_chunk) = reader.chunks()?;
    let archive = Archive::create_with(library, directory, event_chunk, definition_chunk)?;
    reader.describe(&archive)?;
    let numbers = DefinitionNumbers::read(&reader)?;
    archive.open_event_files()?;
    let mut added = BTreeMap::new();
    for &lane in lanes {
        let count = events::copy(&reader, &archive, lane, due, &|communicator| numbers.communicator(communicator))?;
        added.insert(lane, count);
        progress(fs::metadata(from.join(format!("{LOCATIONS}/{lane}.evt"))).map_or(0, |file| file.len()));
    }
    archive.close_event_files()?;
    archive.write_local_definitions(lanes.iter().copied())?;
    numbers.write(&reader, &archive, &added, communicators)?;
    archive.close()?;
    copy_files(from, directory, true, progress)
}

/// Copies all that the new archive does not have yet: files of the other locations, and other files beside the archive.
/// Links to files are followed, as is one to the locations' directory; other links to directories stay links.
fn copy_files(from: &Path, to: &Path, is_top: bool, progress: &mut dyn FnMut(u64)) -> Result<(), Otf2Error> {
    let failed = |file: &Path, source: io::Error| Otf2Error::File { file: file.to_owned(), source };
    for entry in fs::read_dir(from).map_err(|source| failed(from, source))? {
        let entry = entry.map_err(|source| failed(from, source))?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let kind = fs::metadata(&path).map_err(|source| failed(&path, source))?.file_type();
        let is_link = path.is_symlink();
        if kind.is_dir() && is_link && !(is_top && entry.file_name() == LOCATIONS) {
            let linked = fs::read_link(&path).and_then(|of| std::os::unix::fs::symlink(of, &target));
            linked.map_err(|source| failed(&path, source))?;
        } else if kind.is_dir() {
            fs::create_dir_all(&target).map_err(|source| failed(&target, source))?;
            copy_files(&path, &target, false, progress)?;
        } else if kind.is_file() && !target.exists() {
            progress(fs::copy(&path, &target).map_err(|source| failed(&path, source))?);
        }
    }
    Ok(())
}
