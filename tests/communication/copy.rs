//! The copy of an experiment to which `scorep-nccl trace` adds records of communication, and nothing else.

use crate::communication::experiment::{contents, experiment, rounds, trace};
use crate::communication::records::{found, locations, printed};
use crate::communication::skipped;
use crate::support::tool;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// The lines of otf2-print without what a copy may have of its own.
fn without_added(text: &str, names: &BTreeMap<String, String>) -> Vec<String> {
    let is_added = |line: &str| {
        let mut words = line.split_whitespace();
        let (kind, location) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let is_lane = names.get(location).is_some_and(|name| name.starts_with("NCCL "));
        kind.starts_with("MPI_") && is_lane
    };
    text.lines().filter(|line| !is_added(line)).map(str::to_owned).collect()
}

/// Definitions of every kind, events of many kinds, local numbers and clocks: a copy has them all, and what is added.
#[test]
fn a_copy_differs_in_the_added_records_alone() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let experiment = experiment(directory.path(), 20, 500, "");
    let before = contents(&experiment);
    let copy = directory.path().join("copy");
    let output = trace(&experiment, &copy).output().unwrap();
    let [answer, said] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(answer.contains("1 communicator, 80 messages and 160 ends of collectives added"), "{answer}{said}");
    assert!(said.lines().count() == 1 && said.contains("no nccl/summary.json"), "{said}");
    assert_eq!(contents(&experiment), before);
    assert_eq!(found(&copy), rounds(20, None));

    let names = locations(&printed(&experiment, &["-G"]));
    let [original, copied] = [&experiment, &copy].map(|of| without_added(&printed(of, &[]), &names));
    assert!(original.len() > 1000 && original == copied);
    let anchors = [&experiment, &copy].map(|of| printed(of, &["-A"]));
    for label in
        ["Machine name", "Creator", "Description", "Property name", "Property value", "Chunk size", "Number of loc"]
    {
        let of =
            |text: &str| text.lines().filter(|line| line.starts_with(label)).map(str::to_owned).collect::<Vec<_>>();
        assert!(!of(&anchors[0]).is_empty() && of(&anchors[0]) == of(&anchors[1]), "{label}");
    }
    let definitions = [&experiment, &copy].map(|of| {
        let of_lanes = |line: &&str| !(line.starts_with("LOCATION ") && line.contains("ACCELERATOR_STREAM"));
        printed(of, &["-G"]).lines().filter(of_lanes).map(str::to_owned).collect::<BTreeSet<_>>()
    });
    assert!(definitions[0].len() > 60 && definitions[0].is_subset(&definitions[1]));
    let added: Vec<_> = definitions[1].difference(&definitions[0]).collect();
    // four strings, the group of all lanes, the communicator's, the communicator, a property of each lane
    assert_eq!(added.len(), 7 + 4, "{added:#?}");
    for file in ["profile.cubex", "nccl/summary.txt", "traces/0.evt", "traces/0.def"] {
        assert_eq!(fs::read(copy.join(file)).unwrap(), fs::read(experiment.join(file)).unwrap(), "{file}");
    }
}

/// A reader takes the k-th send for the k-th receive: with one missing, it would draw wrong lines.
#[test]
fn where_a_message_has_one_side_its_pair_has_no_records() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("copy");
    let output = trace(&experiment(directory.path(), 3, 10, "unmatched"), &copy).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("5 sends and receives have no record"), "{said}");
    assert_eq!(found(&copy), rounds(3, Some(1)));
}

#[test]
fn messages_that_end_before_they_begin_are_said() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("copy");
    let output = trace(&experiment(directory.path(), 3, 10, "reversed"), &copy).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    // rank 3 receives 300 us early what is sent at 3 x 100 us + 2, and received at 4 x 100 us + 3 + 50
    assert!(said.contains("3 messages end before they begin, by 149.0 us at most"), "{said}");
    assert_eq!(found(&copy), rounds(3, None));
}

/// A root that nobody knows would make the bytes wrong.
/// Score-P's offset of the second process is 900 us wrong; the ranks begin 1 us after one another.
#[test]
fn the_report_has_the_processes_of_a_machine_on_one_clock() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (experiment, sheets) = (experiment(directory.path(), 2, 10, "timers"), directory.path().join("sheets"));
    tool::succeed(tool::tool().arg("report").arg(&experiment).arg("--csv").arg(&sheets));
    let sheet = fs::read_to_string(sheets.join("operations.csv")).unwrap();
    let mut rows = sheet.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = rows.next().unwrap();
    let place = |name: &str| names.iter().position(|it| *it == name).unwrap();
    let [function, rank, begin] = ["function", "rank", "enqueued_ns"].map(place);
    let mut begins: Vec<(&str, u64)> =
        rows.filter(|row| row[function] == "AllReduce").map(|row| (row[rank], row[begin].parse().unwrap())).collect();
    begins.sort_unstable();
    let first = begins[0].1;
    let since: Vec<(&str, u64)> = begins.iter().step_by(2).map(|(rank, begin)| (*rank, begin - first)).collect();
    assert_eq!(since, [("0", 0), ("1", 1000), ("2", 2000), ("3", 3000)], "{sheet}");
}

#[test]
fn collectives_without_a_known_root_have_no_record() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("copy");
    let output = trace(&experiment(directory.path(), 3, 10, "rootless"), &copy).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("12 collectives have no record"), "{said}");
    let mut expected = rounds(3, None);
    expected.retain(|record, _| !record.contains("BCAST"));
    for (_, times) in expected.iter_mut().filter(|(record, _)| record.ends_with("begins")) {
        *times /= 2;
    }
    assert_eq!(found(&copy), expected);
}

/// Sites keep large files elsewhere, and link to them. The anchor may be named without a directory.
#[test]
fn links_are_followed_to_files_and_to_the_locations() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let experiment = experiment(directory.path(), 3, 10, "");
    let elsewhere = directory.path().join("elsewhere");
    fs::rename(experiment.join("traces"), &elsewhere).unwrap();
    symlink(&elsewhere, experiment.join("traces")).unwrap();
    fs::rename(elsewhere.join("0.evt"), directory.path().join("0.evt")).unwrap();
    symlink(directory.path().join("0.evt"), elsewhere.join("0.evt")).unwrap();
    let copy = directory.path().join("copy");
    let mut command = trace(Path::new("traces.otf2"), &copy);
    assert!(command.current_dir(&experiment).output().unwrap().status.success());
    assert_eq!(found(&copy), rounds(3, None));
    assert_eq!(fs::read(copy.join("traces/0.evt")).unwrap(), fs::read(elsewhere.join("0.evt")).unwrap());
    assert!(!copy.join("traces").is_symlink() && !copy.join("traces/0.evt").is_symlink());
}

/// Whatever is refused leaves nothing behind, and the experiment as it was.
#[test]
fn what_cannot_be_copied_is_refused_with_the_reason() {
    if skipped() {
        return;
    }
    for (wrong, reason) in [
        ("strange", "event on a lane"),
        ("none", "no lanes"),
        ("again", "already"),
        ("full", "not empty"),
        ("inside", "lies in the experiment"),
        ("itself", "lies in the experiment"),
        ("named", "name the experiment's directory"),
        ("missing", "no such file"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let mut original = experiment(directory.path(), 2, 10, wrong);
        if wrong == "again" {
            let first = directory.path().join("first");
            assert!(trace(&original, &first).output().unwrap().status.success());
            original = first;
        }
        let copy = match wrong {
            "inside" => "experiment/copy",
            "itself" => "experiment",
            _ => "copy",
        };
        let copy = directory.path().join(copy);
        match wrong {
            "named" => original = original.join("profile.cubex"),
            "missing" => original = original.join("nothing"),
            _ => {}
        }
        if wrong == "full" {
            fs::create_dir(&copy).unwrap();
            fs::write(copy.join("mine"), "").unwrap();
        }
        let before = contents(directory.path());
        let output = trace(&original, &copy).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(reason) && !said.contains("remove"), "{wrong}: {said}");
        assert_eq!(contents(directory.path()), before, "{wrong}");
    }
    let directory = tempfile::tempdir().unwrap();
    let output = trace(directory.path(), &directory.path().join("copy")).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("SCOREP_ENABLE_TRACING=true"), "{said}");
}
