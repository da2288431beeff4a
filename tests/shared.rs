//! The command-line tool where another user has put something under the names of its outputs: nothing of the user's is
//! written into, nothing waits, and what cannot be written is said.

use crate::support::{tool, two_users};

use std::fs;
use std::path::Path;
use std::time::Duration;
use two_users::{OF_THE_JOB, Place};

/// Files of the user's that a link of the other one leads to.
const VICTIMS: [&str; 6] = ["operations.csv", "operations.parquet", "traces.otf2", "summary.json", "steps.csv", "out"];

/// A place with the tool, a recording, and files of the user's that must stay as they are.
fn place(mode: u32) -> Option<Place> {
    let place = Place::new(mode)?;
    place.copy(Path::new(env!("CARGO_BIN_EXE_scorep-nccl")), "tool");
    fs::create_dir(place.path("home/results")).unwrap();
    for name in VICTIMS {
        fs::write(place.path("home/results").join(name), "mine").unwrap();
    }
    for path in fs::read_dir(place.path("home/results")).unwrap().map(|entry| entry.unwrap().path()) {
        std::os::unix::fs::chown(path, Some(OF_THE_JOB), None).unwrap();
    }
    std::os::unix::fs::chown(place.path("home/results"), Some(OF_THE_JOB), None).unwrap();
    fs::create_dir(place.path("recordings")).unwrap();
    for capture in tool::captures(&tool::run("net2_collectives")) {
        fs::copy(&capture, place.path("recordings").join(capture.file_name().unwrap())).unwrap();
    }
    Some(place)
}

/// Runs the tool as the user, in the shared directory; returns whether it succeeded, and its messages.
fn run(place: &Place, arguments: &str) -> (bool, String) {
    let (said, printed) = (place.path("said"), place.path("printed"));
    let mut command = place.by(OF_THE_JOB);
    command.arg(place.path("tool")).args(arguments.split(' ')).env("TMPDIR", place.path("home"));
    command.stdout(fs::File::create(printed).unwrap()).stderr(fs::File::create(&said).unwrap());
    let status = tool::ends(&mut command, Duration::from_secs(60), arguments);
    assert!(status.code().is_some_and(|code| code < 3), "{arguments}: {status}");
    (status.success(), fs::read_to_string(said).unwrap())
}

fn check_untouched(place: &Place, of: &str) {
    let results = place.path("home/results");
    for name in VICTIMS {
        assert_eq!(fs::read_to_string(results.join(name)).unwrap(), "mine", "{of}: {name}");
    }
    assert_eq!(fs::read_dir(&results).unwrap().count(), VICTIMS.len(), "{of}");
    assert_eq!(fs::read_dir(place.path("home")).unwrap().count(), 2, "{of}: something is left in TMPDIR");
    place.check_private();
}

/// Outputs that are directories, or files in one.
#[test]
fn directories_behind_links_of_another_user_are_refused() {
    let Some(place) = place(0o1777) else { return };
    place.other_does("ln -s ../home/results link");
    for arguments in [
        "table ../recordings --to link",
        "replay ../recordings --otf2 link",
        "replay ../recordings --summary link/summary.json",
        "report ../recordings --csv link",
        "report ../recordings --parquet link",
        "report ../recordings --html link/out",
        "report ../recordings --json link/out",
        "report ../recordings --perfetto link/out",
    ] {
        let (succeeded, said) = run(&place, arguments);
        assert!(!succeeded && said.contains("a link of another user"), "{arguments}: {said}");
        check_untouched(&place, arguments);
    }
    // the same by a link of the user's own: a summary that the user names is replaced
    std::os::unix::fs::lchown(place.path("shared/link"), Some(OF_THE_JOB), None).unwrap();
    let (succeeded, said) = run(&place, "report ../recordings --json link/new");
    assert!(succeeded && place.path("home/results/new").is_file(), "{said}");
}

/// Outputs that are files: whatever has the name gives way or stays, and is neither followed nor waited for.
#[test]
fn files_of_another_user_are_neither_followed_nor_waited_for() {
    let socket = "perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un(\"out\")) or die'";
    let puts = ["ln -s ../home/results/out out", "ln -s ../home/results/none out", "mkfifo -m 666 out", "mkdir out"];
    for put in puts.into_iter().chain([socket, "echo his >out; chmod 666 out", "ln -s . out"]) {
        for mode in [0o1777, 0o777] {
            for output in ["replay --summary", "report --html", "report --json", "report --perfetto"] {
                let Some(place) = place(mode) else { return };
                place.other_does(put);
                let arguments = output.replace(' ', " ../recordings ") + " out";
                let (succeeded, said) = run(&place, &arguments);
                check_untouched(&place, &format!("{put}, {mode:o}, {output}"));
                assert!(succeeded || said.contains("out: "), "{put}, {mode:o}, {output}: {said}");
                let is_own = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
                assert!(!succeeded || is_own(&place.path("shared/out")), "{put}, {mode:o}, {output}");
            }
        }
    }
}

/// A FIFO among recordings has nobody who writes into it.
#[test]
fn a_fifo_among_recordings_is_not_waited_for() {
    let Some(place) = place(0o1777) else { return };
    place.other_does("mkdir recordings; cp ../recordings/* recordings; mkfifo recordings/a.jsonl.gz");
    for arguments in ["table recordings --to table", "replay recordings", "report recordings"] {
        let (succeeded, said) = run(&place, arguments);
        assert!(succeeded, "{arguments}: {said}");
    }
}

/// Status files and a request of another user, in a directory where both may write.
#[test]
fn statuses_of_another_user_are_named_and_not_believed() {
    for mode in [0o1777, 0o777] {
        let Some(place) = place(mode) else { return };
        let status = |host: &str| {
            let schema = common::status::SCHEMA;
            format!(r#"{{"schema": "{schema}", "pid": 7, "born": 1, "host": "{host}", "rank": 0}}"#)
        };
        fs::write(place.path("other"), status("elsewhere")).unwrap();
        place.other_does("cp ../other a.status.json && ln -s ../other b.status.json && mkfifo c.status.json");
        place.other_does("cp ../other d.status.json && chmod 600 d.status.json && ln -s . link");
        // the user's own, of an orderly end
        let own = status("own").replace("\"rank\"", "\"over\": 1, \"rank\"");
        fs::write(place.path("shared/e.status.json"), own).unwrap();
        std::os::unix::fs::chown(place.path("shared/e.status.json"), Some(OF_THE_JOB), None).unwrap();
        let (succeeded, said) = run(&place, "hang .");
        assert!(succeeded, "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        let expected = "a.status.json and 3 more are left out: they belong to user 60002, and not to you or root";
        assert!(said.contains(expected), "{said}");
        let printed = fs::read_to_string(place.path("printed")).unwrap();
        assert!(printed.starts_with("OVER: all 1 processes have ended in order.\n"), "{printed}");
        let (succeeded, said) = run(&place, "ask . --back");
        assert!(!succeeded && said.contains("nobody was asked") && said.contains(expected), "{said}");
        for command in ["hang link", "ask link --back"] {
            let (succeeded, said) = run(&place, command);
            assert!(!succeeded && said.contains("a link of another user"), "{command}: {said}");
        }
        place.check_private();
    }
}

/// A pipe among files that a shell's pattern names has nobody who writes into it, unless it is the user's.
#[test]
fn a_fifo_of_another_user_is_no_input() {
    let Some(place) = place(0o1777) else { return };
    place.other_does("mkfifo -m 666 z.json");
    for option in ["--kernels", "--nccl-log", "--findings", "--nsys", "--steps", "--baseline"] {
        let arguments = format!("report ../recordings {option} z.json");
        let (_, said) = run(&place, &arguments);
        assert!(said.contains("z.json: it is a pipe of another user"), "{option}: {said}");
    }
}

/// Names that another user has taken keep nobody's watch from a job, and a directory's link leads no log elsewhere.
#[test]
fn a_watch_is_written_beside_files_of_another_user() {
    let Some(place) = place(0o1777) else { return };
    for name in ["libnccl-profiler-scorep.so", "libnccl_plugin.so", "libnccl_series_plugin.so"] {
        std::os::unix::fs::symlink("library.so", place.path(name)).unwrap();
    }
    place.other_does("touch watch.log findings.jsonl; ln -s ../home/results link");
    let (succeeded, said) = run(&place, "run --library ../library.so --watch --status . -- sleep 1");
    assert!(succeeded && said.contains("watch.log belongs to another user; the watch writes to "), "{said}");
    let own = |begin: &str, end: &str| {
        let entries = fs::read_dir(place.path("shared")).unwrap().map(|entry| entry.unwrap().path());
        let is_own = |path: &std::path::PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            name.starts_with(begin) && name.ends_with(end) && name.len() == begin.len() + 9 + end.len()
        };
        entries.filter(is_own).collect::<Vec<_>>()
    };
    let ([lines], [_]) = (&own("watch", ".log")[..], &own("findings", ".jsonl")[..]) else { panic!("{said}") };
    let lines = fs::read_to_string(lines).unwrap();
    assert!(lines.contains("it belongs to another user; the findings are in "), "{lines}");
    let (succeeded, said) = run(&place, "watch . --once --log link/out");
    assert!(!succeeded && said.contains("a link of another user"), "{said}");
    check_untouched(&place, "a watch");
}
