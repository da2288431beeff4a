//! Conditions that end the lanes, and figures that go on without them: no Score-P that can be written to, too little
//! memory, too many operations, recording switched off. Each condition has one line on standard error. Score-P's
//! stand-in aborts where Score-P would.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "support/job/mod.rs"]
mod job;
#[path = "support/tool/mod.rs"]
mod tool;

use job::lanes::{self, PLACE, check, visits};
use job::{Job, Plan, Process, plan};
use scorep_substrate::{LANE_SYMBOLS, release};
use std::path::{Path, PathBuf};

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

/// Returns the number of operations on the lanes.
fn shown(process: &Process) -> usize {
    visits(&process.lanes()).values().map(Vec::len).sum()
}

/// Checks that there are no lanes, that one line says so with this word, and that the counters are right.
fn check_off(job: &Job, word: &str) {
    let said = job.said();
    assert!(said.len() == 1 && said[0].contains("lanes") && said[0].contains(word), "{word}: {said:?}");
    assert!(job.only().lanes().is_empty());
    check_counters(job.only());
}

/// Checks that the lanes are right, and that no line says anything.
fn check_on(job: &Job) {
    assert_eq!(job.said(), Vec::<&str>::new());
    check(job.only(), 1e9, &PLACE);
}

fn check_counters(process: &Process) {
    let operations = process.operations();
    let bytes: u64 = operations.iter().map(|operation| operation.bytes).sum();
    let counted = ["nccl_ops", "nccl_bytes"].map(|name| process.counter("Master thread", name));
    assert_eq!(counted, [operations.len() as u64, bytes]);
}

/// A test of the stand-in and of the host: other tests rely on them to fail on errors.
#[test]
fn the_stand_in_aborts_where_score_p_does() {
    let wrongs = plan("wrong", 0).run().only().number("wrongs");
    assert!(wrongs >= 17);
    for number in 1..=wrongs {
        let job = plan("wrong", number as i64).play();
        let process = job.only();
        assert_eq!(process.end, "killed\t6", "{number}: {:?}", process.said);
        assert!(process.said.len() == 1 && process.said[0].starts_with("Score-P: "), "{number}: {:?}", process.said);
    }
    assert_eq!(plan("between", 0).run().processes.len(), 4);
}

/// The tests of lanes must fail on wrong lanes, too.
#[test]
fn lanes_that_are_wrong_are_found() {
    let wrongs = plan("own_lanes", 0).run().only().number("wrongs");
    assert!(wrongs >= 9);
    for number in 0..=wrongs {
        let job = plan("own_lanes", number as i64).run();
        let wrong = lanes::wrong(job.only(), 1e9, &PLACE);
        assert_eq!(wrong.is_empty(), number == 0, "{number}: {wrong:?}");
    }
}

/// Name of the stand-in's library, that of Score-P 8, and of one that was not tried.
const KNOWN: &str = release::TRIED[0].library;
const UNKNOWN: &str = "libscorep_measurement.so.99";

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

#[test]
fn lanes_can_be_switched_off() {
    check_off(&plan("lanes", 0).with("NCCL_SCOREP_LANES", "off").run(), "NCCL_SCOREP_LANES");
}

/// Score-P announces the measurement's end to metric plugins with metrics only. Without them, the lanes are written at
/// the program's end.
#[test]
fn lanes_come_at_the_programs_end_at_the_latest() {
    let plan = plan("lanes", 0).with_substrate();
    for plan in [plan.clone(), plan.without("SCOREP_METRIC_NCCL_PLUGIN")] {
        let job = plan.run();
        check(job.only(), 1e9, &PLACE);
    }
}

#[test]
fn an_operation_under_way_at_the_exit_is_no_harm() {
    let job = plan("exit_amidst", 0).run();
    let shown = shown(job.only());
    // the lanes may have the operation that never ended, or not
    assert!((20..=21).contains(&shown), "{shown}");
    assert_eq!(job.only().counter("Master thread", "nccl_ops") as usize, 21);
}

/// Score-P ends on that thread then, on which the library must not write.
#[test]
fn a_thread_that_ends_the_program_is_no_harm() {
    let job = plan("exit_of_a_thread", 0).run();
    assert!(job.said().len() <= 1, "{:?}", job.said());
}

#[test]
fn without_nccl_there_is_nothing_to_show() {
    let job = plan("nothing", 0).run();
    assert_eq!(job.said(), Vec::<&str>::new());
    assert!(job.only().lanes().is_empty());
}

/// Score-P's default memory: each location takes 1 MiB of 15.6.
#[test]
fn too_little_memory_means_fewer_lanes() {
    let job = plan("communicators", 20).without("SCOREP_TOTAL_MEMORY").run();
    let lanes = job.only().lanes().len();
    assert!((5..20).contains(&lanes), "{lanes}");
    let said = job.said();
    assert!(said.len() == 1 && said[0].contains("SCOREP_TOTAL_MEMORY"), "{said:?}");
    check_counters(job.only());
    // with enough memory there is no message
    let job = plan("communicators", 20).run();
    assert_eq!((job.said().len(), job.only().lanes().len()), (0, 20));
    check(job.only(), 1e9, &PLACE);
}

/// No memory is left for lanes.
#[test]
fn no_memory_means_no_lanes() {
    let job = plan("communicators", 3).with("SCOREP_TOTAL_MEMORY", "2M").run();
    let said = job.said();
    assert!(said.len() == 1 && said[0].contains("SCOREP_TOTAL_MEMORY"), "{said:?}");
    assert!(job.only().lanes().is_empty());
    check_counters(job.only());
}

/// A MiB has room for 18,724 operations of 56 bytes.
#[test]
fn operations_beyond_the_lanes_memory_are_dropped_and_counted() {
    let job = plan("many", 30_000).with("NCCL_SCOREP_LANE_MB", "1").run();
    let shown = shown(job.only());
    assert!((18_000..30_000).contains(&shown), "{shown}");
    let said = job.said();
    let dropped = (30_000 - shown).to_string();
    assert!(
        said.len() == 1 && said[0].contains("NCCL_SCOREP_LANE_MB") && said[0].contains(&dropped),
        "{dropped}: {said:?}"
    );
    check_counters(job.only());

    let job = plan("many", 30_000).run();
    assert_eq!(job.said(), Vec::<&str>::new());
    check(job.only(), 1e9, &PLACE);
}

#[test]
fn recording_that_is_off_at_the_end_means_no_lanes() {
    let job = plan("recording_off", 0).run();
    check_off(&job, "ecording");
    assert_eq!(job.only().number("vanished"), 0);
}

#[test]
fn recording_that_was_off_for_a_while_is_no_harm() {
    let job = plan("recording_off_and_on", 0).run();
    assert_eq!(job.said(), Vec::<&str>::new());
    check(job.only(), 1e9, &PLACE);
}

/// After Score-P has flushed its trace, only the lanes from the begin can be written: 3 of 64 MiB.
#[test]
fn after_a_flush_no_location_is_made() {
    let job = plan("communicators", 20).with("STAND_IN_HAS_FLUSHED", "1").run();
    assert_eq!(job.only().lanes().len(), 3);
    let said = job.said();
    assert!(said.len() == 1 && said[0].contains("3 of 20") && said[0].contains("SCOREP_TOTAL_MEMORY"), "{said:?}");
    // without a profile, one more location does no harm if there is memory for it
    let job =
        plan("communicators", 20).with("STAND_IN_HAS_FLUSHED", "1").with("SCOREP_ENABLE_PROFILING", "false").run();
    assert_eq!((job.only().lanes().len(), job.said().len()), (4, 1));
}

/// A location takes whole pages, whatever their size.
#[test]
fn large_pages_mean_fewer_lanes() {
    for tracing in ["true", "false"] {
        let plan = plan("communicators", 20).with("SCOREP_ENABLE_TRACING", tracing).with("SCOREP_PAGE_SIZE", "128k");
        let plan = plan.with("SCOREP_TOTAL_MEMORY", "32M");
        let job = plan.run();
        assert!(
            job.only().lanes().len() < 20 && job.said()[0].contains("SCOREP_TOTAL_MEMORY"),
            "{tracing}: {:?}",
            job.said()
        );
    }
}

/// Score-P gives its clock to the metric plugin only. Without that plugin, times cannot be placed on Score-P's clock.
#[test]
fn the_substrate_plugin_alone_has_no_lanes() {
    let plan = plan("lanes", 0).with_substrate().without("SCOREP_METRIC_PLUGINS").without("SCOREP_METRIC_NCCL_PLUGIN");
    let job = plan.run();
    assert!(job.only().lanes().is_empty());
    // without Score-P's clock the library has only the machine's clock, and the host shows another time
    assert!(job.said()[0].contains("SCOREP_METRIC_PLUGINS=nccl_plugin"), "{:?}", job.said());
}

/// The names of locations that were created at the begin and not needed say so.
#[test]
fn spare_locations_are_named_as_such() {
    let unused = |plan: Plan| {
        let job = plan.run();
        let names = job.only().locations().into_iter().map(|location| location.name);
        names.filter(|name| name == "NCCL (unused)").count()
    };
    assert_eq!(unused(plan("nothing", 0)), 3);
    assert_eq!(unused(plan("nothing", 0).without("SCOREP_TOTAL_MEMORY")), 0);
    assert_eq!(unused(plan("nothing", 0).with("SCOREP_PROFILING_FORMAT", "tau_snapshot")), 0);
    assert_eq!(unused(plan("nothing", 0).with("SCOREP_ENABLE_TRACING", "false")), 0);
    assert_eq!(unused(plan("communicators", 2)), 1);
}

#[test]
fn series_are_for_the_trace_alone() {
    let plan = plan("pairs", 0)
        .with("SCOREP_METRIC_PLUGINS", "nccl_plugin,nccl_series_plugin")
        .with("SCOREP_METRIC_NCCL_SERIES_PLUGIN", "default");
    let job = plan.run();
    let said = job.said();
    assert!(said.len() == 1 && said[0].contains("SCOREP_ENABLE_PROFILING=false"), "{said:?}");
    assert_eq!(job.only().lines("series").count(), 0);

    let job = plan.with("SCOREP_ENABLE_PROFILING", "false").run();
    assert_eq!(job.said(), Vec::<&str>::new());
    let mut values = job.only().lines("series").map(|fields| (fields[0].to_owned(), fields[2].parse::<f64>().unwrap()));
    let (name, rate) = values.next().unwrap_or_else(|| panic!("no series"));
    // 400 transfers of 33 MB in total to ten ranks; each takes 5 us and a nanosecond for ten bytes
    let sustained = 33e6 / (400.0 * 5.0 + 33e6 / 1e4);
    assert!(name == "nccl_window_transfer_rate#0" && (rate / sustained - 1.0).abs() < 0.01, "{name} {rate}");
}

#[test]
fn tokens_name_counters() {
    let counters = |tokens: &str| {
        let job = plan("lanes", 0).with("SCOREP_METRIC_NCCL_PLUGIN", tokens).run();
        let names: Vec<String> = job.only().lines("value").map(|fields| fields[1].to_owned()).collect();
        (names, job.said().into_iter().map(str::to_owned).collect::<Vec<_>>())
    };
    let default = [
        "nccl_ops",
        "nccl_bytes",
        "nccl_busy_time",
        "nccl_net_bytes",
        "nccl_gpu_timed_ops",
        "nccl_enqueued_bytes",
        "nccl_api_time",
    ];
    assert_eq!(counters("default"), (default.map(str::to_owned).to_vec(), vec![]));
    let (all, said) = counters("*");
    assert!((7..=20).contains(&all.len()) && said.is_empty(), "{all:?}");
    // an unknown name gives one warning with the valid names, and the other names still count
    let (some, said) = counters("nccl_ops,no_such,nccl_net_bytes");
    assert_eq!(some, ["nccl_ops", "nccl_net_bytes"]);
    assert!(
        said.len() == 1 && ["no_such", "default", "nccl_enqueued_bytes"].iter().all(|name| said[0].contains(name)),
        "{said:?}"
    );
}
