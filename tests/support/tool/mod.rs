//! The command-line tool, as tests run it.
#![allow(dead_code, reason = "each test target uses a part of its own")]

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};
use std::time::{Duration, Instant};

/// The tool, with an environment that holds no setting of whoever runs the tests.
pub(crate) fn tool() -> Command {
    clean(Command::new(env!("CARGO_BIN_EXE_scorep-nccl")), "NCCL_SCOREP_")
}

/// The same of another build.
pub(crate) fn program(path: &Path) -> Command {
    clean(Command::new(path), "NCCL_SCOREP_")
}

/// A host, with an environment that holds no setting of NCCL's either.
pub(crate) fn host(program: &str) -> Command {
    clean(Command::new(program), "NCCL_")
}

/// The tool bound to that many processors, at most as many as there are.
pub(crate) fn tool_on(processors: usize) -> Command {
    let mut command = Command::new("taskset");
    command.arg("--cpu-list").arg(format!("0-{}", processors - 1)).arg(env!("CARGO_BIN_EXE_scorep-nccl"));
    clean(command, "NCCL_SCOREP_")
}

/// A program that is given another one to run, with the other's environment: arguments of the first, then the whole of
/// the second.
pub(crate) fn within(program: &str, arguments: &[&std::ffi::OsStr], other: &Command) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).arg(other.get_program()).args(other.get_args());
    for (name, value) in other.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

fn clean(mut command: Command, prefix: &str) -> Command {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with(prefix) {
            command.env_remove(name);
        }
    }
    command
}

/// The recorded runs, by name.
pub(crate) fn runs() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    let entries = root.read_dir().unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let mut runs: Vec<(String, PathBuf)> =
        entries.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), path)).collect();
    runs.sort();
    assert!(runs.len() >= 17, "tests/captures is incomplete: {runs:?}");
    runs
}

/// A run's directory.
pub(crate) fn run(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name)
}

/// A run's captures in the order of ranks.
pub(crate) fn captures(run: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = run.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The summary that a replay prints.
pub(crate) fn summary(command: &mut Command) -> Value {
    serde_json::from_str(&succeed(command)).unwrap()
}

/// What a command prints that must succeed and say nothing on standard error.
pub(crate) fn succeed(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(status.success() && stderr.is_empty(), "{command:?}: {status}\n{stderr}");
    String::from_utf8(stdout).unwrap()
}

/// How a process ends that may hang. What it prints must go to files, which are never full.
#[allow(clippy::panic, reason = "a test that cannot go on should stop")]
pub(crate) fn ends(command: &mut Command, patience: Duration, what: &str) -> ExitStatus {
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if begun.elapsed() > patience {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{what} hangs");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The shipped library as cargo has built it for the tests.
pub(crate) fn library() -> PathBuf {
    let deps = Path::new(env!("CARGO_BIN_EXE_scorep-nccl")).parent().unwrap().join("deps");
    let path = deps.join("libscorep_substrate_nccl.so");
    assert!(path.is_file(), "{} is missing", path.display());
    path
}

/// The library among what `make library` builds.
pub(crate) const LIBRARY: &str = "libscorep_substrate_nccl.so";

/// What `make library` has built, as it is shipped; what is wrong where it is not there, or older than what it is made
/// of.
pub(crate) fn shipped(name: &str) -> Result<PathBuf, String> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let path = target.join("shipped/release").join(name);
    let time = |path: &Path| path.metadata().and_then(|data| data.modified());
    let Ok(made) = time(&path) else { return Err(format!("{} is missing (`make library tool`)", path.display())) };
    // cargo's own list: FILE: SOURCE SOURCE...
    let list = std::fs::read_to_string(path.with_extension("d")).unwrap();
    let (_, sources) = list.split_once(": ").unwrap();
    // one that is gone is as good as changed
    let changed = |source: &&str| time(Path::new(source)).map_or(true, |time| time > made);
    match sources.split_whitespace().find(changed) {
        Some(newer) => Err(format!("{} is older than {newer} (`make library tool`)", path.display())),
        None => Ok(path),
    }
}

/// Says that a test needs what is not there; an error where the environment says that everything is (as continuous
/// integration does).
pub(crate) fn skip(what: &str) {
    assert!(std::env::var_os("SCOREP_NCCL_TEST_ALL").is_none(), "{what}");
    say(&format!("skipped: {what}"));
}

/// Says something of a test that passes; `println` would not show it.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
