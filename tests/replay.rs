//! `scorep-nccl replay` and `demo` on the command line: options, output and messages.

use crate::support::tool;

use std::fs;
use std::process::Command;

/// Returns a command that replays a run.
fn replay(run: &str) -> Command {
    let mut command = tool::tool();
    command.arg("replay").arg(tool::run(run));
    command
}

/// Returns a command's output, messages and exit status.
fn output(command: &mut Command) -> (String, String, Option<i32>) {
    let output = command.output().unwrap();
    let [printed, said] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (printed, said, output.status.code())
}

/// Returns the cells of the rows of the table after a heading.
fn rows(text: &str, heading: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| line.split(['│', '┆']).map(|cell| cell.trim().to_owned()).collect();
    let behind = text.lines().skip_while(|line| !line.starts_with(heading)).skip(1);
    let table = behind.take_while(|line| line.starts_with(['│', '┌', '╞', '└'])).filter(|line| line.starts_with('│'));
    table.skip(1).map(cells).collect()
}

#[test]
fn pairs_are_sorted_and_counted_as_asked_for() {
    let rates = |options: &[&str]| -> (Vec<f64>, String) {
        let text = tool::succeed(replay("nodes4x1_pipeline").args(options));
        let rows = rows(&text, "Transfers over the network");
        (rows.iter().map(|cells| cells[7].parse().unwrap()).collect(), text)
    };
    let (all, text) = rates(&["--sort", "sustained"]);
    assert!(all.len() > 2 && all.is_sorted() && !text.contains("more rank pairs"), "{text}");
    let (two, text) = rates(&["--sort", "sustained", "--top", "2"]);
    assert_eq!(two, all[..2]);
    assert!(text.contains(&format!("\nand {} more rank pairs\n", all.len() - 2)), "{text}");
    let (_, said, status) = output(replay("nodes4x1_pipeline").args(["--top", "0"]));
    assert!(status == Some(2) && said.contains("--top"), "{said}");
}

/// The environment is that of a job in which Score-P writes a trace alone.
#[test]
fn score_ps_settings_change_no_replay() {
    let traced = [("SCOREP_ENABLE_TRACING", "true"), ("SCOREP_ENABLE_PROFILING", "false")];
    let [plain, traced] = [&[][..], &traced].map(|settings| {
        let directory = tempfile::tempdir().unwrap();
        let mut command = replay("nodes4x1_pipeline");
        command.envs(settings.iter().copied()).arg("--otf2").arg(directory.path());
        (
            rows(&tool::succeed(&mut command), "Transfers over the network"),
            directory.path().join("traces.otf2").is_file(),
        )
    });
    assert!(plain == traced && plain.1);
}

/// NCCL 2.26 reports neither stamps nor launches.
#[test]
fn operations_of_an_old_nccl_have_times() {
    let text = tool::succeed(replay("nodes2x1_comms").args(["--interface", "3"]));
    let timed = rows(&text, "Operations that the GPU has not timed");
    assert!(!timed.is_empty(), "{text}");
    for cells in timed {
        assert!(
            [3, 5].iter().any(|&place| cells[place] != "0" && cells[place + 1].parse::<f64>().unwrap() > 0.0),
            "{cells:?}"
        );
    }
    assert!(text.contains("(NCCL 2.27 and later do)") && !text.contains("interface v"), "{text}");
}

#[test]
fn notes_name_communicators_and_releases() {
    for (run, release) in
        [("nvlink2_collectives", "(up to 2.30; cured in 2.31)"), ("v232_nodes2x1_defaults", "NCCL_ALLGATHERV_ENABLE=0")]
    {
        let summary = tool::summary(replay(run).args(["--format", "json"]));
        let known: Vec<&str> =
            summary["communicators"].as_array().unwrap().iter().map(|row| row["comm"].as_str().unwrap()).collect();
        let text = tool::succeed(&mut replay(run));
        let mut notes = text.lines().filter_map(|line| line.strip_prefix("note: operations of communicator "));
        let is_named = |note: &str| known.iter().any(|comm| note.starts_with(comm)) && note.contains(release);
        assert!(notes.clone().count() > 0 && notes.all(is_named) && !text.contains("interface v"), "{run}: {text}");
    }
}

#[test]
fn a_setting_that_means_nothing_is_told_once() {
    let sound = tool::succeed(&mut replay("nodes2x1_comms"));
    for log in [None, Some("warn")] {
        let mut command = replay("nodes2x1_comms");
        command
            .env("NCCL_SCOREP_PRESET", "bogus")
            .env("NCCL_SCOREP_MEMORY_MB", "much")
            .envs(log.map(|log| ("NCCL_SCOREP_LOG", log)));
        let (printed, said, status) = output(&mut command);
        assert_eq!((printed.as_str(), status), (sound.as_str(), Some(0)));
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.len(), 2, "{said}");
        assert!(lines[0].starts_with("scorep-nccl: NCCL_SCOREP_PRESET=bogus is not understood"), "{said}");
    }
}

/// A setting of blanks is not set, and a wrong one leaves the replay's own default.
#[test]
fn what_a_setting_asks_for_and_does_not_get_is_told_once() {
    let said = |settings: &[(&str, &str)]| {
        let (_, said, status) = output(replay("nodes2x1_comms").envs(settings.iter().copied()));
        assert_eq!(status, Some(0), "{said}");
        said
    };
    for (setting, part) in [
        (("NCCL_SCOREP_CHAIN", "no-such-plugin"), "no second plugin: "),
        (("NCCL_SCOREP_RECORD", "/dev/null/place"), "no recording in /dev/null/place"),
    ] {
        for log in [None, Some(" ")] {
            let settings: Vec<_> = [setting].into_iter().chain(log.map(|log| ("NCCL_SCOREP_LOG", log))).collect();
            let said = said(&settings);
            assert!(said.lines().count() == 1 && said.contains(part), "{settings:?}: {said}");
        }
    }
    assert_eq!(said(&[("NCCL_SCOREP_CHAIN", " "), ("NCCL_SCOREP_RECORD", "\t"), ("NCCL_SCOREP_OTEL", "")]), "");
    let wrong = said(&[("NCCL_SCOREP_LOG", "loud"), ("NCCL_SCOREP_MEMORY_MB", " ")]);
    assert!(wrong.lines().count() == 1 && wrong.contains("NCCL_SCOREP_LOG=loud is not understood"), "{wrong}");
}

/// The setting is about what processes of a job send to each other.
#[test]
fn ranks_are_compared_though_a_job_would_gather_nothing() {
    let lateness = |gather: &str| {
        let mut command = replay("nodes2x2_train");
        command.args(["--lateness", "--format", "json"]).env("NCCL_SCOREP_GATHER_KB", gather);
        tool::summary(&mut command)["lateness"].take()
    };
    let compared = lateness("1024");
    assert!(compared.as_array().is_some_and(|rows| !rows.is_empty()) && lateness("0") == compared, "{compared}");
}

#[test]
fn the_summary_may_be_printed_and_its_directory_is_made() {
    // the process differs each time
    let operations = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap()["operations"].take();
    let json = operations(&tool::succeed(replay("nodes2x1_comms").args(["--format", "json"])));
    assert!(operations(&tool::succeed(replay("nodes2x1_comms").args(["--summary", "-"]))) == json);
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("new/er/summary.json");
    tool::succeed(replay("nodes2x1_comms").arg("--summary").arg(&place));
    assert!(operations(&fs::read_to_string(&place).unwrap()) == json);
    // a device is written to directly, without a temporary file beside it
    tool::succeed(replay("nodes2x1_comms").args(["--summary", "/dev/null"]));
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    let (_, said, status) = output(replay("nodes2x1_comms").arg("--summary").arg(directory.path()));
    assert!(status == Some(1) && said.contains("it is a directory"), "{said}");
}

#[test]
fn the_demo_needs_no_repository() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = tool::tool();
    command.arg("demo").current_dir(directory.path()).env("TMPDIR", directory.path());
    let (printed, said, status) = output(command.env("NCCL_SCOREP_PRESET", "bogus"));
    // one line for both runs
    assert!(said.starts_with("scorep-nccl: NCCL_SCOREP_PRESET=bogus is not understood"), "{said}");
    assert_eq!((said.lines().count(), status), (1, Some(0)), "{said}");
    assert!(printed.lines().count() <= 80, "{printed}");
    let answers = ["Rank 2 is slow: ", "NCCL is under way in ", "AllReduce of 1 MiB (4 ranks) reaches "];
    let places = answers.map(|answer| printed.find(&format!("?\n{answer}")));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{printed}");
    assert!(printed.lines().last().unwrap().starts_with("report:  scorep-nccl-demo/report.html"), "{printed}");
    // no other file is left
    let left: Vec<_> = directory.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["scorep-nccl-demo"]);
    let page = std::fs::read_to_string(directory.path().join("scorep-nccl-demo/report.html")).unwrap();
    assert!(page.contains(r#"id="breakdown-chart""#), "the breakdown of a step");
}

/// The author of a recording chooses its names.
#[test]
fn a_communicators_name_does_not_steer_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    for (number, name) in [r"\u001b[31mred", "plain"].iter().enumerate() {
        let lines = [
            r#"{"cb":"meta","format":1,"api":5,"mask":4095,"pid":7,"real0":0,"mono0":0,"dropped":0}"#.to_owned(),
            format!(
                r#"{{"t":1,"tid":1,"cb":"init","ctx":1,"comm":"a{number}","name":"{name}","nnodes":1,"nranks":2,"rank":0}}"#
            ),
        ];
        let file = fs::File::create(directory.path().join(format!("odd.r{number}.jsonl.gz"))).unwrap();
        let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        std::io::Write::write_all(&mut gzip, (lines.join("\n") + "\n").as_bytes()).unwrap();
        gzip.finish().unwrap();
    }
    let text = tool::succeed(tool::tool().arg("replay").arg(directory.path()));
    assert!(text.contains(r"\u{1b}[31mred") && !text.contains('\u{1b}'), "{text:?}");
}
