//! Conditions that end the lanes, and figures that go on without them: no Score-P that can be written to, too little
//! memory, too many operations, recording switched off. Each condition has one line on standard error. Score-P's
//! stand-in aborts where Score-P would.

mod memory;
mod releases;

use crate::support::job;
use job::lanes::{self, PLACE, check, visits};
use job::{Job, Plan, Process, plan};

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

#[test]
fn recording_that_is_off_at_the_end_is_no_harm() {
    let job = plan("recording_off", 0).run();
    assert_eq!((job.said(), job.only().number("vanished")), (Vec::<&str>::new(), 0));
    check(job.only(), 1e9, &PLACE);
}

#[test]
fn recording_that_was_off_for_a_while_is_no_harm() {
    let job = plan("recording_off_and_on", 0).run();
    assert_eq!(job.said(), Vec::<&str>::new());
    check(job.only(), 1e9, &PLACE);
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

#[test]
fn series_are_for_the_trace_alone() {
    let plan = plan("pairs", 0)
        .with("SCOREP_METRIC_PLUGINS", "nccl_plugin,nccl_series_plugin")
        .with("SCOREP_METRIC_NCCL_SERIES_PLUGIN", "default");
    let rates = |plan: Plan| {
        let job = plan.run();
        assert_eq!(job.said(), Vec::<&str>::new());
        let rates = job.only().lines("event").filter(|fields| fields[3] == "nccl_window_transfer_rate#0");
        rates.map(|fields| fields[4].parse::<f64>().unwrap()).collect::<Vec<_>>()
    };
    // 400 transfers of 33 MB in total to ten ranks; each takes 5 us and a nanosecond for ten bytes
    let sustained = 33e6 / (400.0 * 5.0 + 33e6 / 1e4) * 1e6;
    for profiling in ["true", "false"] {
        let rates = rates(plan.clone().with("SCOREP_ENABLE_PROFILING", profiling));
        assert!(!rates.is_empty() && rates.iter().all(|rate| (rate / sustained - 1.0).abs() < 0.01), "{rates:?}");
    }
    assert_eq!(rates(plan.with("SCOREP_ENABLE_TRACING", "false")), Vec::<f64>::new());
}

#[test]
fn tokens_name_counters() {
    let counters = |tokens: &str| {
        let job = plan("lanes", 0).with("SCOREP_METRIC_NCCL_PLUGIN", tokens).run();
        let names: Vec<String> = job.only().lines("value").map(|fields| fields[1].to_owned()).collect();
        (names, job.said().into_iter().map(str::to_owned).collect::<Vec<_>>())
    };
    let default = ["nccl_ops", "nccl_bytes", "nccl_collective_time"];
    assert_eq!(counters("default"), (default.map(str::to_owned).to_vec(), vec![]));
    let (all, said) = counters("*");
    assert!((7..=20).contains(&all.len()) && said.is_empty(), "{all:?}");
    // an unknown name gives one warning with the nearest names, and the other names still count
    let (some, said) = counters("nccl_ops,nccl_netbytes,nccl_net_bytes");
    assert_eq!(some, ["nccl_ops", "nccl_net_bytes"]);
    let has = |line: &str| ["nccl_netbytes", "; nccl_net_bytes", "may be meant"].iter().all(|name| line.contains(name));
    assert!(said.len() == 1 && has(&said[0]) && said[0].len() < 200, "{said:?}");
}
