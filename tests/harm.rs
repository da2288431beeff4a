//! What must not happen to a job that is measured: somebody else gets at its user's files, or it dies or hangs for a line, a file or a
//! limit. One process of a host a scenario.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod tool;

use serde_json::Value;
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A process that takes longer hangs; most take some milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// The host's status when it has come to its end.
const OWN: Option<i32> = Some(3);

/// A job: two communicators in one process of a host.
struct Job {
    directory: TempDir,
    /// What a shell does first; `$$` is the number of the job's process.
    before: String,
    settings: Vec<(&'static str, String)>,
}

impl Job {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), before: String::new(), settings: Vec::new() }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn set(mut self, name: &'static str, value: &str) -> Self {
        self.settings.push((name, value.to_owned()));
        self
    }

    fn before(mut self, script: &str) -> Self {
        self.before = script.to_owned();
        self
    }

    /// In the job's directory.
    fn command(&self) -> Command {
        let mut command = tool::host("/bin/sh");
        command.arg("-c").arg(format!(r#"{}; exec "$@""#, if self.before.is_empty() { ":" } else { &self.before }));
        command.arg("sh").arg(env!("HOST_SURROUNDINGS_HOST")).arg(tool::library()).arg("6").current_dir(self.path());
        command.envs(self.settings.iter().map(|(name, value)| (name, value)));
        command.stdout(File::create(self.path().join("printed")).unwrap());
        command.stderr(File::create(self.path().join("said")).unwrap());
        command
    }

    /// Whatever is in its way, it comes to its own end.
    fn play(&self) {
        self.play_as(&mut self.command());
    }

    fn play_as(&self, command: &mut Command) {
        let status = tool::ends(command, PATIENCE, &self.before);
        assert_eq!(status.code(), OWN, "{}: {status}\n{}", self.before, self.said());
    }

    fn said(&self) -> String {
        fs::read_to_string(self.path().join("said")).unwrap()
    }

    /// Files that are there in the end, without those of the test.
    fn files(&self) -> Vec<String> {
        let entries = self.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut files: Vec<String> = entries.filter(|name| !["printed", "said"].contains(&name.as_str())).collect();
        files.sort();
        files
    }
}

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

/// A pipe of which nobody reads the other end, if there is one.
fn pipe(is_read: bool) -> (Option<OwnedFd>, OwnedFd) {
    let mut ends = [0; 2];
    // SAFETY: two descriptors are written, which are owned from here on.
    let [reader, writer] = unsafe {
        assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC), 0);
        ends.map(|end| OwnedFd::from_raw_fd(end))
    };
    (is_read.then_some(reader), writer)
}

/// Lines about settings, which come at the first init, and one about the summary, which comes at the end.
fn talkative() -> Job {
    Job::new().set("NCCL_SCOREP_WINDOW_EVENTS", "some").set("NCCL_SCOREP_SUMMARY", "/proc/nowhere/summary.json")
}

#[test]
fn a_line_into_a_pipe_that_nobody_reads_ends_no_job() {
    let job = talkative();
    job.play();
    assert_eq!(job.said().lines().count(), 2, "{}", job.said());
    let (_, writer) = pipe(false);
    job.play_as(job.command().stderr(Stdio::from(writer)));
}

#[test]
fn a_line_that_finds_no_room_is_waited_for_by_nobody() {
    let job = talkative();
    let (reader, writer) = pipe(true);
    // SAFETY: fcntl of a descriptor of our own.
    let size = unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_GETPIPE_SZ) };
    let mut full = File::from(writer.try_clone().unwrap());
    full.write_all(&vec![b'.'; usize::try_from(size).unwrap()]).unwrap();
    job.play_as(job.command().stderr(Stdio::from(writer.try_clone().unwrap())));
    drop((full, writer));
    let mut text = String::new();
    File::from(reader.unwrap()).read_to_string(&mut text).unwrap();
    assert!(text.bytes().all(|byte| byte == b'.'), "{text}");
}

#[test]
fn a_file_beyond_the_limit_of_files_ends_no_job() {
    let job = Job::new().set("NCCL_SCOREP_SUMMARY", "summary.json").set("NCCL_SCOREP_RECORD", ".").before("ulimit -f 1");
    job.play();
    assert!(job.files().is_empty(), "half a file: {:?}", job.files());
    assert_eq!(job.said().matches("File too large").count(), 2, "{}", job.said());
}

/// Standard output and standard error are files there, too.
#[test]
fn lines_and_summaries_beyond_the_limit_of_files_end_no_job() {
    for summary in ["/proc/self/fd/1", "/proc/self/fd/2", "missing/summary.json"] {
        let job = Job::new().set("NCCL_SCOREP_WINDOW_EVENTS", "some").set("NCCL_SCOREP_SUMMARY", summary).before("ulimit -f 0");
        job.play();
        assert_eq!(job.said(), "", "{summary}");
    }
}
