//! Damaged archives: whatever becomes of the process that reads one, the tool names it and leaves nothing behind.

use crate::communication::experiment::{experiment, trace};
use crate::communication::skipped;
use crate::support::tool;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// An anchor file that says it has 2^31 properties: OTF2 3.0.2 allocates nothing for them, and writes behind it.
fn anchor_of_many() -> Vec<u8> {
    let head = [&b"\x03BOTF2\0\x03"[..], &[3, 3, 0, 2], &(1_u64 << 20).to_le_bytes(), &(1_u64 << 22).to_le_bytes()];
    let numbers = [&[1, 1][..], &1_u64.to_le_bytes(), &1_u64.to_le_bytes(), b"m\0c\0d\0", &(1_u32 << 31).to_le_bytes()];
    [head.concat(), numbers.concat(), b"name\0value\0name\0value\0".to_vec()].concat()
}

/// Runs commands that read an archive. They fail by themselves, whatever OTF2 makes of it, name it, and leave nothing.
fn refuses(archive: &Path, what: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("copy");
    let mut report = tool::tool();
    report.arg("report").arg(archive);
    let mut words = String::new();
    for (name, mut command) in [("trace", trace(archive, &copy)), ("report", report)] {
        let output = command.env("TMPDIR", directory.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{name}, {what}: {} {said}", output.status);
        let last = said.lines().rfind(|line| line.starts_with("scorep-nccl: ")).unwrap();
        words += last;
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "{name}, {what}");
        if name == "report" {
            assert!(last.contains(&archive.join("traces.otf2").display().to_string()), "{what}: {said}");
        }
    }
    words
}

#[test]
fn a_damaged_archive_is_an_error_and_no_crash() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let experiment = experiment(directory.path(), 2, 10, "");
    let anchor = experiment.join("traces.otf2");
    let whole = fs::read(&anchor).unwrap();
    for (what, damaged) in [("many", anchor_of_many()), ("cut", whole[..whole.len() / 2].to_vec())] {
        fs::write(&anchor, damaged).unwrap();
        assert!(refuses(&experiment, what).contains("the anchor file of the archive is damaged"), "{what}");
    }
}

/// Whatever the OTF2 library does to the process that reads, the tool names the archive and goes on.
#[test]
fn a_crash_of_the_library_is_an_error_that_names_the_archive() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let experiment = experiment(directory.path(), 2, 10, "");
    // the library waits for its definitions
    let definitions = experiment.join("traces.def");
    fs::remove_file(&definitions).unwrap();
    assert!(Command::new("mkfifo").arg(&definitions).status().unwrap().success());
    let mut report = tool::tool();
    report.arg("report").arg(&experiment).env("TMPDIR", directory.path());
    for mut command in [trace(&experiment, &directory.path().join("copy")), report] {
        let tool = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let children = format!("/proc/{0}/task/{0}/children", tool.id());
        let begun = Instant::now();
        let child: i32 = loop {
            assert!(begun.elapsed() < Duration::from_secs(60), "no child reads");
            if let Some(child) = fs::read_to_string(&children).unwrap().split_whitespace().next() {
                break child.parse().unwrap();
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        // SAFETY: kill takes any numbers; the process is a child of this test's own, which waits for it.
        assert_eq!(unsafe { libc::kill(child, libc::SIGKILL) }, 0);
        let output = tool.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        let anchor = experiment.join("traces.otf2").display().to_string();
        assert!(said.contains(&anchor) && said.contains("has ended by signal 9"), "{said}");
        let left: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["experiment"]);
    }
}
