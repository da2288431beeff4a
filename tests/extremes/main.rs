//! Each number of each file that the tool reads, set to extreme values, one at a time. The tool has 1 GiB of address
//! space and 30 s, and gives figures or names the file.

mod files;
mod numbers;
#[path = "../../tools/report/tests/sample/mod.rs"]
mod sample;
mod statuses;
mod tables;

use crate::support::{bounded, tool};
use bounded::{Ended, each, ended};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Longest processor time of a command.
const PATIENCE: Duration = Duration::from_secs(30);
/// Cases of each kind of file, unless all are asked for.
const SOME: usize = 100;
/// Commands that run at a time.
const AT_A_TIME: usize = 2;

/// A file to be read, with the number that was set.
struct Case {
    what: String,
    /// Name and content.
    file: (&'static str, Vec<u8>),
    /// Another file, of another process.
    beside: Option<(&'static str, Vec<u8>)>,
}

/// Writes a file below a directory.
fn written(directory: &Path, (name, content): &(&str, Vec<u8>)) -> PathBuf {
    let file = directory.join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, content).unwrap();
    file
}

/// Returns some of the cases, evenly spaced; all with `SCOREP_NCCL_EXTREMES=all`, which takes minutes.
fn chosen(cases: &[Case]) -> Vec<&Case> {
    let is_all = std::env::var("SCOREP_NCCL_EXTREMES").is_ok_and(|value| value == "all");
    let step = if is_all { 1 } else { cases.len().div_ceil(SOME) };
    cases.iter().step_by(step).collect()
}

/// Runs commands for each chosen case, given the file and a directory for outputs.
fn try_all(cases: &[Case], threads: usize, commands: &(dyn Fn(&Path, &Path) -> Vec<Command> + Sync)) {
    let cases = chosen(cases);
    assert!(cases.len() > 50, "{}", cases.len());
    let read = AtomicUsize::new(0);
    let wrong = each(0..cases.len() as u64, threads, |number| {
        let Case { what, file, beside } = cases[number as usize];
        let directory = tempfile::tempdir().unwrap();
        let (input, output) = (directory.path().join("in"), directory.path().join("out"));
        fs::create_dir(&output).unwrap();
        beside.iter().for_each(|file| drop(written(&input, file)));
        let file = written(&input, file);
        let mut wrong = Vec::new();
        for mut command in commands(&file, &output) {
            command.env("TMPDIR", &output);
            let ended = ended(&command, directory.path(), PATIENCE);
            let fault = ended.fault().or_else(|| unnamed(&ended, &input));
            wrong.extend(fault.map(|fault| format!("{what}: {command:?}: {fault}")));
            read.fetch_add(usize::from(!ended.printed.is_empty()), Ordering::Relaxed);
        }
        wrong
    });
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    let read = read.into_inner();
    tool::say(&format!("{} files, figures from {read}", cases.len()));
    assert!(read > cases.len() / 10, "nearly all are refused");
}

/// Returns what is wrong with an error: it names no file.
fn unnamed(ended: &Ended, input: &Path) -> Option<String> {
    let is_refused = ended.code != Some(0) && ended.printed.is_empty();
    let names = ended.said.contains(&*input.to_string_lossy());
    (is_refused && !names).then(|| format!("the error names no file: {}", ended.said))
}

/// A report in all of its forms.
fn report(file: &Path, output: &Path) -> Vec<Command> {
    let at = |name: &str| output.join(name);
    let mut report = tool::tool();
    // a number may make it two jobs
    report
        .args(["report", "--job", "1"])
        .arg(file)
        .arg("--html")
        .arg(at("page.html"))
        .arg("--json")
        .arg(at("report.json"));
    report.arg("--csv").arg(at("csv")).arg("--perfetto").arg(at("trace"));
    vec![report]
}

#[test]
#[ignore = "extreme numbers"]
fn numbers_of_a_summary() {
    try_all(&files::summaries(), AT_A_TIME, &report);
}

#[test]
#[ignore = "extreme numbers"]
fn numbers_of_a_recording() {
    let cases = files::recordings();
    let is_of_process = |case: &&Case| ["init.", "meta.", "kernel."].iter().any(|of| case.what.starts_with(of));
    let (of_process, of_events): (Vec<Case>, Vec<Case>) = cases.into_iter().partition(|case| is_of_process(&case));
    try_all(&of_events, AT_A_TIME, &report);
    // the replay's own parts
    try_all(&of_process, AT_A_TIME, &|file, output| {
        let mut replay = tool::tool();
        replay.arg("replay").arg(file).arg("--lateness").arg("--summary").arg(output.join("summary.json"));
        let mut commands = report(file, output);
        commands.push(replay);
        commands
    });
}

#[test]
#[ignore = "extreme numbers"]
fn numbers_of_a_table() {
    try_all(&tables::cases(), AT_A_TIME, &|file, output| report(file.ancestors().nth(2).unwrap(), output));
}

#[test]
#[ignore = "extreme numbers"]
fn numbers_of_an_earlier_report() {
    let earlier = files::earlier();
    let directory = tempfile::tempdir().unwrap();
    let unchanged = directory.path().join("unchanged.json");
    let mut text = earlier.clone();
    let schema = text.as_object_mut().unwrap().remove("schema").unwrap();
    fs::write(&unchanged, text.to_string().replacen('{', &format!("{{\"schema\":{schema},"), 1)).unwrap();
    try_all(&files::of_json("report.json", &earlier), AT_A_TIME, &|file, output| {
        let mut compare = tool::tool();
        compare.arg("compare").arg(file).arg(&unchanged).arg("--html").arg(output.join("page.html"));
        vec![compare]
    });
}

#[test]
#[ignore = "extreme numbers"]
fn numbers_of_a_state_file() {
    // each looks twice, and waits meanwhile
    try_all(&files::statuses(), 8 * AT_A_TIME, &|file, _| {
        let mut hang = tool::tool();
        hang.arg("hang").arg(file.parent().unwrap()).args(["--json", "--verbose"]);
        vec![hang]
    });
}

/// The number of ranks is refused where it is read, with the file and the field.
#[test]
fn ranks_that_no_machine_has_are_refused_with_their_field() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |file: PathBuf, place: &str| {
        let mut command = tool::tool();
        command.arg("report").arg(&file);
        let ended = ended(&command, directory.path(), PATIENCE);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let expected = "2147483647 is no number of ranks: at most 1048576 are believed";
        assert!(
            ended.said.contains(&*file.to_string_lossy())
                && ended.said.contains(place)
                && ended.said.contains(expected),
            "{ended:?}"
        );
    };
    let case = |cases: Vec<Case>, what: &str| cases.into_iter().find(|case| case.what == what).unwrap().file;
    let written = |file: (&str, Vec<u8>)| written(directory.path(), &file);
    let most = numbers::RANKS;
    let of_summary = case(files::summaries(), &format!(".communicators[*].nranks = {most}"));
    refused(written(of_summary), "communicators[0].nranks");
    let of_recording = case(files::recordings(), &format!("init.nranks = {most}"));
    refused(written(of_recording), ":2: field \"nranks\"");
    let of_table = case(tables::cases(), &format!("communicators.nranks = {most}"));
    refused(written(of_table), "entry scorep-nccl.communicators of the footer");
}
