//! The tool's memory is in proportion to a recording's file, and lines that no recorder writes are refused with a clear
//! message.

use crate::support::tool;

use flate2::Compression;
use flate2::write::GzEncoder;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

const META: &str = r#"{"cb":"meta","format":1,"api":5,"mask":4095,"pid":7,"real0":0,"mono0":0,"dropped":0}"#;
const INIT: &str = r#"{"t":1,"tid":1,"cb":"init","ctx":1,"comm":"ab","name":"","nnodes":1,"nranks":2,"rank":0}"#;
const GROUP: &str =
    r#"{"t":1,"tid":1,"cb":"start","ctx":1,"h":1,"type":"GroupApi","parent":0,"rank":0,"depth":1,"graph":0}"#;

/// Writes a recording with these lines.
fn recording(directory: &TempDir, lines: impl IntoIterator<Item = String>) -> PathBuf {
    let path = directory.path().join("long.r0.jsonl.gz");
    let mut file = GzEncoder::new(File::create(&path).unwrap(), Compression::fast());
    for line in [META, INIT].map(str::to_owned).into_iter().chain(lines) {
        writeln!(file, "{line}").unwrap();
    }
    file.finish().unwrap();
    path
}

/// Checks that a replay refuses these lines at that line, with that message.
fn refused(lines: impl IntoIterator<Item = String>, line: usize, trouble: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = recording(&directory, lines);
    let output = tool::tool().arg("replay").arg(&path).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let place = format!("{}:{line}: ", path.display());
    assert!(
        said.contains(&place) && said.contains(trouble) && said.len() < 1000,
        "wanted {place} {trouble}, got {said}"
    );
}

/// Runs a command to its end; returns the largest memory of it and of the processes that it starts, MiB.
#[expect(clippy::zombie_processes, reason = "it is waited for by wait4, which tells of its memory")]
fn peak_mib(command: &mut Command) -> i64 {
    let child = command.stdout(Stdio::null()).spawn().unwrap();
    let pid = libc::pid_t::try_from(child.id()).unwrap();
    let mut status = 0;
    // SAFETY: all zeros are a value of the type; the child is this test's own and is waited for once.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::wait4(pid, &raw mut status, 0, &raw mut usage), pid);
        usage
    };
    assert_eq!(status, 0);
    usage.ru_maxrss >> 10
}

/// The file has 80 KB for 14 MB of text, which would take 40 MiB as calls, and 150 MiB as regions of a trace.
#[test]
fn a_line_that_comes_again_and_again_takes_no_memory() {
    let directory = tempfile::tempdir().unwrap();
    let again = r#"{"t":2,"tid":1,"cb":"state","h":1,"state":24}"#;
    let path =
        recording(&directory, std::iter::once(GROUP.to_owned()).chain(std::iter::repeat_n(again.to_owned(), 300_000)));
    let mut command = tool::tool();
    let peak = peak_mib(command.arg("replay").arg(&path).arg("--otf2").arg(directory.path().join("archive")));
    assert!(peak < 100, "{peak} MiB");
}

#[test]
fn strings_that_no_recorder_writes_are_refused() {
    let init =
        |name: &str| INIT.replace(r#""ctx":1"#, r#""ctx":2"#).replace(r#""name":"""#, &format!(r#""name":"{name}""#));
    refused(
        [init(&"x".repeat(5000))],
        3,
        "\"name\" is a string of 5000 bytes, of which at most 4096 are read: shorten it",
    );
    let call =
        |func: &str| GROUP.replace("GroupApi", "CollApi").replace(r#""depth":1"#, &format!(r#""func":"{func}""#));
    refused([call(&"x".repeat(513))], 3, "\"func\" is a string of 513 bytes");
    let others = (2..20_000).map(|ctx| {
        let name = format!("{ctx}{}", "x".repeat(4000));
        INIT.replace(r#""ctx":1"#, &format!(r#""ctx":{ctx}"#)).replace(r#""name":"""#, &format!(r#""name":"{name}""#))
    });
    refused(others, 16_762, "strings up to this line take more than 67108864 bytes");
    refused([GROUP.replace("GroupApi", &"x".repeat(100_000))], 3, "xxx...\" is not known");
}

#[test]
fn times_that_no_clock_shows_are_refused() {
    let line = GROUP.replace(r#""t":1"#, r#""t":9223372036854775808"#);
    refused([line], 3, "\"t\" is 9223372036854775808 ns, which is more than 2305843009213693952");
}

/// A replay starts a thread for each thread of a recording.
#[test]
fn two_thousand_threads_play_within_two_gib_of_addresses() {
    let directory = tempfile::tempdir().unwrap();
    let stops = (1..=2000).map(|tid| format!(r#"{{"t":2,"tid":{tid},"cb":"stop","h":1}}"#));
    let path = recording(&directory, std::iter::once(GROUP.to_owned()).chain(stops));
    let summary = tool::summary(&mut limited(&path, 2 << 20));
    assert_eq!(summary["processes"][0]["callbacks"], 2002);
}

/// Where the system refuses a thread, the replay ends with an error.
#[test]
fn threads_that_are_refused_are_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let stops = (1..=2000).map(|tid| format!(r#"{{"t":2,"tid":{tid},"cb":"stop","h":1}}"#));
    let path = recording(&directory, std::iter::once(GROUP.to_owned()).chain(stops));
    let output = limited(&path, 400 << 10).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&*path.to_string_lossy()) && said.contains("could not be started"), "{said}");
}

/// Returns a replay with this limit of the address space, KiB.
fn limited(path: &Path, kib: u32) -> Command {
    let mut command = tool::tool();
    command.arg("replay").arg(path).args(["--format", "json"]);
    let limit = format!("ulimit -v {kib}; exec \"$@\"");
    tool::within("sh", &["-c", &limit, "sh"].map(OsStr::new), &command)
}

/// A recording that can be read only once is played, too.
#[test]
fn a_recording_from_a_pipe_is_played() {
    let directory = tempfile::tempdir().unwrap();
    let capture = tool::run("nodes2x1_comms").join("comms.r0.jsonl.gz");
    // the shell also starts cat, which writes into the pipe; the replay is the shell's other child
    let script = "mkfifo \"$1\" && { cat \"$2\" > \"$1\" & \"$3\" replay \"$1\" --format json; }";
    let fifo = directory.path().join("fifo");
    let piped = [OsStr::new("-c"), script.as_ref(), "sh".as_ref(), fifo.as_os_str(), capture.as_os_str()];
    let of_pipe = tool::summary(&mut tool::within("sh", &piped, &tool::tool()));
    let of_file = tool::summary(tool::tool().arg("replay").arg(&capture).args(["--format", "json"]));
    assert_eq!(of_pipe["operations"], of_file["operations"]);
}

/// The number of missing callbacks comes from the recording itself, so it may be anything.
#[test]
fn a_recording_that_lacks_any_number_of_callbacks_gives_figures() {
    let directory = tempfile::tempdir().unwrap();
    let meta = META.replace(r#""dropped":0"#, r#""dropped":18446744073709551615"#);
    let [path, _] = [0, 1].map(|rank| {
        let init = INIT.replace(r#""rank":0"#, &format!(r#""rank":{rank}"#));
        let path = directory.path().join(format!("lacking.r{rank}.jsonl.gz"));
        let mut file = GzEncoder::new(File::create(&path).unwrap(), Compression::fast());
        write!(
            file,
            "{}\n{init}\n{}\n",
            meta.replace(r#""pid":7"#, &format!(r#""pid":{}"#, rank + 7)),
            GROUP.replace(r#""GroupApi""#, "1048576")
        )
        .unwrap();
        file.finish().unwrap();
        path
    });
    // standard error has the line about missing callbacks
    let printed = |command: &mut Command| command.stderr(Stdio::null()).output().unwrap().stdout;
    let tables = printed(tool::tool().arg("replay").arg(directory.path()));
    assert!(String::from_utf8_lossy(&tables).contains("callbacks are not in the recordings"));
    let json = printed(tool::tool().arg("replay").arg(&path).args(["--format", "json"]));
    let summary: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(summary["processes"][0]["incomplete"], u64::MAX);
}
