//! Outputs that cannot be written, and reports that a signal ends.

use crate::report::{ran, report};
use crate::support::tool;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longest time until a report is at work, or has ended.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_full_output_is_an_error_and_no_panic() {
    let directory = TempDir::new().unwrap();
    let run = tool::run("nvlink2_graph");
    let full = || File::options().write(true).open("/dev/full").unwrap();
    for options in [&[][..], &["--all"], &["--json", "-"], &["--json", "/dev/stdout"], &["--html", "/dev/stdout"]] {
        let output = report([&run]).args(options).stdout(full()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{options:?}: {said}");
        assert!(said.contains("No space left on device"), "{options:?}: {said}");
    }
    // a device stays a device
    let device = directory.path().join("full");
    symlink("/dev/full", &device).unwrap();
    for option in ["--json", "--html", "--perfetto"] {
        let (status, _, said) = ran(report([&run]).arg(option).arg(&device));
        assert_eq!(status, Some(1), "{option}: {said}");
        assert!(said.contains(&format!("{}: No space left", device.display())), "{option}: {said}");
        assert!(device.is_symlink(), "{option} has replaced a device");
    }
}

#[test]
fn places_that_cannot_be_written_are_named_before_the_work() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "in the way").unwrap();
    for (option, place) in [
        ("--html", directory.path().to_path_buf()),
        ("--json", file.join("report.json")),
        ("--perfetto", file.join("trace")),
        ("--csv", file.clone()),
        ("--parquet", file.join("tables")),
    ] {
        let (status, printed, said) = ran(report([tool::run("nvlink2_graph")]).arg(option).arg(&place));
        assert_eq!((status, printed.as_str()), (Some(1), ""), "{option}: {said}");
        assert!(said.contains(&place.display().to_string()) && said.lines().count() == 1, "{option}: {said}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "in the way");
    assert_eq!(directory.path().read_dir().unwrap().count(), 1);
}

fn names(directory: &Path) -> Vec<String> {
    directory.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The trace goes into a pipe that nobody empties, so that the report waits with all other files begun.
#[test]
fn a_signal_leaves_no_files() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let directory = TempDir::new().unwrap();
        let place = |name: &str| directory.path().join(name);
        for name in ["tmp", "csv", "parquet"] {
            fs::create_dir(place(name)).unwrap();
        }
        assert!(Command::new("mkfifo").arg(place("pipe")).status().unwrap().success());
        let _reader = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(place("pipe")).unwrap();
        let mut command = report([tool::run("nodes2x2_train")]);
        for (option, name) in
            [("--csv", "csv"), ("--parquet", "parquet"), ("--perfetto", "pipe"), ("--json", "report.json")]
        {
            command.arg(option).arg(place(name));
        }
        tool::heed_signals(&mut command);
        let mut child =
            command.env("TMPDIR", place("tmp")).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        while names(&place("csv")).is_empty() || names(&place("parquet")).is_empty() {
            assert!(child.try_wait().unwrap().is_none() && begun.elapsed() < PATIENCE, "the report does not begin");
            std::thread::sleep(Duration::from_millis(2));
        }
        assert!(!names(&place("tmp")).is_empty());
        // SAFETY: kill takes any numbers; the process is this test's own, and has not been waited for.
        assert_eq!(unsafe { libc::kill(child.id().cast_signed(), signal) }, 0);
        assert_eq!(child.wait().unwrap().signal(), Some(signal));
        let left: Vec<String> = ["tmp", "csv", "parquet"].iter().flat_map(|name| names(&place(name))).collect();
        assert!(left.is_empty() && !place("report.json").exists(), "{left:?}");
    }
}
