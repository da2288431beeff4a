//! Archives of two small processes: errors, plans, and the resulting directory.

#[path = "../../../../tests/support/skip/mod.rs"]
#[allow(dead_code, reason = "others use the rest")]
mod skip;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use super::plan::{ArchivePlan, ClockProperties, MetricSet, PlannedRecords};
use super::*;
use crate::trace::{LaneEvent, LaneRecord, LaneTrace, Metric, ThreadTrace, TraceLanes, TraceMoment};

fn metric(name: &str, value_type: u32) -> Metric {
    Metric {
        name: name.to_owned(),
        description: format!("What {name} is."),
        unit: "B".to_owned(),
        mode: 0,
        value_type,
        base: 1,
        exponent: 0,
    }
}

fn moment(time: u64, enter: bool, bytes: u64) -> TraceMoment {
    TraceMoment { time, enter, region: "ncclAllReduce".to_owned(), values: vec![bytes, 0.5_f64.to_bits()] }
}

fn thread(name: &str, begin: u64) -> ThreadTrace {
    let moments = vec![moment(begin, true, 0), moment(begin + 4, false, 64), moment(begin + 4, true, 64)];
    ThreadTrace { name: name.to_owned(), moments }
}

fn process(name: &str, begin: u64) -> ProcessTrace {
    let value = |time, value| LaneRecord { time, event: LaneEvent::Count(0, value), attributes: Vec::new() };
    let rate =
        LaneTrace { name: "NCCL series".to_owned(), records: vec![value(begin + 1, 150), value(begin + 2, 250)] };
    let counters = vec![Metric { mode: 5, ..metric("nccl_rate", 1) }, metric("nccl_op", 1)];
    ProcessTrace {
        name: name.to_owned(),
        job: String::new(),
        node: "node 0".to_owned(),
        members: Vec::new(),
        ticks_per_second: 1_000_000_000,
        begin,
        end: begin + 100,
        counters: vec![metric("nccl_bytes", 1), metric("nccl_seconds", 2)],
        lanes: TraceLanes { counters, lanes: vec![rate], ..TraceLanes::default() },
        threads: vec![thread("thread 1", begin), thread("thread 2", begin + 1)],
    }
}

fn processes() -> Vec<ProcessTrace> {
    vec![process("collectives.r0", 1000), process("collectives.r1", 1010)]
}

/// Returns whether OTF2 is missing. A test that needs it prints a message and ends.
fn skipped() -> bool {
    match library::opened() {
        Ok(_) => false,
        Err(reason) => {
            skip::skip(&reason.to_string());
            true
        }
    }
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Returns the error for processes that cannot be written; checks that the directory stays empty.
fn refusal(processes: &[ProcessTrace]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let error = write(&directory.path().join("archive"), processes, None).unwrap_err();
    assert_eq!(names(directory.path()), [""; 0]);
    error.to_string()
}

#[test]
fn times_that_fall_are_refused_by_location() {
    let mut wrong = processes();
    wrong[1].threads[1].moments[1].time = 7;
    assert_eq!(refusal(&wrong), "collectives.r1, thread 2: the time falls from 1011 to 7 ticks at event 1");

    let mut wrong = processes();
    wrong[0].lanes.lanes[0].records.reverse();
    assert_eq!(refusal(&wrong), "collectives.r0, NCCL series: the time falls from 1002 to 1001 ticks at event 1");
}

#[test]
fn what_one_archive_cannot_hold_is_refused() {
    assert_eq!(refusal(&[]), "no process to write into an OTF2 archive");

    let mut wrong = processes();
    wrong[1].ticks_per_second = 1000;
    assert!(refusal(&wrong).contains("collectives.r1 counts 1000 ticks"));

    let mut wrong = processes();
    wrong[0].threads[0].moments[2].values.pop();
    assert_eq!(refusal(&wrong), "collectives.r0, thread 1: 1 values for 2 counters");

    let mut wrong = processes();
    wrong[0].lanes.counters[0].mode = 10;
    assert_eq!(refusal(&wrong), "metric nccl_rate: 10 is no metric mode of Score-P");

    let mut wrong = processes();
    wrong[0].counters = vec![metric("nccl_bytes", 1); 256];
    assert_eq!(refusal(&wrong), "too many counters of one process for one OTF2 archive");
}

#[test]
fn definitions_are_shared() {
    let processes = processes();
    let plan = ArchivePlan::new(&processes).unwrap();
    assert_eq!(plan.clock, ClockProperties { ticks_per_second: 1_000_000_000, offset: 1000, length: 110 });
    assert_eq!(plan.groups, [("collectives.r0", 0), ("collectives.r1", 0)]);
    assert_eq!((plan.jobs.iter().count(), plan.nodes.iter().collect::<Vec<_>>()), (0, vec![(0, &(None, "node 0"))]));
    let locations: Vec<_> = plan.locations.iter().map(|location| (location.group, location.name)).collect();
    let names = ["thread 1", "thread 2", "NCCL series"];
    let expected: Vec<_> = [0, 1].into_iter().flat_map(|group| names.map(|name| (group, name))).collect();
    assert_eq!(locations, expected);
    assert_eq!(plan.regions.iter().count(), 1);
    assert_eq!(plan.members.iter().count(), 4);
    let sets: Vec<_> = plan.sets.iter().map(|(_, set)| set.clone()).collect();
    let expected = [MetricSet::Strict(vec![0, 1]), MetricSet::Gpu(2), MetricSet::Gpu(3)];
    assert_eq!(sets, expected);
}

/// OTF2 requires a thread in every process, and its clock must span all events.
#[test]
fn an_idle_process_has_a_thread() {
    let mut idle = process("idle", 1000);
    idle.threads.clear();
    idle.lanes.lanes[0].records[1].time = 5000;
    let idle = [idle];
    let plan = ArchivePlan::new(&idle).unwrap();
    assert_eq!(plan.clock.length, 4000);
    assert_eq!(plan.locations[0].name, "main thread");
    assert!(matches!(&plan.locations[0].records, PlannedRecords::Moments { moments, .. } if moments.is_empty()));
}

#[test]
fn chunks_are_large_for_many_events_only() {
    let mut processes = processes();
    assert_eq!(chunk::size(&ArchivePlan::new(&processes).unwrap()), 256 * 1024);
    processes[1].threads[0].moments = vec![moment(1000, true, 0); 45_000];
    assert_eq!(chunk::size(&ArchivePlan::new(&processes).unwrap()), 4 * 1024 * 1024);
}

#[test]
fn an_occupied_target_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("note");
    fs::write(&file, "mine").unwrap();
    let error = write(directory.path(), &processes(), None).unwrap_err();
    assert!(matches!(&error, Otf2Error::NotEmpty(named) if named == directory.path()), "{error}");
    let error = write(&file, &processes(), None).unwrap_err();
    assert!(matches!(&error, Otf2Error::NotDirectory(named) if *named == file), "{error}");
    assert_eq!(names(directory.path()), ["note"]);
}

#[test]
fn an_unusable_parent_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("missing").join("archive");
    let error = write(&target, &processes(), None).unwrap_err();
    assert!(matches!(&error, Otf2Error::Directory { directory, .. } if *directory == target), "{error}");

    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } == 0 {
        println!("skipped: root may write everywhere");
        return;
    }
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let target = directory.path().join("archive");
    let error = write(&target, &processes(), None).unwrap_err();
    assert!(matches!(&error, Otf2Error::Directory { directory, .. } if *directory == target), "{error}");
    assert_eq!(names(directory.path()), [""; 0]);
}

#[test]
fn an_archive_appears_in_a_new_directory() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("archive");
    let anchor = write(&target, &processes(), None).unwrap();
    assert_eq!(anchor, target.join("traces.otf2"));
    // No temporary file stays, neither beside the archive nor in it.
    assert_eq!(names(directory.path()), ["archive"]);
    assert_eq!(names(&target), ["traces", "traces.def", "traces.otf2"]);
    // Two files for each of six locations. Others may read them if the umask lets them read new directories.
    assert_eq!(names(&target.join("traces")).len(), 12);
    let usual = directory.path().join("usual");
    fs::create_dir(&usual).unwrap();
    assert_eq!(fs::metadata(&target).unwrap().mode(), fs::metadata(&usual).unwrap().mode());

    let error = write(&target, &processes(), None).unwrap_err();
    assert!(matches!(error, Otf2Error::NotEmpty(_)), "{error}");
}

#[test]
fn an_empty_directory_is_kept() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let before = fs::metadata(directory.path()).unwrap();
    write(directory.path(), &processes(), None).unwrap();
    let after = fs::metadata(directory.path()).unwrap();
    assert_eq!((before.ino(), before.mode()), (after.ino(), after.mode()));
    assert_eq!(names(directory.path()), ["traces", "traces.def", "traces.otf2"]);
}

/// The error occurs when most of the archive is written.
#[test]
fn nothing_stays_of_a_failure() {
    if skipped() {
        return;
    }
    let mut wrong = processes();
    wrong[1].lanes.counters[1].unit = "B\0".to_owned();
    assert_eq!(refusal(&wrong), "\"B\\0\" holds a zero byte, which OTF2 cannot store");
}

/// Errors of OTF2 come back with OTF2's description.
#[test]
fn a_failing_call_is_named() {
    let Ok(library) = library::opened() else {
        assert!(skipped());
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    // Chunks of one byte are too small.
    let error = Archive::create(library, directory.path(), 1).err().unwrap().to_string();
    assert!(error.starts_with("OTF2_Archive_Open: ") && error.len() > 20, "{error}");
}
