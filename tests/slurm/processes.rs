//! Which processes of the machine belong to a cluster: those that have its directory in their environment, or a file of
//! it open.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

fn belongs(process: &Path, directory: &Path) -> bool {
    let wanted = directory.as_os_str().as_bytes();
    let environment = std::fs::read(process.join("environ")).unwrap_or_default();
    // SLURM's own write their titles over it; they hold their logs
    let mut files = process.join("fd").read_dir().into_iter().flatten().flatten().map(|file| file.path());
    environment.windows(wanted.len()).any(|part| part == wanted)
        || files.any(|file| file.read_link().is_ok_and(|target| target.starts_with(directory)))
}

/// Those of a cluster that are alive, this one aside.
pub(crate) fn all_of(directory: &Path) -> Vec<u32> {
    let entries = Path::new("/proc").read_dir().into_iter().flatten().flatten();
    let numbered = |path: PathBuf| Some((path.file_name()?.to_str()?.parse::<u32>().ok()?, path));
    let processes = entries.filter_map(|entry| numbered(entry.path()));
    processes.filter(|(id, path)| *id != std::process::id() && belongs(path, directory)).map(|(id, _)| id).collect()
}

/// Ends them, also those that are started meanwhile.
pub(crate) fn end_all_of(directory: &Path) {
    for _ in 0..100 {
        let left = all_of(directory);
        if left.is_empty() {
            return;
        }
        let _ = Command::new("kill").arg("-KILL").args(left.iter().map(u32::to_string)).output();
        std::thread::sleep(Duration::from_millis(20));
    }
}
