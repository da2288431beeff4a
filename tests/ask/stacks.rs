//! `ask --stacks`: does each process write its threads and its Python stacks, those that launch first, and come to no
//! harm?

use crate::ask::{asked, job};
use crate::support::ranks::Ranks;
use crate::support::site::{Site, texts};
use crate::support::tool;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A job of `python3`, and whether that Python offers its stacks. `None` if there is no Python.
fn python_job(ranks: usize) -> Option<(Ranks, bool)> {
    let script = "import sys; print(sys.version_info[1], \
                  hasattr(__import__('ctypes').CDLL(None), '_Py_DumpTracebackThreads'), sys.executable)";
    let Ok(found) = Command::new("python3").args(["-c", script]).output() else {
        tool::skip("no python3");
        return None;
    };
    let found = texts(&found).0;
    let found: Vec<&str> = found.split_ascii_whitespace().collect();
    let (is_known, offers, program) = (["11", "12"].contains(&found[0]), found[1] == "True", found[2]);
    let mut job = Ranks::begin_by(ranks, |directory| {
        let mut command = tool::host(program);
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ask/late.py")).arg(tool::library());
        command.env("NCCL_SCOREP_STATUS", directory);
        command
    });
    job.each(|_| "init".into());
    Some((job, is_known && offers))
}

fn file(job: &Ranks, rank: usize) -> PathBuf {
    let found = fs::read_dir(job.directory()).unwrap().map(|entry| entry.unwrap().path());
    let end = format!(".{}.stacks.txt", job.pid(rank));
    found.into_iter().find(|path| path.to_string_lossy().ends_with(&end)).unwrap()
}

#[test]
fn a_process_without_python_writes_its_threads() {
    let site = Site::new();
    let mut job = job(&site);
    let said = asked(&job, &["--stacks"], 0);
    assert!(said.starts_with("2 of 2 processes have taken the request.\n\nprocess 0 (pid "), "{said}");
    assert_eq!(said.matches("Python: none was in this process when NCCL began.\n").count(), 2, "{said}");
    assert_eq!(said.matches(", of which 1 have enqueued operations:\n").count(), 2, "{said}");
    for rank in 0..2 {
        let line = format!("\n{} status_host (launches): ", job.pid(rank));
        assert!(said.contains(&line), "{said}");
        let text = fs::read_to_string(file(&job, rank)).unwrap();
        let further = text.split_once("Further threads:\n").unwrap().1;
        assert!(further.contains(" scorep-nccl-now: ") && !further.contains("(launches)"), "{text}");
    }
    assert!(!said.contains(" scorep-nccl-now: ") && said.contains(" (--all prints them)."), "{said}");
    let pid = job.pid(1).to_string();
    let said = asked(&job, &["--stacks", "--all", "--pid", &pid], 0);
    assert!(said.starts_with("1 of 1 ") && said.contains(" scorep-nccl-now: "), "{said}");
    job.end();
}

#[test]
fn the_stack_of_a_late_rank_names_its_function() {
    let Some((mut job, offers)) = python_job(2) else { return };
    job.order(1, "late");
    let said = asked(&job, &["--stacks"], 0);
    if !offers {
        assert!(said.contains("does not offer "), "{said}");
        job.end();
        return;
    }
    let (waiting, late) = said.split_once("\nprocess 1 (").unwrap();
    assert!(late.contains("in late_data_loading\n") && late.contains("/tests/ask/late.py\", line "), "{said}");
    assert!(late.contains(&format!(" (most recent call first): thread {}, launches\n", job.pid(1))), "{said}");
    assert!(!waiting.contains("late_data_loading") && waiting.contains("in main\n"), "{said}");
    assert!(!said.contains("in other_work\n"), "{said}");
    let text = fs::read_to_string(file(&job, 1)).unwrap();
    assert!(text.find("in late_data_loading\n") < text.find("in other_work\n"), "{text}");
    let again = asked(&job, &["--stacks", "--all"], 0);
    assert!(again.contains("in other_work\n"), "{again}");
    job.end();
}

/// Threads that change their stacks at the moment of the reading.
#[test]
fn busy_threads_are_read_or_left_out_and_go_on() {
    let Some((mut job, _)) = python_job(2) else { return };
    job.each(|_| "busy".into());
    for _ in 0..5 {
        asked(&job, &["--stacks"], 0);
    }
    job.end();
}

#[test]
fn an_interpreter_that_ends_meanwhile_ends_in_order() {
    let Some((mut job, _)) = python_job(20) else { return };
    let mut ask = job.command("ask");
    ask.args(["--stacks", "--wait", "60"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ask = ask.spawn().unwrap();
    // each one says by its exit status whether it ended in order
    job.close();
    job.end();
    let output = ask.wait_with_output().unwrap();
    let (printed, said) = texts(&output);
    // one that has ended before `ask` looked is none of them
    assert!(printed.contains(" processes have taken the request") && said.is_empty(), "{printed}{said}");
}

#[test]
fn whatever_stands_in_the_place_of_the_file_is_replaced_and_not_followed() {
    let site = Site::new();
    let mut job = job(&site);
    asked(&job, &["--stacks"], 0);
    let (place, private) = (file(&job, 0), job.directory().join("private"));
    fs::write(&private, "mine").unwrap();
    fs::remove_file(&place).unwrap();
    symlink(&private, &place).unwrap();
    let said = asked(&job, &["--stacks"], 0);
    assert!(said.contains(" status_host (launches): ") && fs::read(&private).unwrap() == b"mine", "{said}");
    assert!(!place.symlink_metadata().unwrap().is_symlink());
    // one that cannot be replaced is a refusal, and the job goes on
    fs::remove_file(&place).unwrap();
    fs::create_dir_all(place.join("inner")).unwrap();
    let said = asked(&job, &["--stacks"], 1);
    assert!(said.contains("Refused by process 0 ") && said.contains("the stacks could not be written to "), "{said}");
    fs::remove_dir_all(&place).unwrap();
    assert!(asked(&job, &["--stacks"], 0).starts_with("2 of 2 "));
    job.end();
}

/// A name of a thread is anybody's text.
#[test]
fn names_do_not_command_the_terminal() {
    let Some((mut job, _)) = python_job(1) else { return };
    job.order(0, "name");
    let said = asked(&job, &["--stacks", "--all"], 0);
    assert!(said.contains("a\\u{1b}[2J (launches)") && !said.contains('\u{1b}'), "{said}");
    job.end();
}
