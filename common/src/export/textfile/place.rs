//! The file of this process in the directory, and files that other processes of this machine have left there.

use crate::base::files::{Earlier, FileName, NewFile};
use crate::base::prometheus;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// A file of another process counts as left behind if it is older than this process' file by more than this time, and
/// by more than [`EXPORTS`] intervals.
const OLD: Duration = Duration::from_secs(600);
/// Number of intervals between exports, see [`OLD`].
const EXPORTS: u32 = 10;
/// node_exporter reads only files with this ending.
const ENDING: &str = ".prom";

/// The place of this process' file.
#[derive(Debug)]
pub(super) struct TextfilePlace {
    directory: PathBuf,
    /// The common start of the names of this machine's files.
    start: String,
    /// The name of this process' file. Where another user's file, which nobody else may remove, has that name, it gets
    /// a random part.
    name: FileName,
}

impl TextfilePlace {
    pub(super) fn new(directory: PathBuf, host: &str, process: &str) -> Self {
        let start = format!("scorep-nccl_{}_", prometheus::plain(host));
        let name = FileName::new(&directory.join(format!("{start}{process}{ENDING}")), Earlier::Replaced);
        Self { directory, start, name }
    }

    /// Writes the whole file or nothing, so that node_exporter never sees a part of it. Returns the file's time.
    ///
    /// # Errors
    /// The directory, and what is wrong with it.
    pub(super) fn write(&mut self, text: &str) -> Result<SystemTime, String> {
        let write = |name: &mut FileName| {
            let mut file = prometheus::begun(name.place(), text)?;
            let modified = file.modified()?;
            file.appear_as(name)?;
            Ok(modified)
        };
        write(&mut self.name).map_err(|error: io::Error| format!("{}: {error}", self.directory.display()))
    }

    /// Removes files of this machine that were written long before this process' present file. Both times are by the
    /// clock of the file system, which may be another machine's. A living process writes its file again.
    pub(super) fn remove_old(&self, now: SystemTime, interval: Duration) {
        let most = OLD.max(interval.saturating_mul(EXPORTS));
        // entries that cannot be read or removed are left to those who can
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        for entry in entries.flatten() {
            let is_own = self.name.place().file_name() == Some(&entry.file_name());
            let of_another = !is_own && entry.file_name().to_str().is_some_and(|name| self.is_ours(name));
            let is_old = || {
                // metadata of a link itself, not of its target
                let data = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                now.duration_since(data.modified().ok()?).ok().filter(|age| *age > most)
            };
            if of_another && is_old().is_some() {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Returns whether this library gives such a name to a file on this machine.
    fn is_ours(&self, name: &str) -> bool {
        let name = NewFile::whole(name).unwrap_or(name);
        let process = name.strip_prefix(&self.start).and_then(|rest| rest.strip_suffix(ENDING));
        // a process id, perhaps with a namespace, perhaps with a random part
        process.is_some_and(|process| {
            let (process, random) = process.split_once('.').map_or((process, None), |(it, random)| (it, Some(random)));
            let mut numbers = process.splitn(2, '-');
            numbers.all(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
                && random.is_none_or(|random| random.len() == 8 && random.bytes().all(|byte| byte.is_ascii_hexdigit()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn ours_are_those_of_this_machine() {
        let place = TextfilePlace::new("/x".into(), "node/1", "7");
        assert_eq!(place.name.place(), Path::new("/x/scorep-nccl_node_1_7.prom"));
        for ours in [
            "scorep-nccl_node_1_7.prom",
            "scorep-nccl_node_1_7.0123abcd.prom",
            "scorep-nccl_node_1_1-4026532290.prom",
            ".scorep-nccl_node_1_80.prom.0123456789abcdef.part",
        ] {
            assert!(place.is_ours(ours), "{ours}");
        }
        for other in [
            "scorep-nccl_node_10_7.prom",
            "scorep-nccl_node_1_2_7.prom",
            "scorep-nccl_node_1_.prom",
            "scorep-nccl_node_1_7-.prom",
            "scorep-nccl_node_1_7-1-2.prom",
            "scorep-nccl_node_1_7.0123abc.prom",
            "scorep-nccl_node_1_7.txt",
            "scorep-nccl_node_1_7",
            "node_1_7.prom",
            "other.prom",
        ] {
            assert!(!place.is_ours(other), "{other}");
        }
    }
}
