//! Recorded runs with lines changed.

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A capture whose lines are each changed, in a directory of its own.
pub(crate) struct Edited {
    directory: TempDir,
    name: String,
}

impl Edited {
    pub(crate) fn of(capture: &Path, change: impl Fn(&mut Value)) -> Self {
        let text = std::io::read_to_string(MultiGzDecoder::new(File::open(capture).unwrap())).unwrap();
        let name = capture.file_name().unwrap().to_string_lossy().into_owned();
        let edited = Self { directory: tempfile::tempdir().unwrap(), name };
        let mut file = GzEncoder::new(File::create(edited.path()).unwrap(), Compression::fast());
        for line in text.lines() {
            let mut line: Value = serde_json::from_str(line).unwrap();
            change(&mut line);
            writeln!(file, "{line}").unwrap();
        }
        file.finish().unwrap();
        edited
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join(&self.name)
    }
}
