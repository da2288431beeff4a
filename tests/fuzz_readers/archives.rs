//! OTF2 archives with one damaged file.

use crate::fuzz_readers::kinds::{Files, Kind};
use crate::fuzz_readers::mutations;
use crate::support::tool;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Recordings of four ranks; their archive has kernels, messages and the regions of threads.
const RUN: &str = "nvlink4_ring";

fn replay(to: &Path) -> Command {
    let mut command = tool::tool();
    command.arg("replay").arg(tool::run(RUN)).arg("--otf2").arg(to);
    command
}

/// Returns whether the OTF2 library is here. If not, the test is skipped.
pub(crate) fn are_written() -> bool {
    let place = tempfile::tempdir().unwrap();
    let output = replay(&place.path().join("archive")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let is_missing = !output.status.success() && said.contains("OTF2");
    if is_missing {
        tool::skip("the OTF2 library is not installed (Debian: libotf2-trace-dev)");
    }
    !is_missing
}

/// Adds the files below a directory.
fn add(place: &Path, name: &Path, files: &mut Files) {
    let mut entries: Vec<PathBuf> = place.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for entry in entries {
        let name = name.join(entry.file_name().unwrap());
        if entry.is_dir() {
            add(&entry, &name, files);
        } else {
            files.push((name, fs::read(entry).unwrap()));
        }
    }
}

pub(crate) const ARCHIVE: Kind = Kind {
    name: "archive",
    ending: "",
    at_a_time: 10,
    prepare: |place| {
        tool::succeed(&mut replay(&place.join("archive")));
        tool::succeed(tool::tool().arg("table").arg(tool::run(RUN)).arg("--to").arg(place.join("tables")));
        place.to_path_buf()
    },
    mutated: |rng, with| {
        let mut files = Files::new();
        add(&with.join("archive"), Path::new(""), &mut files);
        let (_, content) = rng.choice(&mut files).unwrap();
        match content.len() {
            // one byte: what the library reads further is as it was
            1.. if rng.bool() => {
                let (at, any) = (rng.usize(..content.len()), rng.u8(..));
                content[at] = rng.choice([0, 1, 0x7f, 0x80, 0xff, any]).unwrap();
            }
            _ => *content = mutations::of_bytes(std::slice::from_ref(content), 1000, rng),
        }
        files
    },
    arguments: |command, files, with| {
        command.args(["report", "--job", "1"]).args(files).arg(with.join("tables"));
    },
    status_answers: false,
    // times later than any clock shows
    failed: &[145, 398],
};
