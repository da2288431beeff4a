//! A killed process leaves its summary and its recording as they were last written. Both say that they are incomplete.

use crate::support::{lines, tool};

use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A process that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A job that runs until it is killed, with a summary and a recording.
struct Job {
    directory: TempDir,
    process: Child,
}

impl Job {
    /// Starts a job that writes both files at this interval, seconds.
    fn begin(seconds: &str) -> Self {
        Self::begin_with(seconds, "1", &[])
    }

    /// Starts a job with an operation at this interval, milliseconds, and with further variables.
    fn begin_with(seconds: &str, milliseconds: &str, variables: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut command = tool::host(env!("HOST_EXPORT_HOST"));
        command.arg(tool::library()).args(["6", milliseconds]);
        for (name, value) in [("SUMMARY", "summary.json"), ("RECORD", "recordings")] {
            command.env(format!("NCCL_SCOREP_{name}"), directory.path().join(value));
            command.env(format!("NCCL_SCOREP_{name}_SECONDS"), seconds);
        }
        command.envs(variables.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::null());
        let said = File::create(directory.path().join("said")).unwrap();
        tool::heed_signals(&mut command);
        let process = command.stderr(said).spawn().unwrap();
        Self { directory, process }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn summary(&self) -> Option<Value> {
        serde_json::from_slice(&fs::read(self.path("summary.json")).ok()?).unwrap()
    }

    fn recordings(&self) -> Vec<PathBuf> {
        let Ok(entries) = self.path("recordings").read_dir() else { return vec![] };
        let files = entries.map(|entry| entry.unwrap().path());
        files.filter(|path| path.to_string_lossy().ends_with(".jsonl.gz")).collect()
    }

    /// Waits until both files have been written twice.
    fn await_parts(&mut self) {
        let begun = Instant::now();
        let mut first = None;
        loop {
            assert!(begun.elapsed() < PATIENCE && self.process.try_wait().unwrap().is_none(), "{}", self.said());
            std::thread::sleep(Duration::from_millis(5));
            let Some(operations) = self.summary().map(|summary| operations(&summary)) else { continue };
            let Some(length) = self.recordings().first().map(|path| path.metadata().unwrap().len()) else { continue };
            let (before, shorter) = *first.get_or_insert((operations, length));
            if operations > before && length > shorter {
                return;
            }
        }
    }

    fn order(&mut self, order: &str) {
        self.process.stdin.as_mut().unwrap().write_all(order.as_bytes()).unwrap();
    }

    fn signal(&self, signal: i32) {
        // SAFETY: the process is this test's own, and has not been waited for.
        assert_eq!(unsafe { libc::kill(self.process.id().cast_signed(), signal) }, 0);
    }

    fn wait(&mut self) -> ExitStatus {
        drop(self.process.stdin.take());
        self.process.wait().unwrap()
    }

    fn said(&self) -> String {
        fs::read_to_string(self.path("said")).unwrap()
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn operations(summary: &Value) -> u64 {
    summary["operations"].as_array().unwrap().iter().map(|row| row["count"].as_u64().unwrap()).sum()
}

fn replayed(recording: &Path) -> Value {
    tool::summary(tool::tool().args(["replay", "--format", "json"]).arg(recording))
}

const CUT: &str = "the recording ends before its process did: the figures are those up to there";

fn is_cut(summary: &Value) -> bool {
    summary["processes"][0]["notes"].as_array().unwrap().contains(&json!(CUT))
}

#[test]
fn whatever_ends_a_process_what_it_has_written_stays() {
    for (name, signal) in [
        ("SIGKILL", Some(libc::SIGKILL)),
        ("SIGTERM", Some(libc::SIGTERM)),
        ("SIGINT", Some(libc::SIGINT)),
        ("abort", Some(libc::SIGABRT)),
        ("_exit", None),
    ] {
        let mut job = Job::begin("0.05");
        job.await_parts();
        match signal {
            Some(signal) => job.signal(signal),
            None => job.order("leave at once\n"),
        }
        // the library has not changed the action of any signal
        assert_eq!(job.wait().signal(), signal, "{name}");
        assert_eq!(job.said(), "", "{name}");
        let summary = job.summary().unwrap();
        assert!(summary["complete"] == json!(false) && operations(&summary) > 0, "{name}: {summary}");
        let recordings = job.recordings();
        assert_eq!(recordings.len(), 1, "{name}: {recordings:?}");
        let again = replayed(&recordings[0]);
        assert!(again["complete"] == json!(false) && is_cut(&again), "{name}: {again}");
        assert!(operations(&again) > 0 && again["processes"][0]["dropped"] == json!(0), "{name}: {again}");
    }
}

#[test]
fn signals_of_a_test_are_heeded_wherever_the_test_runs() {
    tool::in_the_background("killed::whatever_ends_a_process_what_it_has_written_stays");
}

#[test]
fn a_process_that_ends_says_so_in_both() {
    let mut job = Job::begin("0.05");
    job.await_parts();
    assert!(job.wait().success() && job.said().is_empty(), "{}", job.said());
    let summary = job.summary().unwrap();
    let recordings = job.recordings();
    let again = replayed(&recordings[0]);
    assert_eq!([&summary["complete"], &again["complete"]], [&json!(true), &json!(true)]);
    assert!(lines::ends(&lines::all(&recordings[0]).1) && !is_cut(&again));
    // a recording in many parts has the same operations
    assert_eq!(operations(&again), operations(&summary));
    assert_eq!(again["processes"][0]["callbacks"], summary["processes"][0]["callbacks"]);
    let [files, parts] =
        [job.directory.path().to_owned(), job.path("recordings")].map(|path| path.read_dir().unwrap().count());
    assert_eq!([files, parts], [3, 1], "something is left over");
}

#[test]
fn a_job_that_is_killed_in_its_first_minute_leaves_both() {
    let mut job = Job::begin("3600");
    let begun = Instant::now();
    while job.summary().is_none() || job.recordings().is_empty() {
        assert!(begun.elapsed() < PATIENCE && job.process.try_wait().unwrap().is_none(), "{}", job.said());
        std::thread::sleep(Duration::from_millis(20));
    }
    job.signal(libc::SIGKILL);
    job.wait();
    let summary = job.summary().unwrap();
    assert!(summary["complete"] == json!(false) && operations(&summary) > 0, "{summary}");
    assert!(operations(&replayed(&job.recordings()[0])) > 0);
}

#[test]
fn what_a_full_recording_lacks_is_counted_until_the_process_is_killed() {
    let mut job = Job::begin_with("0.3", "0", &[("NCCL_SCOREP_RECORD_MB", "1")]);
    let begun = Instant::now();
    let mut seen: Vec<u64> = vec![];
    // wait until the memory is full, and then for two further counts
    while seen.len() < 3 {
        assert!(begun.elapsed() < PATIENCE && job.process.try_wait().unwrap().is_none(), "{seen:?}: {}", job.said());
        std::thread::sleep(Duration::from_millis(20));
        let Some(recording) = job.recordings().pop() else { continue };
        // the head is a gzip member of its own, and may just be being written
        let Some(head) = lines::head(&recording).filter(|head| head["full"].is_u64()) else { continue };
        let dropped = head["dropped"].as_u64().unwrap();
        if seen.last().is_none_or(|&before| dropped > before) {
            seen.push(dropped);
        }
    }
    job.signal(libc::SIGKILL);
    job.wait();
    let recording = job.recordings().remove(0);
    let dropped = lines::head(&recording).unwrap()["dropped"].as_u64().unwrap();
    assert!(dropped >= seen[2], "{dropped}: {seen:?}");
    let output = tool::tool().args(["replay", "--format", "json"]).arg(&recording).output().unwrap();
    let again: Value = serde_json::from_slice(&output.stdout).unwrap();
    let process = &again["processes"][0];
    assert_eq!(process["dropped"], json!(dropped));
    let note = format!("the recording lacks at least {dropped} callbacks: the figures are too small");
    assert!(process["notes"].as_array().unwrap().contains(&json!(note)), "{process}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(&format!("(at least {dropped}, full after ")), "{said}");
}

/// A replay ignores everything after the last whole line.
#[test]
fn a_recording_that_is_cut_off_anywhere_goes_up_to_there() {
    let mut job = Job::begin("0.05");
    job.await_parts();
    assert!(job.wait().success());
    let recording = job.recordings().remove(0);
    let whole = fs::read(&recording).unwrap();
    let all = operations(&replayed(&recording));
    let mut before = all;
    for cut in [1, whole.len() / 4, whole.len() / 2] {
        let place = job.path("cut.jsonl.gz");
        fs::write(&place, &whole[..whole.len() - cut]).unwrap();
        let again = replayed(&place);
        let operations = operations(&again);
        assert!(again["complete"] == json!(cut == 1) && is_cut(&again) == (cut > 1), "{cut}: {again}");
        assert!(
            operations > 0 && operations <= before && (cut == 1 || operations < all),
            "{cut}: {operations} of {before}"
        );
        before = operations;
    }
}

#[test]
fn with_no_seconds_both_are_written_at_the_end_alone() {
    let mut job = Job::begin("0");
    // this process has only its own threads and the collector
    job.order("look\n");
    std::thread::sleep(Duration::from_millis(50));
    assert!(job.summary().is_none() && job.recordings().is_empty());
    assert!(job.wait().success());
    assert_eq!(job.summary().unwrap()["complete"], json!(true));
    assert!(lines::ends(&lines::all(&job.recordings()[0]).1));
}

#[test]
fn a_summary_into_a_pipe_is_written_once() {
    let mut command = tool::host(env!("HOST_EXPORT_HOST"));
    command.arg(tool::library()).args(["6", "1"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.env("NCCL_SCOREP_SUMMARY", "/dev/fd/2").env("NCCL_SCOREP_SUMMARY_SECONDS", "0.02");
    let mut process = command.spawn().unwrap();
    // long enough for several writes of a file
    std::thread::sleep(Duration::from_millis(200));
    drop(process.stdin.take());
    let output = process.wait_with_output().unwrap();
    let summary: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert!(output.status.success() && summary["complete"] == json!(true));
}
