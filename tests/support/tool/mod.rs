//! The command-line tool, as tests run it.

use super::skip;

use serde_json::Value;
use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output};
use std::time::{Duration, Instant};

pub(crate) use skip::{leave_out, say, skip};

/// Returns the tool, without the caller's settings of the library in its environment.
pub(crate) fn tool() -> Command {
    clean(Command::new(env!("CARGO_BIN_EXE_scorep-nccl")), "NCCL_SCOREP_")
}

/// Removes from a command that calls cargo what this test's cargo says of this package. Build scripts heed it, so all
/// that depends on them would be built anew, here and again by the next cargo outside.
pub(crate) fn of_no_package(command: &mut Command) {
    ["CARGO_PKG_", "CARGO_MANIFEST_", "OUT_DIR"].iter().for_each(|prefix| remove(command, prefix));
}

/// Returns another build of the tool, with the same environment.
pub(crate) fn program(path: &Path) -> Command {
    clean(Command::new(path), "NCCL_SCOREP_")
}

/// Returns a host, without any setting of NCCL's or the library's in its environment.
pub(crate) fn host(program: &str) -> Command {
    clean(Command::new(program), "NCCL_")
}

/// Returns the tool bound to `processors` processors, or to all if there are fewer.
pub(crate) fn tool_on(processors: usize) -> Command {
    let mut command = Command::new("taskset");
    command.arg("--cpu-list").arg(format!("0-{}", processors - 1)).arg(env!("CARGO_BIN_EXE_scorep-nccl"));
    clean(command, "NCCL_SCOREP_")
}

/// Returns a program that runs another one: its own arguments, then the other program with its arguments. The
/// environment is the other program's.
pub(crate) fn within(program: &str, arguments: &[&OsStr], other: &Command) -> Command {
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
    remove(&mut command, prefix);
    command
}

/// Removes the caller's variables with that prefix from the environment of a command.
fn remove(command: &mut Command, prefix: &str) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with(prefix) {
            command.env_remove(name);
        }
    }
}

/// Has the process of a command heed the signals that its test sends, whatever this process ignores: under nohup it
/// ignores SIGHUP, and in a shell's background SIGINT, and so would its children.
pub(crate) fn heed_signals(command: &mut Command) {
    let heed = || {
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
            // SAFETY: no handler is installed; the system takes the action.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: what runs between fork and exec makes calls of the system, and allocates nothing.
    unsafe { command.pre_exec(heed) };
}

/// Runs a test of this program once more, as under nohup and in a shell's background.
pub(crate) fn in_the_background(test: &str) {
    let mut shell = Command::new("sh");
    let ignoring = r#"trap '' HUP INT QUIT; exec "$0" --exact "$1""#;
    let output = shell.args(["-c", ignoring]).arg(std::env::current_exe().unwrap()).arg(test).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// Returns the recorded runs, by name.
pub(crate) fn runs() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    let entries = root.read_dir().unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let mut runs: Vec<(String, PathBuf)> =
        entries.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), path)).collect();
    runs.sort();
    assert!(runs.len() >= 17, "tests/captures is incomplete: {runs:?}");
    runs
}

/// Returns a run's directory.
pub(crate) fn run(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name)
}

/// Returns a run's captures in the order of ranks.
pub(crate) fn captures(run: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = run.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Returns the summary that a replay prints.
pub(crate) fn summary(command: &mut Command) -> Value {
    serde_json::from_str(&succeed(command)).unwrap()
}

/// Runs a command that must succeed without writing to standard error, and returns its output.
pub(crate) fn succeed(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(status.success() && stderr.is_empty(), "{command:?}: {status}\n{stderr}");
    String::from_utf8(stdout).unwrap()
}

/// Starts a process that may hang, and returns how it ends. Its output must go to files: a pipe could become full.
pub(crate) fn ends(command: &mut Command, patience: Duration, what: &str) -> ExitStatus {
    ended(command.spawn().unwrap(), patience, what)
}

/// Waits for a process that was started.
#[allow(clippy::panic, reason = "a test that cannot go on should stop")]
pub(crate) fn ended(mut child: Child, patience: Duration, what: &str) -> ExitStatus {
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

/// Returns the shipped library as cargo has built it for the tests, or the one that the environment names: an installed
/// one.
pub(crate) fn library() -> PathBuf {
    if let Some(named) = std::env::var_os("SCOREP_NCCL_TEST_LIBRARY") {
        return named.into();
    }
    let built = Path::new(env!("CARGO_BIN_EXE_scorep-nccl")).parent().unwrap();
    let path = built.join("deps/libscorep_substrate_nccl.so");
    assert!(path.is_file(), "{} is missing", path.display());
    path
}

/// Name of the library among the results of `make library`.
pub(crate) const LIBRARY: &str = "libscorep_substrate_nccl.so";

/// Returns a result of `make library`, as it is shipped.
///
/// # Errors
/// If the result is missing or older than one of its sources, in words.
pub(crate) fn shipped(name: &str) -> Result<PathBuf, String> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let path = target.join("shipped/release").join(name);
    let time = |path: &Path| path.metadata().and_then(|data| data.modified());
    let Ok(made) = time(&path) else { return Err(format!("{} is missing (`make library tool`)", path.display())) };
    // cargo's list of sources: FILE: SOURCE SOURCE...
    let built = target.join(if name == LIBRARY { "library/release" } else { "tool" });
    let Ok(list) = std::fs::read_to_string(built.join(name).with_extension("d")) else {
        return Err(format!("nobody knows the sources of {} (`make library tool`)", path.display()));
    };
    let (_, sources) = list.split_once(": ").unwrap();
    // a removed source counts as changed
    let changed = |source: &&str| time(Path::new(source)).map_or(true, |time| time > made);
    match sources.split_whitespace().find(changed) {
        Some(newer) => Err(format!("{} is older than {newer} (`make library tool`)", path.display())),
        None => Ok(path),
    }
}
