//! Releases of Score-P: which of them have lanes, by the name and the symbols of the library, or by a trial.

use crate::lane_limits::{check_counters, check_off, check_on, shown};
use crate::support::job::plan;
use scorep_substrate::{LANE_SYMBOLS, release};
use std::path::{Path, PathBuf};

/// Name of the stand-in's library, that of Score-P 8, and of one that was not tried.
const KNOWN: &str = release::TRIED[0].library;
const UNKNOWN: &str = "libscorep_measurement.so.99";

/// Writes a copy of the stand-in without a symbol, or with another name of its own: it replaces this text in the file's
/// table of names.
fn stand_in(directory: &Path, name: &str, replaced: &str, by: &str) -> PathBuf {
    let named = directory.join(name);
    std::fs::copy(env!("SCORE_P_STAND_IN"), &named).unwrap();
    copied(&named, directory, replaced, by)
}

/// Writes a copy of a library, with the same file name, where the text is replaced.
fn copied(library: &Path, directory: &Path, replaced: &str, by: &str) -> PathBuf {
    let mut file = std::fs::read(library).unwrap();
    let [replaced, by] = [replaced, by].map(|text| format!("\0{text}\0").into_bytes());
    assert_eq!(replaced.len(), by.len());
    let places: Vec<usize> = (0..file.len() - replaced.len()).filter(|&at| file[at..].starts_with(&replaced)).collect();
    assert!(!places.is_empty(), "no {}", String::from_utf8_lossy(&replaced));
    for place in places {
        file[place..place + by.len()].copy_from_slice(&by);
    }
    let path = directory.join(library.file_name().unwrap());
    std::fs::write(&path, file).unwrap();
    path
}

/// The stand-in without a symbol.
fn without(directory: &Path, name: &str, symbol: &str) -> PathBuf {
    stand_in(directory, name, symbol, &symbol.to_uppercase().replace("SCOREP", "scorep"))
}

#[test]
fn a_missing_symbol_turns_lanes_off() {
    let directory = tempfile::tempdir().unwrap();
    for name in [KNOWN, UNKNOWN] {
        for symbol in LANE_SYMBOLS {
            let symbol = symbol.to_str().unwrap();
            let library = without(directory.path(), name, symbol);
            check_off(&plan("lanes", 0).beside(Some(library)).run(), symbol);
        }
    }
}

/// From Score-P 9 on a variable has what a function had before. One of the two must be there.
#[test]
fn the_page_manager_of_all_definitions_is_a_functions_or_a_variables() {
    let directory = tempfile::tempdir().unwrap();
    let [function, variable] = ["SCOREP_Memory_GetLocalDefinitionPageManager", "scorep_definitions_page_manager"];
    for symbol in [function, variable] {
        let library = without(directory.path(), release::TRIED[1].library, symbol);
        check_on(&plan("lanes", 0).beside(Some(library)).run());
    }
    let library = without(directory.path(), KNOWN, function);
    let other = directory.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let library = copied(&library, &other, variable, &variable.to_uppercase());
    check_off(&plan("lanes", 0).beside(Some(library)).run(), variable);
}

/// Nobody has tried every release. One whose functions work in a child process has lanes.
#[test]
fn a_release_that_was_not_tried_is_tried() {
    let directory = tempfile::tempdir().unwrap();
    let library = stand_in(directory.path(), UNKNOWN, KNOWN, UNKNOWN);
    for wanted in ["on", "always"] {
        check_on(&plan("lanes", 0).beside(Some(library.clone())).with("NCCL_SCOREP_LANES", wanted).run());
    }
    // without a trace there are no attributes
    let job = plan("lanes", 0).beside(Some(library.clone())).with("SCOREP_ENABLE_TRACING", "false").run();
    assert_eq!((job.said(), shown(job.only())), (vec![], job.only().operations().len()));
    let plan = plan("lanes", 0).beside(Some(library)).with("NCCL_SCOREP_LANES", "tried");
    check_off(&plan.run(), UNKNOWN);
}

/// Whatever its functions do, the application goes on.
#[test]
fn a_trial_that_fails_turns_lanes_off() {
    let directory = tempfile::tempdir().unwrap();
    let library = stand_in(directory.path(), UNKNOWN, KNOWN, UNKNOWN);
    for (fault, word) in [
        ("abort", "signal 6"),
        ("hang", "did not return"),
        ("exit", "ended the process"),
        ("none", "makes no location"),
        ("page", "sizes of memory"),
        ("begin", "in the future"),
        ("recording", "nothing could be tried"),
    ] {
        let job = plan("lanes", 0).beside(Some(library.clone())).with("STAND_IN_FAULT", fault).run();
        check_off(&job, word);
        assert!(job.said()[0].contains(UNKNOWN), "{:?}", job.said());
    }
}

/// The trial has no part for host regions.
#[test]
fn a_release_that_was_not_tried_has_no_host_regions() {
    let directory = tempfile::tempdir().unwrap();
    let library = stand_in(directory.path(), UNKNOWN, KNOWN, UNKNOWN);
    let plan = plan("host_regions", 0).with("NCCL_SCOREP_HOST_REGIONS", "on").beside(Some(library));
    let job = plan.run();
    let said = job.said();
    assert!(said.len() == 1 && said[0].contains("regions") && said[0].contains("was not tried"), "{said:?}");
    assert!(shown(job.only()) > 0);
}

/// A patch release of the same interface has lanes.
#[test]
fn a_patch_release_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let library = directory.path().join("libscorep_measurement.so.11.0.1");
    std::fs::copy(env!("SCORE_P_STAND_IN"), &library).unwrap();
    check_on(&plan("lanes", 0).beside(Some(library)).run());
}

/// Score-P's Python bindings load the library by such a link.
#[test]
fn nor_does_a_link_without_a_number() {
    let directory = tempfile::tempdir().unwrap();
    let library = directory.path().join("libscorep_measurement.so");
    std::os::unix::fs::symlink(env!("SCORE_P_STAND_IN"), &library).unwrap();
    check_on(&plan("lanes", 0).beside(Some(library)).run());
}

#[test]
fn a_score_p_that_is_part_of_the_program_turns_lanes_off() {
    let job = plan("lanes", 0).beside(None).run();
    let said = job.said();
    assert!(said.len() == 1 && said[0].contains("lanes"), "{said:?}");
    check_counters(job.only());
}
