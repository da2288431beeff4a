//! Behaviour of the tool when it cannot write, when a signal ends it, and when it writes to a terminal.

use crate::support::tool;

use common::report::{self, View};
use common::summary::Summary;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longest time that a process may take to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns commands that write to standard output; `place` is a directory with room for their files.
fn commands(place: &Path) -> Vec<Command> {
    let command = |arguments: &[&str]| {
        let mut command = tool::tool();
        command.args(arguments).env("TMPDIR", place).current_dir(place);
        command
    };
    let run = tool::run("nodes2x1_comms").display().to_string();
    vec![
        command(&["replay", &run]),
        command(&["replay", &run, "--format", "json"]),
        command(&["demo"]),
        command(&["env", "--all"]),
        command(&["doctor"]),
        command(&["doctor", "--json"]),
        command(&["--help"]),
        command(&["--version"]),
    ]
}

#[test]
fn a_full_output_is_an_error_and_no_panic() {
    let place = tempfile::tempdir().unwrap();
    for mut command in commands(place.path()) {
        let output = command.stdout(File::options().write(true).open("/dev/full").unwrap()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{command:?}: {said}");
        assert!(said.starts_with("scorep-nccl: standard output: ") && said.lines().count() == 1, "{command:?}: {said}");
    }
    // the tool does not panic either where the message cannot be written
    for mut command in commands(place.path()) {
        let full = || File::options().write(true).open("/dev/full").unwrap();
        let status = command.stdout(full()).stderr(full()).status().unwrap();
        assert_eq!(status.code(), Some(1), "{command:?}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_tool_quietly() {
    let place = tempfile::tempdir().unwrap();
    for mut command in commands(place.path()) {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command.stdout(writer).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.is_empty() && output.status.code() != Some(101), "{command:?}: {} {said}", output.status);
    }
    let left: Vec<PathBuf> = entries(place.path());
    assert!(left.iter().all(|path| path.ends_with("scorep-nccl-demo")), "{left:?}");
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    directory.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// A replay that waits for a capture, with the directory of its temporary files.
struct Waiting {
    directory: TempDir,
    replay: std::process::Child,
}

impl Waiting {
    /// Starts a replay, and waits until its children run.
    fn new(before: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["tmp", "out"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        let fifo = directory.path().join("late.r0.jsonl.gz");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let tool = tool::tool();
        let mut command = match before {
            [] => tool,
            [first, rest @ ..] => {
                tool::within(first, &rest.iter().map(std::ffi::OsStr::new).collect::<Vec<_>>(), &tool)
            }
        };
        command.arg("replay").arg(&fifo).arg("--summary").arg(directory.path().join("out/summary.json"));
        command.arg("--otf2").arg(directory.path().join("out/trace")).env("TMPDIR", directory.path().join("tmp"));
        tool::heed_signals(&mut command);
        let replay = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let waiting = Self { directory, replay };
        while waiting.children().is_empty() || entries(&waiting.directory.path().join("tmp")).is_empty() {
            std::thread::sleep(Duration::from_millis(2));
        }
        waiting
    }

    fn children(&self) -> Vec<u32> {
        let tasks = format!("/proc/{}/task", self.replay.id());
        let of = |task: PathBuf| fs::read_to_string(task.join("children")).unwrap_or_default();
        let children: String = fs::read_dir(tasks).unwrap().map(|task| of(task.unwrap().path())).collect();
        children.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
    }

    /// Sends a signal; returns the signal that ended the replay, after its children have ended.
    fn ended_by(&mut self, signal: i32) -> Option<i32> {
        let children = self.children();
        // SAFETY: kill takes any numbers; the process is this test's own, and has not been waited for.
        assert_eq!(unsafe { libc::kill(self.replay.id().cast_signed(), signal) }, 0);
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.replay.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < PATIENCE, "signal {signal} does not end it");
            std::thread::sleep(Duration::from_millis(2));
        };
        for child in children {
            // a zombie counts as ended: nobody may have waited for it
            let is_there = |stat: String| !stat.rsplit(')').next().unwrap().starts_with(" Z");
            let begun = Instant::now();
            while fs::read_to_string(format!("/proc/{child}/stat")).is_ok_and(is_there) {
                assert!(begun.elapsed() < PATIENCE, "a child stays behind");
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        status.signal()
    }

    /// Returns the files that the replay has left behind.
    fn left(&self) -> Vec<PathBuf> {
        ["tmp", "out"].into_iter().flat_map(|name| entries(&self.directory.path().join(name))).collect()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.replay.kill();
        let _ = self.replay.wait();
    }
}

#[test]
fn a_signal_leaves_neither_files_nor_children() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let mut waiting = Waiting::new(&[]);
        assert_eq!((waiting.ended_by(signal), waiting.left()), (Some(signal), vec![]));
    }
    // after SIGKILL its files stay, which cannot be helped
    assert_eq!(Waiting::new(&[]).ended_by(libc::SIGKILL), Some(libc::SIGKILL));
}

#[test]
fn a_signal_that_is_ignored_stays_so() {
    // a shell has its jobs in the background ignore SIGINT
    let in_background = ["sh", "-c", r#"trap '' INT; exec "$0" "$@""#];
    for (before, ignored) in [(&["nohup"][..], libc::SIGHUP), (&in_background, libc::SIGINT)] {
        let mut waiting = Waiting::new(before);
        // SAFETY: kill takes any numbers; the process is this test's own, and has not been waited for.
        assert_eq!(unsafe { libc::kill(waiting.replay.id().cast_signed(), ignored) }, 0);
        assert_eq!((waiting.ended_by(libc::SIGTERM), waiting.left()), (Some(libc::SIGTERM), vec![]));
    }
}

#[test]
fn signals_of_a_test_are_heeded_wherever_the_test_runs() {
    tool::in_the_background("outputs::a_signal_leaves_neither_files_nor_children");
}

/// Returns the output of a successful command on a terminal of this width.
fn on_terminal(columns: u16, command: &mut Command) -> String {
    let (text, status) = printed_on_terminal(columns, command);
    assert!(status.success());
    text
}

/// Returns the output of a command on a terminal of this width, and its exit status.
fn printed_on_terminal(columns: u16, command: &mut Command) -> (String, ExitStatus) {
    let size = libc::winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let (mut ours, mut theirs) = (0, 0);
    // SAFETY: the pointers are two places for descriptors, NULL for name and modes, and a size that is only read.
    let opened = unsafe {
        libc::openpty(&raw mut ours, &raw mut theirs, std::ptr::null_mut(), std::ptr::null(), &raw const size)
    };
    assert_eq!(opened, 0);
    // SAFETY: both descriptors are new, and nothing else owns them.
    let (ours, theirs) = unsafe { (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
    let mut child = command.stdout(theirs).stderr(Stdio::null()).stdin(Stdio::null()).spawn().unwrap();
    // the command holds the terminal open, too
    command.stdout(Stdio::null());
    let mut text = Vec::new();
    let mut ours = File::from(ours);
    let mut some = [0; 4096];
    // reading at the end of a terminal gives an error
    while let Ok(count @ 1..) = ours.read(&mut some) {
        text.extend_from_slice(&some[..count]);
    }
    (String::from_utf8(text).unwrap(), child.wait().unwrap())
}

/// Returns the width of the widest line of a table, in columns.
fn widest(text: &str) -> usize {
    let tables = text.lines().map(|line| line.trim_end_matches('\r')).filter(|line| is_of_table(line));
    tables.map(|line| line.chars().count()).max().unwrap()
}

/// Returns whether a line belongs to a table.
fn is_of_table(line: &str) -> bool {
    line.starts_with(['│', '┌', '╞', '└'])
}

/// Returns the cells of all rows of all tables without the headings.
fn cells(text: &str) -> Vec<String> {
    let mut cells = Vec::new();
    let mut is_heading = false;
    for line in text.lines().filter(|line| is_of_table(line)) {
        match line.chars().next() {
            Some('┌') => is_heading = true,
            Some('╞') => is_heading = false,
            Some('│') if !is_heading => cells.extend(line.split(['│', '┆']).map(|cell| cell.trim().to_owned())),
            _ => (),
        }
    }
    cells
}

#[test]
fn tables_of_all_captures_have_whole_numbers_at_any_width() {
    for (name, run) in tool::runs() {
        let summary = tool::succeed(tool::tool().args(["replay", "--lateness", "--format", "json"]).arg(run));
        let summary: Summary = serde_json::from_str(&summary).unwrap();
        let whole = report::view(&summary, &View::default());
        let known: BTreeSet<String> = cells(&whole).into_iter().collect();
        for width in [80, 60] {
            let text = report::view(&summary, &View { width: Some(width), ..View::default() });
            let wide = text.lines().find(|line| is_of_table(line) && line.chars().count() > width.into());
            assert_eq!(wide, None, "{name} at {width}\n{text}");
            // each is a cell of the full table, or the first digits of a communicator
            let unknown: Vec<String> = cells(&text)
                .into_iter()
                .filter(|cell| {
                    !(known.contains(cell) || cell.len() == 8 && known.iter().any(|whole| whole.starts_with(cell)))
                })
                .collect();
            assert!(unknown.is_empty(), "{name} at {width}: {unknown:?}\n{text}");
            let rows = |text: &str| text.lines().filter(|line| line.starts_with('│') && line.contains(" > ")).count();
            assert_eq!(rows(&text), rows(&whole), "{name} at {width}\n{text}");
            let has_all = |text: &str| text.contains(" R2 │");
            let is_named = text.contains("left out at this width: R2");
            assert_eq!(has_all(&whole) && !has_all(&text), is_named, "{name} at {width}\n{text}");
        }
    }
}

#[test]
fn nothing_is_wider_than_the_terminal_but_single_words() {
    let run = tool::run("net2_single");
    for width in [80, 60] {
        for arguments in [&["replay", run.to_str().unwrap()][..], &["doctor"]] {
            let mut command = tool::tool();
            // a doctor's exit status depends on its findings
            let text = printed_on_terminal(width, command.args(arguments).env_remove("COLUMNS")).0;
            let lines = text.lines().map(|line| line.trim_end_matches('\r'));
            let wide: Vec<&str> = lines
                .filter(|line| {
                    line.chars().count() > width.into() && (is_of_table(line) || line.split_whitespace().count() > 2)
                })
                .collect();
            assert!(wide.is_empty() && text.lines().count() > 3, "{arguments:?} at {width}: {wide:?}");
        }
    }
}

#[test]
fn tables_are_no_wider_than_the_terminal() {
    let run = tool::run("nodes2x1_comms");
    let replay = || {
        let mut command = tool::tool();
        command.arg("replay").arg(&run).env_remove("COLUMNS");
        command
    };
    let whole = widest(&tool::succeed(&mut replay()));
    assert!(whole > 100, "{whole}");
    assert_eq!(widest(&tool::succeed(replay().env("COLUMNS", "90"))), whole, "no terminal");
    let narrow = on_terminal(100, &mut replay());
    assert!(widest(&narrow) <= 100, "{narrow}");
    assert_eq!(widest(&on_terminal(250, &mut replay())), whole);
    let chosen = on_terminal(250, replay().env("COLUMNS", "90"));
    assert!(widest(&chosen) <= 90, "{chosen}");
    let settings = on_terminal(90, tool::tool().args(["env", "--all"]).env_remove("COLUMNS"));
    assert!(widest(&settings) <= 90, "{settings}");
}
