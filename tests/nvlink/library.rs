//! The shipped library's figures in the summary.

use crate::nvlink::machine::{Machine, OWN, await_nvlink, await_process, await_zero};
use serde_json::{Value, json};

fn nvlink(summary: &Value) -> &Value {
    &summary["processes"][0]["nvlink"]
}

/// An all-gather of 1 MiB a rank, in a communicator of four ranks on one node.
const ALL_GATHER: &str = "algorithm RING SIMPLE
    call c0 ab AllGather 1048576 ncclInt8
    return c0
    start o0 ab AllGather 1048576 ncclInt8 c0";

#[test]
fn bytes_stand_beside_those_of_nccls_operations() {
    let machine = Machine::with("data 100 200\nraw 110 220\npcie 3000 5000");
    let mut job = machine.job(&[]);
    job.order("init ab 1 4 1");
    await_zero(&mut job);
    job.order(ALL_GATHER);
    await_nvlink(&mut job, |found| found["gpus"][0]["pcie"]["samples"].as_u64() >= Some(1));
    // a ring sends 3 MiB, and 30 KiB are of somebody else
    machine.set_own("data 3202 3272\nraw 3600 3700\npcie 3000 5000");
    let summary = job.end();
    let found = nvlink(&summary);
    let gpu = &found["gpus"][0];
    assert_eq!((gpu["gpu"].as_str(), gpu["uuid"].as_str()), (Some(OWN), Some("GPU-own")), "{found:#}");
    let bytes = ["sent_bytes", "received_bytes", "raw_sent_bytes", "raw_received_bytes"].map(|name| gpu[name].as_u64());
    assert_eq!(bytes, [3102, 3072, 3490, 3480].map(|kib| Some(kib << 10)), "{found:#}");
    assert_eq!([&gpu["nccl_sent_bytes"], &gpu["nccl_received_bytes"]], [&json!(3 << 20); 2]);
    assert_eq!((&gpu["nccl_known"], &gpu["nccl_unknown"]), (&json!(1), &json!({})));
    assert_eq!((gpu["sent_ratio"].as_f64(), gpu["received_ratio"].as_f64()), (Some(3102.0 / 3072.0), Some(1.0)));
    assert_eq!(found["gpus"].as_array().unwrap().len(), 1, "the other GPU is not the process'");
    assert_eq!((&found["old"], found.get("absent")), (&json!(false), None));
    let counters = &summary["processes"][0]["counters"];
    let counters = ["nccl_nvlink_sent_bytes", "nccl_nvlink_received_bytes"].map(|name| &counters[name]);
    assert_eq!(counters, [&gpu["sent_bytes"], &gpu["received_bytes"]]);
    let pcie = &gpu["pcie"];
    assert!(pcie["samples"].as_u64() >= Some(1), "{found:#}");
    assert_eq!(
        (&pcie["mean_mb_s"], &pcie["max_mb_s"]["received"]),
        (&json!({"sent": 3.0, "received": 5.0}), &json!(5.0))
    );
    assert_eq!(job.said(), "");
}

/// A ratio would compare all traffic with a part of the operations.
#[test]
fn where_bytes_of_operations_are_not_known_the_reason_is_said() {
    let machine = Machine::with("data 0 0");
    let mut job = machine.job(&[]);
    job.order("init ab 0 4 1\ninit cd 0 16 2");
    await_zero(&mut job);
    job.order(ALL_GATHER);
    job.order("algorithm NVLS SIMPLE\nstart o1 ab AllReduce 64 ncclInt8\nstart o2 ab AllReduce 64 ncclInt8");
    job.order("algorithm RING SIMPLE\nstart o3 ab Broadcast 64 ncclInt8\nstart o4 cd AllReduce 64 ncclInt8");
    job.order("start o5 ab Send 4096 ncclInt8\nstart o6 ab Recv 1024 ncclInt8");
    machine.set_own("data 4000 4000");
    let summary = job.end();
    let gpu = &nvlink(&summary)["gpus"][0];
    let unknown = json!({"algorithm NVLS": 2, "Broadcast": 1, "several nodes": 1});
    assert_eq!((&gpu["nccl_unknown"], &gpu["nccl_known"]), (&unknown, &json!(3)), "{gpu:#}");
    let bytes = [&gpu["nccl_sent_bytes"], &gpu["nccl_received_bytes"]];
    assert_eq!(bytes, [&json!((3 << 20) + 4096), &json!((3 << 20) + 1024)]);
    assert_eq!((&gpu["sent_bytes"], &gpu["sent_ratio"]), (&json!(4000 << 10), &Value::Null));
}

#[test]
fn a_counter_that_goes_back_counts_from_there() {
    let machine = Machine::with("data 1000000 5");
    let mut job = machine.job(&[]);
    job.order("init ab 0 4 1");
    await_zero(&mut job);
    job.order(ALL_GATHER);
    machine.set_own("data 10 7");
    let found = await_nvlink(&mut job, |found| found["gpus"][0]["set_back"] == 1);
    assert_eq!(found["gpus"][0]["received_bytes"], json!(2 << 10), "{found:#}");
    machine.set_own("data 13 7");
    let summary = job.end();
    let gpu = &nvlink(&summary)["gpus"][0];
    assert_eq!((&gpu["sent_bytes"], &gpu["set_back"], &gpu["sent_ratio"]), (&json!(3 << 10), &json!(1), &Value::Null));
}

#[test]
fn what_nvml_refuses_is_absent_with_its_reason() {
    let machine = Machine::with("data 1 1\nrefuse");
    let mut job = machine.job(&[]);
    job.order("init ab 0 4 1");
    await_zero(&mut job);
    job.order(ALL_GATHER);
    let summary = job.end();
    let gpu = &nvlink(&summary)["gpus"][0];
    assert_eq!(gpu["absent"], "NVML's field 138 answered Not Supported (3)", "{gpu:#}");
    assert_eq!((&gpu["sent_bytes"], &gpu["nccl_sent_bytes"]), (&Value::Null, &json!(3 << 20)));
    assert_eq!((&gpu["sent_ratio"], gpu.get("pcie")), (&Value::Null, None));
}

/// Without a loaded CUDA, without a current GPU, with a GPU that NVML does not know, and without NVML.
#[test]
fn without_a_gpu_or_without_nvml_the_reason_is_said() {
    let machine = Machine::with("data 1 1");
    let end = |settings: &[(&str, &str)]| {
        let mut job = machine.job(settings);
        job.order("init ab 0 4 1");
        await_nvlink(&mut job, |found| found["absent"] != "NVML has not answered yet" && found["seconds"].is_number());
        nvlink(&job.end()).clone()
    };
    let none = "CUDA has not named a GPU of the process' communicators";
    assert_eq!(end(&[("LD_PRELOAD", "")])["absent"], none);
    let unknown = end(&[("CUDA_STAND_IN_GPU", "0000:0C:00.0")]);
    assert_eq!(unknown["gpus"][0]["absent"], "nvmlDeviceGetHandleByPciBusId answered Not Found (6)", "{unknown:#}");
    // a file of that name that is no library ends the search
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("libnvidia-ml.so.1"), "").unwrap();
    let without = end(&[("LD_LIBRARY_PATH", folder.path().to_str().unwrap())]);
    assert_eq!(without["absent"], "NVML (libnvidia-ml.so.1, of NVIDIA's driver) is not there");
    assert_eq!(without["gpus"], json!([]));
}

/// Neither the collector nor the end of the process waits for NVML.
#[test]
fn an_nvml_that_hangs_holds_nobody_up() {
    let machine = Machine::with("data 5 5");
    let mut job = machine.job(&[]);
    job.order("init ab 0 4 1");
    await_zero(&mut job);
    machine.set_own("data 9 9");
    await_nvlink(&mut job, |found| found["gpus"][0]["sent_bytes"] == 4 << 10);
    machine.set_own("data 20 20\nhang");
    job.order(ALL_GATHER);
    let summary = job.end();
    let found = nvlink(&summary);
    assert_eq!((&found["old"], &found["gpus"][0]["sent_bytes"]), (&json!(true), &json!(4 << 10)), "{found:#}");
    assert_eq!(found["gpus"][0]["sent_ratio"], Value::Null);
    assert_eq!(summary["operations"][0]["count"], 1);
}

#[test]
fn an_nvml_that_never_begins_holds_nobody_up() {
    let machine = Machine::new("hang_in_init");
    let mut job = machine.job(&[]);
    job.order("init ab 0 4 1");
    job.order(ALL_GATHER);
    let summary = job.end();
    assert_eq!(nvlink(&summary)["absent"], "NVML has not answered yet", "{summary:#}");
    assert_eq!((&nvlink(&summary)["old"], &summary["operations"][0]["count"]), (&json!(true), &json!(1)));
}

#[test]
fn by_default_nobody_asks_nvml() {
    let machine = Machine::new("hang_in_init");
    let mut job = machine.job(&[("NCCL_SCOREP_NVLINK", "")]);
    job.order("init ab 0 4 1");
    job.order(ALL_GATHER);
    // a thread names itself when it begins to run
    await_nvlink(&mut job, Value::is_null);
    let threads = std::fs::read_dir(format!("/proc/{}/task", job.pid())).unwrap();
    let names = threads.filter_map(|entry| std::fs::read_to_string(entry.unwrap().path().join("comm")).ok());
    let names: Vec<String> = names.collect();
    assert!(names.iter().any(|name| name.starts_with("scorep-nccl")), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("scorep-nccl-nvl")), "{names:?}");
    assert_eq!(job.end()["processes"][0].get("nvlink"), None);
}

/// On the own GPU 18 NVLinks of 26,562 MB/s are up.
#[test]
fn the_rates_of_links_are_in_the_summary_unless_they_are_not_wanted() {
    let machine = Machine::with("data 0 0\nnvlinks 18 26562");
    for (value, expected) in [("", json!(18 * 26_562 * 8)), ("off", Value::Null)] {
        let mut job = machine.job(&[("NCCL_SCOREP_LINKS", value)]);
        job.order("init ab 0 4 1");
        await_zero(&mut job);
        job.order(ALL_GATHER);
        let summary = job.end();
        let links = &summary["processes"][0]["links"];
        assert_eq!(links["gpus"][0]["nvlink_mbit_s"], expected, "{links:#}");
        assert_eq!(links.is_null(), value == "off", "{links:#}");
        if value.is_empty() {
            assert_eq!(
                (&links["gpus"][0]["gpu"], &links["gpus"][0]["nvlinks"]),
                (&json!(OWN), &json!(18)),
                "{links:#}"
            );
        }
    }
}

/// With its conditions, a job has the clocks of its own GPU, and no bytes.
#[test]
fn conditions_have_the_clock_of_the_own_gpu_if_they_are_wanted() {
    let machine = Machine::with("clocks 1200 1980 2619");
    for (wanted, clock) in [("all", json!(1200.0)), ("host", Value::Null)] {
        let mut job = machine.job(&[("NCCL_SCOREP_NVLINK", ""), ("NCCL_SCOREP_CONDITIONS", wanted)]);
        job.order("init ab 0 4 1");
        job.order(ALL_GATHER);
        let rows =
            await_process(&mut job, |process| process["conditions"].as_array().is_some_and(|rows| rows.len() > 2));
        let row = rows["conditions"].as_array().unwrap().iter().find(|row| !row["gpus"].is_null());
        assert_eq!(row.map_or(Value::Null, |row| row["gpus"][0]["sm_mhz"].clone()), clock, "{rows:#}");
        assert_eq!((rows.get("nvlink"), job.end()["operations"][0]["count"].clone()), (None, json!(1)));
    }
}
