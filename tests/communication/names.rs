//! The communicators of an archive as a reader sees them: their names, ids and parents, and their paradigm.

use crate::communication::experiment::{experiment, trace};
use crate::communication::records::{locations, printed};
use crate::communication::{skipped, tool};
use crate::support::edited::Edited;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The definitions of a kind in the archive of a replay.
fn replayed(recordings: &[PathBuf], kind: &str) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive");
    // a part of a job, and one without GPU times, has remarks
    assert!(tool::tool().arg("replay").args(recordings).arg("--otf2").arg(&archive).output().unwrap().status.success());
    definitions(&archive, kind)
}

/// The communicators of two pipelines of two stages whose recordings are changed.
fn edited(change: impl Fn(&mut Value)) -> Vec<String> {
    let edited: Vec<Edited> =
        tool::captures(&tool::run("nodes2x2_train")).iter().map(|it| Edited::of(it, &change)).collect();
    replayed(&edited.iter().map(Edited::path).collect::<Vec<_>>(), "COMM")
}

/// The definitions of a kind in the copy of an experiment.
fn copied(experiment: &Path, kind: &str) -> Vec<String> {
    let copy = experiment.with_file_name("copy");
    assert!(trace(experiment, &copy).output().unwrap().status.success());
    definitions(&copy, kind)
}

fn definitions(archive: &Path, kind: &str) -> Vec<String> {
    let lines = printed(archive, &["-G"]);
    lines.lines().filter(|line| line.split(' ').next() == Some(kind)).map(str::to_owned).collect()
}

fn names(communicators: &[String]) -> Vec<&str> {
    communicators.iter().map(|line| line.split('"').nth(1).unwrap()).collect()
}

/// Writes the summary of a job with the experiment's communicator.
fn summarise(experiment: &Path, name: &str) {
    let ranks: Vec<String> = (0..4).map(|rank| format!(r#"{{"rank":{rank},"process":0}}"#)).collect();
    let communicator =
        format!(r#"{{"comm":"0000000000001a2b","nranks":4,"nnodes":1,"name":"{name}","ranks":[{}]}}"#, ranks.join(","));
    let rows = r#""processes":[],"operations":[],"transfers":[],"channels":[]"#;
    let text = format!(r#"{{"schema":"scorep-nccl-summary-1","communicators":[{communicator}],{rows}}}"#);
    fs::write(experiment.join("nccl/summary.json"), text).unwrap();
}

/// Two pipelines of two stages. Neighbours that sum may be of TP or of DP, so they have digits of their ids.
#[test]
fn communicators_are_named_by_dimension_and_number_where_the_structure_says_it() {
    if skipped() {
        return;
    }
    let communicators = replayed(&tool::captures(&tool::run("nodes2x2_train")), "COMM");
    assert_eq!(names(&communicators), ["NCCL 50f680d1", "PP 1 of 2", "NCCL 6a354bfa", "PP 2 of 2"]);
}

#[test]
fn the_only_communicator_of_all_ranks_is_the_world() {
    if skipped() {
        return;
    }
    assert_eq!(names(&replayed(&tool::captures(&tool::run("nvlink4_single")), "COMM")), ["world"]);
}

/// Two processes of four share a communicator, which is not the job's world.
#[test]
fn in_a_part_of_a_job_no_communicator_is_the_world() {
    if skipped() {
        return;
    }
    let communicators = replayed(&tool::captures(&tool::run("nodes2x2_train"))[..2], "COMM");
    assert_eq!(names(&communicators), ["NCCL 5b7328ac", "NCCL 6a354bfa", "NCCL ca7bc276"]);
}

/// A message of an all-to-all that the GPU has not timed looks like one of a pipeline.
#[test]
fn messages_without_a_gpu_time_say_no_dimension() {
    if skipped() {
        return;
    }
    let communicators = edited(|line| match (line["type"] == "KernelCh", line["state"] == 22) {
        (true, _) => line["ptimer"] = 0.into(),
        (_, true) => line["arg"] = 0.into(),
        _ => {}
    });
    assert_eq!(names(&communicators), ["NCCL 50f680d1", "NCCL 5b7328ac", "NCCL 6a354bfa", "NCCL ca7bc276"]);
}

/// Frameworks give all groups of a dimension one name.
#[test]
fn communicators_of_one_name_have_their_members_in_it() {
    if skipped() {
        return;
    }
    let communicators = edited(|line| {
        if line["cb"] == "init" && line["nnodes"] == 2 && line["nranks"] == 2 {
            line["name"] = "stages".into();
        }
    });
    assert_eq!(names(&communicators), ["NCCL 50f680d1", "stages 0,2", "NCCL 6a354bfa", "stages 1,3"]);
}

#[test]
fn a_name_of_its_own_comes_first() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let experiment = experiment(directory.path(), 2, 10, "");
    summarise(&experiment, "default_pg");
    assert_eq!(names(&copied(&experiment, "COMM")[1..]), ["default_pg"]);
}

/// NCCL does not report from which communicator one was split.
#[test]
fn communicators_have_no_parent() {
    if skipped() {
        return;
    }
    let communicators = replayed(&tool::captures(&tool::run("nodes2x2_train")), "COMM");
    assert!(communicators.iter().all(|line| line.contains("Parent: UNDEFINED")), "{communicators:#?}");
}

#[test]
fn lanes_have_the_id_of_their_communicator_as_a_property() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive");
    tool::succeed(tool::tool().arg("replay").arg(tool::run("nodes2x2_train")).arg("--otf2").arg(&archive));
    let property = |line: &String| {
        let texts: Vec<&str> = line.split('"').collect();
        assert!(texts[3] == "NCCL communicator" && texts[4].contains("Type: STRING"), "{line}");
        (texts[1].to_owned(), texts[5].to_owned())
    };
    let found: BTreeMap<String, String> = definitions(&archive, "LOCATION_PROPERTY").iter().map(property).collect();
    let lanes = locations(&printed(&archive, &["-G"])).into_values().filter(|name| name.contains(" rank "));
    let expected: BTreeMap<String, String> = lanes.map(|name| (name.clone(), name[5..21].to_owned())).collect();
    assert!(expected.len() == 8 && found == expected, "{found:#?}");
}

#[test]
fn the_paradigm_of_the_communicators_is_defined() {
    if skipped() {
        return;
    }
    let paradigms = replayed(&tool::captures(&tool::run("nvlink4_single")), "PARADIGM");
    assert!(matches!(&paradigms[..], [one] if one.contains(r#"CUDA, Name: "NCCL""#)), "{paradigms:#?}");
}

/// A group of locations, or none but communicators that are in no record: CUDA is the paradigm of memory copies.
#[test]
fn a_paradigm_in_use_is_left_alone() {
    if skipped() {
        return;
    }
    for wrong in ["", "rma_only"] {
        let directory = tempfile::tempdir().unwrap();
        let experiment = experiment(directory.path(), 2, 10, wrong);
        let before = definitions(&experiment, "PARADIGM");
        assert_eq!(copied(&experiment, "PARADIGM"), before, "{wrong}");
        assert!(
            definitions(&experiment.with_file_name("copy"), "GROUP").iter().any(|line| line.contains("Paradigm: USER")),
            "{wrong}"
        );
    }
}
