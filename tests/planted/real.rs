//! Jobs of PyTorch on a GPU with a slow rank (`tests/gpu/gains.sh`): does the report predict the step of the same job
//! without it?
//!
//! In most of them, four ranks shared an H100 by CUDA's Multi-Process Service, as pretended nodes with sockets over
//! loopback: PyTorch 2.11, NCCL 2.28.9, preset `light`. Rank 2 took 1.5 times as long. Those of PyTorch's own wrappers
//! (`tests/gpu/wrapped.py`) are two ranks that shared an H200 so, with the fault in a third of the steps: the
//! recordings are cut to that third, or to one without it, and have no events of proxies. Others are two ranks on two
//! H200s over NVLink, of whose 24 channels the recordings have two. The times are those of the program's own clock.

use crate::support::tool;
use serde_json::Value;
use std::path::Path;

/// Share of a step by which the prediction may be off.
const NEAR: f64 = 0.05;

/// Returns the report of a job's recordings, one for each of its ranks.
fn report(job: &str, ranks: usize) -> Value {
    let recordings = tool::captures(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/planted/real").join(job));
    assert_eq!(recordings.len(), ranks);
    let report = tool::succeed(tool::tool().arg("report").args(&recordings).args(["--json", "-"]));
    serde_json::from_str(&report).unwrap()
}

/// Holds the report of a job of four ranks, of which rank 2 is slow, against its mean step, and that of the run without
/// the fault, microseconds.
fn predicts(job: &str, steps: [f64; 2], group: &str, why: Option<&str>) {
    predicts_of(job, [4, 2], steps, group, why);
}

/// The same of so many ranks and that slow one.
fn predicts_of(job: &str, [ranks, slow]: [usize; 2], [step, without]: [f64; 2], group: &str, why: Option<&str>) {
    let report = report(job, ranks);
    let known = &report["stragglers"]["known"];
    let found = known["found"].as_array().unwrap();
    assert_eq!(found.len(), 1, "{job}: {found:?}");
    assert_eq!(
        (&found[0]["gpus"], &found[0]["group"], &found[0]["why"]),
        (&serde_json::json!([slow]), &group.into(), &why.into())
    );
    assert_eq!(found[0]["when"], "always", "{job}");
    let predicted = step - found[0]["gain_us"].as_f64().unwrap();
    assert!((predicted / without - 1.0).abs() < NEAR, "{job}: {predicted:.0} us, measured {without:.0}");
}

/// All-reduces beside the computation; before each step the rank's host sleeps. The demo has these recordings, too, and
/// prints the step without the sleep.
#[test]
fn a_late_host_costs_what_the_job_takes_less_without_it() {
    predicts("late_rank", [11_074.8, 9_187.4], "rank", Some("host"));
}

/// The host runs ahead of the GPU; no call is awaited by it.
#[test]
fn a_slow_rank_beside_which_all_others_are_ready_costs_what_the_job_takes_less_without_it() {
    predicts("ddp", [17_654.9, 12_083.1], "rank", Some("gpu"));
}

/// Two H100s over NVLink: all-reduces take 5 us, and the fast rank computes beside its waits.
#[test]
fn a_slow_rank_of_two_beside_which_the_other_is_ready_costs_what_the_job_takes_less_without_it() {
    predicts_of("ddp_two", [2, 1], [16_519.2, 11_020.0], "rank", Some("gpu"));
}

/// DDP whose host runs ahead, and reads the loss once a step.
#[test]
fn a_slow_gpu_of_ddp_costs_what_the_job_takes_less_without_it() {
    predicts_of("ddp_slow_gpu", [2, 1], [22_942.4, 19_716.8], "rank", Some("gpu"));
}

/// The same with a host that sleeps before each step.
#[test]
fn a_late_host_of_ddp_costs_what_the_job_takes_less_without_it() {
    predicts_of("ddp_late_host", [2, 1], [37_206.9, 19_699.4], "rank", Some("host"));
}

/// Here the host limits the steps, also without the sleep. Its speed differs: without it, steps took 8.58 and 9.49 ms.
#[test]
fn a_late_host_of_small_kernels_costs_what_the_job_takes_less_without_it() {
    predicts_of("ddp_late_host_bound", [2, 1], [10_922.2, 8_580.3], "rank", Some("host"));
}

/// The GPU of one of two computes longer before each step.
#[test]
fn a_slow_gpu_over_nvlink_costs_what_the_job_takes_less_without_it() {
    predicts_of("ddp_nvlink", [2, 1], [19_961.2, 16_769.1], "rank", Some("gpu"));
}

/// Holds the range of rank 1 of two, which is late, against what a step takes less without the fault, microseconds.
fn range_holds(job: &str, [step, without]: [f64; 2]) {
    let found = &report(job, 2)["stragglers"]["known"]["found"];
    assert_eq!((found.as_array().unwrap().len(), &found[0]["gpus"]), (1, &serde_json::json!([1])), "{job}");
    let [least, most] = ["gain_least_us", "gain_most_us"].map(|bound| found[0][bound].as_f64().unwrap());
    let gain = step - without;
    assert!((least..most).contains(&gain) && most - least < 2.0 * gain, "{job}: {least}..{most}, {gain}");
}

/// FSDP, whose computations hide in the waits for the late host.
#[test]
fn the_range_of_a_late_host_of_fsdp_holds_what_the_job_takes_less_without_it() {
    range_holds("fsdp_late_host", [49_132.7, 26_412.0]);
}

/// DDP that never waits for its GPU: the host of the other rank fills the queue of launches, and is as slow as its GPU.
#[test]
fn the_range_of_a_late_host_beside_a_full_queue_holds_what_the_job_takes_less_without_it() {
    range_holds("ddp_full_queue", [57_635.8, 38_030.1]);
}

/// HSDP of two ranks reduces six equal layers: one call again and again, and a pause behind the sixth.
#[test]
fn equal_calls_are_steps_by_their_pauses() {
    range_holds("hsdp_late_host", [33_756.7, 17_719.3]);
    assert_eq!(report("hsdp_none", 2)["steps"]["known"]["period"], 6);
}

#[test]
fn nobody_is_named_in_jobs_of_wrappers_without_a_fault() {
    for job in ["ddp_none", "fsdp_none", "hsdp_none"] {
        assert_eq!(report(job, 2)["stragglers"]["known"]["found"], serde_json::json!([]), "{job}");
    }
}

#[test]
fn a_slow_rank_of_a_sharded_job_costs_what_the_job_takes_less_without_it() {
    predicts("fsdp", [38_037.8, 26_798.1], "rank", Some("gpu"));
}

/// Each two neighbours have a communicator of their own.
#[test]
fn a_slow_stage_costs_what_the_job_takes_less_without_it() {
    predicts("pipeline", [57_892.3, 46_092.7], "stage", None);
}

/// `examples/pipeline` by 1F1B with two stages on two H200s over NVLink. Its host runs ahead of its GPUs, so events of
/// launches that wait place most kernels. The program's own bubble, behind two steps of warm-up, was 11.4 %.
#[test]
fn a_pipeline_waits_as_long_as_its_bubble() {
    let report = report("pipeline_1f1b", 2);
    let whole = &report["budget"]["known"]["whole"];
    let [waiting, total] = ["waiting_ns", "total_ns"].map(|field| whole[field].as_f64().unwrap());
    let share = waiting / total;
    assert!((share / 0.114 - 1.0).abs() < 0.05, "{share}");
}
