//! Requests to a running process: does it ask NCCL for other event types while its threads call NCCL, does each figure
//! count exactly what NCCL reported whole, and is a request refused that somebody else may have written?

use crate::support::status;

use common::status::request::{FILE, StatusRequest};
use serde_json::Value;
use status::{Job, of, set_mode};

/// KernelCh of NCCL's bits.
const KERNEL_CH: u64 = 0x40;

fn preset(name: &str) -> StatusRequest {
    StatusRequest { preset: Some(name.into()), ..StatusRequest::default() }
}

fn sum(rows: &Value, field: &str) -> u64 {
    rows.as_array().unwrap().iter().map(|row| row[field].as_u64().unwrap()).sum()
}

/// Switches up and down under load. The figures have all operations, and the GPU times and transfers of exactly those
/// whose call read the mask with these types.
fn switch_under_load(version: u32, own: &str, [up, down]: [&str; 2], times: usize) {
    let settings = [("NCCL_SCOREP_PRESET", own), ("NCCL_SCOREP_TRUST_NCCL", "on"), ("NCCL_SCOREP_GPU_TIME", "stamps")];
    let mut job = Job::begin(version, &settings);
    job.order("init ab 0 2");
    job.send(&format!("storm 3 {}", 3000 * times));
    job.await_status(|status| status.communicators.len() == 4);
    for turn in 0..times {
        let ticket = job.ask(preset([up, down][turn % 2]));
        assert_eq!(job.answered(&ticket).answer.unwrap().refused, None, "v{version}");
        let has_kernels = [up, down][turn % 2] != "api";
        job.await_status(|status| (status.mask & KERNEL_CH != 0) == has_kernels);
    }
    let made = job.answer();
    let made: Vec<u64> = made.split(' ').map(|number| number.parse().unwrap()).collect();
    let [operations, kernels, transfers] = made.try_into().unwrap();
    job.order("finalize ab");
    let summary = job.end();
    let process = &summary["processes"][0];
    let what =
        format!("v{version}, {own}: {made:?} {process:#}\n{}", job.said(), made = [operations, kernels, transfers]);
    assert_eq!(sum(&summary["operations"], "count"), operations, "{what}");
    assert!(kernels > 0 && kernels < operations && transfers > 0 && transfers < operations, "{what}");
    assert_eq!(sum(&summary["operations"], "gpu_timed"), kernels, "{what}");
    assert_eq!(sum(&summary["transfers"], "transfers"), transfers, "{what}");
    for nothing in ["incomplete", "orphans", "unfinished", "dropped", "out_of_step", "ignored_handles"] {
        assert_eq!(process[nothing], 0, "{nothing}: {what}");
    }
    assert!(process["notes"].to_string().contains("requests changed the event types"), "{what}");
    assert_eq!(job.said(), "");
}

#[test]
fn up_and_down_under_load_each_figure_counts_what_was_reported_whole() {
    switch_under_load(7, "api", ["full", "api"], 6);
}

#[test]
fn down_and_up_under_load_too_in_the_oldest_interface_that_can() {
    switch_under_load(4, "network", ["api", "network"], 4);
    switch_under_load(5, "full", ["api", "light"], 4);
}

/// `SCOREP_NCCL_SWITCHES=100` makes it longer.
#[test]
fn many_times() {
    let times = std::env::var("SCOREP_NCCL_SWITCHES").map_or(2, |times| times.parse().unwrap());
    switch_under_load(6, "api", ["full", "api"], times);
}

/// Calls NCCL until its mask is another one, and returns it.
fn switched(job: &mut Job, before: &str) -> String {
    let begun = std::time::Instant::now();
    loop {
        job.order("whole ab 1");
        let mask = job.order("mask");
        if mask != before {
            return mask;
        }
        assert!(begun.elapsed().as_secs() < 30, "{}", job.said());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn a_request_lasts_as_long_as_it_says_and_the_next_communicator_has_it_too() {
    let mut job = Job::begin(7, &[("NCCL_SCOREP_PRESET", "api"), ("NCCL_SCOREP_TRUST_NCCL", "on")]);
    job.order("init ab 0 2\n whole ab 1");
    let own = job.order("mask");
    job.next_status();
    let ticket = job.ask(StatusRequest { seconds: Some(3.0), ..preset("full") });
    let answer = job.answered(&ticket).answer.unwrap();
    assert_eq!(answer.until.map(|until| until - answer.taken), Some(3_000_000_000));
    assert!(answer.left_out.is_some_and(|left_out| left_out.contains("launches")));
    let full = switched(&mut job, &own);
    // NCCL gives the address of its mask to each init, which writes it
    job.order("init cd 0 2");
    assert_eq!(job.order("mask"), full);
    job.order("whole cd 1");
    assert_eq!(switched(&mut job, &full), own);
    let own: u64 = own.parse().unwrap();
    let status = job.await_status(|status| status.mask == own);
    assert!(of(&status, "ab").counts_all);
    // a mask that somebody else has changed stays
    job.order("set_mask 7");
    let ticket = job.ask(preset("full"));
    job.answered(&ticket);
    job.order("whole ab 1");
    assert_eq!(job.order("mask"), "7");
}

#[test]
fn a_summary_is_written_when_it_is_asked_for() {
    let mut job = Job::begin(7, &[("NCCL_SCOREP_SUMMARY_SECONDS", "0")]);
    job.order("init ab 0 2\n whole ab 5");
    job.next_status();
    let ticket = job.ask(StatusRequest { summary: true, ..StatusRequest::default() });
    let answer = job.answered(&ticket).answer.unwrap();
    let path = answer.summary.unwrap();
    let summary: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!((sum(&summary["operations"], "count"), &summary["complete"]), (5, &Value::Bool(false)));
    assert_eq!(job.end()["complete"], true);
}

#[test]
fn what_cannot_be_done_is_refused_with_the_reason() {
    let refused = |version, settings: &[(&str, &str)], request: StatusRequest, mode: Option<u32>| {
        let mut job = Job::begin(version, settings);
        job.order("init ab 0 2\n whole ab 1");
        job.next_status();
        job.ask(request);
        if let Some(mode) = mode {
            set_mode(&job.status_directory().join(FILE), mode);
        }
        let status = job.await_status(|status| status.answer.as_ref().is_some_and(|answer| answer.refused.is_some()));
        let before = job.order("mask");
        job.order("whole ab 1");
        assert_eq!(job.order("mask"), before);
        (status.answer.unwrap().refused.unwrap(), job.said())
    };
    let full = || preset("full");
    let (reason, said) = refused(7, &[], preset("everything"), None);
    assert!(reason.contains("everything") && said.is_empty(), "{reason} {said}");
    let (reason, _) = refused(3, &[], full(), None);
    assert!(reason.contains("2.27"), "{reason}");
    let (reason, _) = refused(7, &[("NCCL_SCOREP_RECORD", "recordings")], full(), None);
    assert!(reason.contains("NCCL_SCOREP_RECORD"), "{reason}");
    let (reason, _) =
        refused(7, &[("NCCL_SCOREP_SUMMARY", "")], StatusRequest { summary: true, ..StatusRequest::default() }, None);
    assert!(reason.contains("NCCL_SCOREP_SUMMARY"), "{reason}");
    let (reason, said) = refused(7, &[("NCCL_SCOREP_PRESET", "api")], preset("none"), Some(0o664));
    assert!(reason.contains("other users") || reason.contains("no preset"), "{reason} {said}");
}
