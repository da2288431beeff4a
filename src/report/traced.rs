//! Perfetto's trace as a file that takes its name once it is whole, or as a device or pipe.

use common::files::{self, Directory};
use present::output::leftovers;
use present::perfetto::Trace;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempPath};

/// A trace that is being written.
pub(super) struct Traced {
    pub(super) trace: Trace<BufWriter<File>>,
    /// The incomplete file, and the directory that it appears in; `None` where the trace goes straight into a device or
    /// pipe.
    part: Option<(TempPath, Directory)>,
    place: PathBuf,
}

impl Traced {
    /// Begins a trace. A pipe waits for its reader.
    ///
    /// # Errors
    /// Nothing can be written there; in words.
    pub(super) fn begin(place: &Path) -> Result<Self, String> {
        let opened = if files::is_replaced(place) {
            part(place).map(|(file, part, directory)| (file, Some((part, directory))))
        } else {
            File::options().write(true).open(place).map(|file| (file, None))
        };
        let (file, part) = opened.map_err(|error| format!("{}: {error}", place.display()))?;
        Ok(Self { trace: Trace::new(BufWriter::new(file)), part, place: place.to_path_buf() })
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// It could not be written; in words.
    pub(super) fn end(self) -> Result<(), String> {
        let Self { trace, part, place } = self;
        let written = trace.finish().and_then(|mut file| file.flush());
        let name = place.file_name().unwrap_or_default();
        let persist = |(part, directory): (TempPath, Directory)| {
            leftovers::undisturbed(|| part.persist(directory.reach().join(name))).map_err(|error| error.error)
        };
        let named = written.and_then(|()| part.map_or(Ok(()), persist));
        named.map_err(|error| format!("{}: {error}", place.display()))
    }
}

/// Makes a file beside its place, which a signal removes.
fn part(place: &Path) -> io::Result<(File, TempPath, Directory)> {
    let (directory, _) = Directory::around(place)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".scorep-nccl-").permissions(Permissions::from_mode(0o666));
    let (file, part) = leftovers::make(|| builder.tempfile_in(directory.reach())).map(NamedTempFile::into_parts)?;
    Ok((file, part, directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_once_the_trace_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("trace");
        std::fs::write(&place, "before").unwrap();
        let traced = Traced::begin(&place).unwrap();
        assert_eq!(std::fs::read(&place).unwrap(), b"before");
        traced.end().unwrap();
        assert_eq!(std::fs::read(&place).unwrap(), b"");
        assert_eq!(directory.path().read_dir().unwrap().count(), 1);
    }

    #[test]
    fn a_device_is_written_into() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("device");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        Traced::begin(&link).unwrap().end().unwrap();
        assert!(link.is_symlink());
    }
}
