//! File systems that take their time, and programs that take descriptors for themselves.

use crate::harm::job::Job;
use crate::support::{lines, tool};

/// Removes the directory of states, whatever the job's end.
const REMOVES: &str = r#""$@"; status=$?; rm -rf status; exit $status"#;

/// With all files that there are.
fn job(scenario: &str) -> Job {
    let job = Job::scenario(scenario, 0, &[]).set("NCCL_SCOREP_RECORD", ".").set("NCCL_SCOREP_STATUS", "status");
    job.before(REMOVES)
}

/// Not even the first init and the end: these wait for threads of the library.
#[test]
fn the_program_s_threads_never_call_the_file_system() {
    for seconds in ["10", "0"] {
        let job = job("left_to_own_threads").set("NCCL_SCOREP_RECORD_SECONDS", seconds);
        let found = job.set("NCCL_SCOREP_SUMMARY_SECONDS", seconds).check();
        found.figures();
        assert!(found.files() == [1, 1] && found.said.is_empty(), "{seconds}: {:?}", found.said);
    }
}

/// Each file costs one line, that of the settings, too.
#[test]
fn a_file_system_that_never_answers_ends_no_job() {
    let found = job("file_system_that_never_answers").check();
    let is_of_files = |line: &&String| line.contains("is not written to its end: the file system has not taken");
    let is_of_settings = |line: &&String| line.contains("its file system does not answer within 2 s");
    let of_kinds = [found.said.iter().filter(is_of_settings).count(), found.said.iter().filter(is_of_files).count()];
    assert!(found.said.len() == 4 && of_kinds == [1, 3], "{:?}", found.said);
    assert_eq!(found.files(), [0, 0]);
}

/// A program's lines do not get into the library's files, which are whole.
#[test]
fn closed_standard_streams_stay_closed() {
    let job = Job::scenario("standard_streams_closed", 0, &[]).set("NCCL_SCOREP_RECORD", ".");
    let job = job.set("NCCL_SCOREP_RECORD_SECONDS", "0.05").set("NCCL_SCOREP_SUMMARY_SECONDS", "0.05");
    let found = job.before("exec 7>&1 8>&2 0<&- 1>&- 2>&-").check();
    found.figures();
    assert!(found.files() == [1, 1] && found.said.is_empty(), "{:?}", found.said);
}

/// The last summary is not written where its name leads then, and one line says so.
#[test]
fn a_program_that_changes_its_root_directory_loses_its_summary_aloud() {
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        return tool::skip("another root directory needs the administrator");
    }
    let job = Job::scenario("moved_to_another_root", 0, &[]).set("NCCL_SCOREP_SUMMARY_SECONDS", "0.05");
    job.play();
    let said = job.said();
    let lines = said.lines().filter(|line| line.contains("the program has changed its root directory")).count();
    assert!((1..=2).contains(&lines) && job.path().join("jail").read_dir().unwrap().count() == 0, "{said}");
}

/// A new recording begins, with the communicators that live, and one line says so.
#[test]
fn a_recording_that_somebody_removes_is_followed_by_another_one() {
    let job = Job::scenario("removed", 0, &[]).set("NCCL_SCOREP_RECORD", "recordings");
    let job = job.set("NCCL_SCOREP_RECORD_SECONDS", "0.05");
    job.play();
    let said = job.said();
    assert!(
        said.lines().count() == 1 && said.contains("was removed while the process runs: a new one begins"),
        "{said}"
    );
    let recording = job.path().join("recordings").read_dir().unwrap().next().unwrap().unwrap().path();
    let (meta, lines) = lines::all(&recording);
    let inits = lines.iter().filter(|line| line["cb"] == "init").count();
    let starts = lines.iter().filter(|line| line["cb"] == "start").count();
    assert!(lines::ends(&lines) && inits == 1 && starts > 100 && meta["dropped"].as_u64() > Some(100), "{meta}");
}

/// All that was begun is removed. With debug assertions, the standard library ends a process one of whose files was closed
/// by somebody else; the shipped library has none.
#[test]
fn a_program_that_closes_all_descriptors_again_and_again_has_no_half_files() {
    let Ok(library) = tool::shipped(tool::LIBRARY).inspect_err(|missing| tool::skip(missing)) else { return };
    let job = Job::scenario("descriptors_closed_again_and_again", 0, &[]).with_library(library);
    let job = job.set("NCCL_SCOREP_STATUS", "status");
    let job = job.set("NCCL_SCOREP_SUMMARY_SECONDS", "0.01").before(REMOVES);
    job.play();
    assert_eq!(job.files(), ["summary.json"], "{}", job.said());
}

/// Those are neither written to nor closed. The recording ends before, and one line says so.
#[test]
fn descriptors_that_the_program_takes_are_its_own() {
    let job = Job::scenario("descriptors_taken", 0, &[]).set("NCCL_SCOREP_RECORD", ".");
    let job = job.set("NCCL_SCOREP_RECORD_SECONDS", "0.05");
    job.play();
    let said = job.said();
    assert!(said.lines().count() == 1 && said.contains(".jsonl.gz: the program has closed its descriptor"), "{said}");
    let files = job.files();
    let recording = files.iter().find(|name| name.ends_with(".jsonl.gz")).unwrap();
    let (_, lines) = lines::all(&job.path().join(recording));
    assert!(!lines.is_empty() && !lines::ends(&lines) && files.contains(&"summary.json".to_owned()), "{files:?}");
}
