//! Files of others in the places of the library's, and places that are no files.

use crate::harm::job::Job;
use serde_json::Value;
use std::ffi::CString;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

fn is_summary(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|summary| summary["operations"].is_array())
}

fn fifo(path: &Path) {
    let path = CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: a string that lives as long as the call.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
}

/// Somebody else foretells names in a directory where both may write.
#[test]
fn files_that_others_have_put_there_are_neither_followed_nor_waited_for() {
    let names = "summary.json.part$$ .$(uname -n).$$.jsonl.gz.part $(uname -n).$$.jsonl.gz summary.json";
    for put in ["ln -s private \"$name\"", "mkfifo \"$name\"", "ln -s fifo \"$name\""] {
        // a FIFO in the summary's own place is what the user wants it to be
        let names = if put.starts_with("ln -s private") { names } else { names.trim_end_matches(" summary.json") };
        let job = Job::new()
            .set("NCCL_SCOREP_SUMMARY", "summary.json")
            .set("NCCL_SCOREP_RECORD", ".")
            .before(&format!("mkfifo fifo; echo mine >private; for name in {names}; do {put}; done"));
        job.play();
        assert_eq!(fs::read_to_string(job.path().join("private")).unwrap(), "mine\n", "{put}");
        assert!(is_summary(&fs::read_to_string(job.path().join("summary.json")).unwrap()), "{put}");
        let recordings: Vec<String> = job.files().into_iter().filter(|name| name.ends_with(".jsonl.gz")).collect();
        assert_eq!(recordings.len(), 1, "{put}: {recordings:?}");
        let recording = job.path().join(&recordings[0]).symlink_metadata().unwrap();
        assert!(recording.is_file() && recording.len() > 500, "{put}: {recording:?}");
    }
}

#[test]
fn new_files_and_directories_have_the_modes_of_any_other() {
    for (mask, around, file, directory) in
        [(0o22, 0o755, 0o644, 0o755), (0o77, 0o755, 0o600, 0o700), (0, 0o1777, 0o666, 0o755), (0, 0o750, 0o666, 0o750)]
    {
        let job = Job::new()
            .set("NCCL_SCOREP_SUMMARY", "summary.json")
            .set("NCCL_SCOREP_RECORD", "new/newer")
            .before(&format!("umask {mask:o}"));
        fs::set_permissions(job.path(), fs::Permissions::from_mode(around)).unwrap();
        job.play();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let made = job.path().join("new/newer");
        let recording = made.read_dir().unwrap().next().unwrap().unwrap().path();
        let found = [job.path().join("summary.json"), recording, job.path().join("new"), made].map(|path| mode(&path));
        assert_eq!(found, [file, file, directory, directory], "umask {mask:o} in {around:o}");
    }
}

#[test]
fn a_summary_goes_into_a_device_or_a_pipe_and_replaces_neither() {
    // as `/dev/stdout` leads to, where nothing can be replaced, whatever this library does
    let job = Job::new().set("NCCL_SCOREP_SUMMARY", "/proc/self/fd/1");
    job.play();
    assert!(is_summary(&fs::read_to_string(job.path().join("printed")).unwrap()), "{}", job.said());

    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } == 0 {
        let job = Job::new().set("NCCL_SCOREP_SUMMARY", "null").before("mknod null c 1 3");
        job.play();
        let null = fs::symlink_metadata(job.path().join("null")).unwrap();
        assert!(null.file_type().is_char_device() && job.said().is_empty(), "{}", job.said());
    }

    for (is_read, said) in [(true, ""), (false, "could not be written")] {
        let job = Job::new().set("NCCL_SCOREP_SUMMARY", "pipe");
        let pipe = job.path().join("pipe");
        fifo(&pipe);
        // to read and write, so that opening it waits for nobody
        let reader = is_read.then(|| File::options().read(true).write(true).open(&pipe).unwrap());
        job.play();
        assert!(pipe.symlink_metadata().unwrap().file_type().is_fifo());
        assert!(job.said().contains(said) && job.said().lines().count() == usize::from(!is_read), "{}", job.said());
        if let Some(mut reader) = reader {
            let mut text = vec![0; 1 << 16];
            let read = reader.read(&mut text).unwrap();
            assert!(is_summary(&String::from_utf8_lossy(&text[..read])));
        }
    }

    let job = Job::new().set("NCCL_SCOREP_SUMMARY", "there").before("mkdir there");
    job.play();
    assert!(job.said().contains("could not be written") && job.files() == ["there"], "{}", job.said());
}
