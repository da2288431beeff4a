//! Arbitrary callbacks (tests/c/nccl/fuzz_host.c) through every version of the interface, from a fixed seed: no crash,
//! no hang, memory within its bounds, and every start callback in a figure or a counter. The same with a stand-in for
//! CUDA's driver that fails at some point. `SCOREP_NCCL_FUZZ_SECONDS` is the total time in seconds (60),
//! `SCOREP_NCCL_FUZZ_SEED` another seed.

use crate::support::tool;

use serde_json::Value;
use std::collections::HashMap;
use std::fs::File;
use std::time::Duration;

const VERSIONS: [u32; 7] = [1, 2, 3, 4, 5, 6, 7];
/// Versions that report launches.
const WITH_EVENTS: [u32; 3] = [5, 6, 7];

/// Settings under which rare events happen often.
#[derive(Clone, Copy)]
struct Setting {
    settings: &'static [(&'static str, &'static str)],
    /// Memory for recording under these settings, MiB.
    megabytes: u64,
    /// Whether the host stops each event and ends each communicator exactly once.
    careful: bool,
    /// Whether the stand-in for CUDA's driver is in the process.
    driver: bool,
}

const fn setting(settings: &'static [(&'static str, &'static str)], megabytes: u64, careful: bool) -> Setting {
    Setting { settings, megabytes, careful, driver: false }
}

const SETTINGS: [Setting; 4] = [
    setting(
        &[
            ("NCCL_SCOREP_WINDOW_EVENTS", "64"),
            ("NCCL_SCOREP_MEMORY_MB", "8"),
            ("NCCL_SCOREP_DEADLINE_SECONDS", "0.05"),
        ],
        8,
        false,
    ),
    setting(
        &[
            ("NCCL_SCOREP_WINDOW_EVENTS", "1000"),
            ("NCCL_SCOREP_MEMORY_MB", "1"),
            ("NCCL_SCOREP_DEADLINE_SECONDS", "0.5"),
        ],
        1,
        false,
    ),
    setting(&[("NCCL_SCOREP_WINDOW_SECONDS", "0.01"), ("NCCL_SCOREP_PRESET", "full")], 32, false),
    // the settling time is long enough that no event is given up
    setting(
        &[("NCCL_SCOREP_MEMORY_MB", "1"), ("NCCL_SCOREP_MIN_BYTES", "16"), ("NCCL_SCOREP_SETTLE_SECONDS", "0.25")],
        1,
        true,
    ),
];

/// Settings with CUDA. The second has events only, and API calls for which NCCL reports no operations.
const SETTINGS_WITH_CUDA: [Setting; 3] = [
    with_cuda(SETTINGS[0]),
    with_cuda(setting(
        &[("NCCL_SCOREP_GPU_TIME", "events"), ("NCCL_ALLGATHERV_ENABLE", "1"), ("NCCL_SCOREP_MEMORY_MB", "8")],
        8,
        false,
    )),
    with_cuda(SETTINGS[3]),
];

const fn with_cuda(setting: Setting) -> Setting {
    Setting { driver: true, ..setting }
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// Longest time that the process may take to end after its playing time.
const PATIENCE: Duration = Duration::from_secs(60);

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

/// Returns the numbers that the host prints, by name.
fn printed(text: &str) -> HashMap<&str, u64> {
    text.lines().filter_map(|line| line.split_once(' ')).map(|(name, value)| (name, value.parse().unwrap())).collect()
}

fn fuzz(version: u32, seed: u64, setting: Setting, time: Duration) {
    let Setting { settings, careful, driver, .. } = setting;
    let what = format!("v{version}, seed {seed}, {settings:?}{}", if driver { ", with CUDA" } else { "" });
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let mut command = tool::host(env!("HOST_FUZZ_HOST"));
    command.arg(tool::library()).args([version.to_string(), seed.to_string(), time.as_millis().to_string()]);
    command.args(careful.then_some("careful")).args(driver.then_some(env!("CUDA_STAND_IN")));
    // warnings would be printed many times; ended communicators are freed soon
    command.env("NCCL_SCOREP_LOG", "off").env("NCCL_SCOREP_SETTLE_SECONDS", "0.01").env("NCCL_ALLGATHERV_ENABLE", "0");
    // one summary, at the end: a summary that is just being written would count as memory in use
    command
        .env("NCCL_SCOREP_SUMMARY", path("summary"))
        .env("NCCL_SCOREP_SUMMARY_SECONDS", "0")
        .envs(settings.iter().copied());
    command.stdout(File::create(path("stdout")).unwrap()).stderr(File::create(path("stderr")).unwrap());
    let status = tool::ends(&mut command, time + PATIENCE, &what);
    let read = |name: &str| std::fs::read_to_string(path(name)).unwrap_or_default();
    assert!(status.success(), "{what}: {status}\n{}", read("stderr"));
    let (text, summary) = (read("stdout"), read("summary"));
    assert!(!summary.is_empty(), "{what}: no summary\n{}", read("stderr"));
    check(&what, &printed(&text), &serde_json::from_str(&summary).unwrap(), setting);
}

fn sum(rows: &Value, field: &str) -> u64 {
    rows.as_array().unwrap().iter().map(|row| row[field].as_u64().unwrap()).sum()
}

fn check(what: &str, made: &HashMap<&str, u64>, summary: &Value, Setting { megabytes, careful, driver, .. }: Setting) {
    let process = &summary["processes"][0];
    let found = |field: &str| process[field].as_u64().unwrap();
    let operations = &summary["operations"];
    let hold = |right: bool, rule: &str| assert!(right, "{what}: {rule}\n{made:?}\n{process:#}");
    let [count, transfers] = [sum(operations, "count"), sum(&summary["transfers"], "transfers")];
    let [gpu, events, proxy, enqueue] =
        ["gpu_timed", "event_timed", "proxy_timed", "enqueue_timed"].map(|field| sum(operations, field));
    let untimed: u64 = process["untimed"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();

    // every operation with a handle is counted once, finished or not, and timed once
    let of_kind = |kind: &str| -> u64 {
        let rows = operations.as_array().unwrap().iter().filter(|row| row["kind"] == kind);
        rows.map(|row| row["count"].as_u64().unwrap()).sum()
    };
    // API calls without reported operations are counted, too, since events may time them
    let silent = of_kind("Coll").saturating_sub(made["colls"]);
    hold(
        [of_kind("Coll") - silent, of_kind("P2p")] == [made["colls"], made["p2ps"]],
        "operations are those that got a handle",
    );
    hold(silent <= if driver { made["calls"] } else { 0 }, "calls are operations where events time them");
    hold(gpu + proxy + enqueue == count && found("unfinished") <= count, "operations are timed once");
    hold(events <= gpu && (driver || events == 0), "events are of the GPU");
    hold(gpu - events + found("out_of_step") <= made["kernels"], "stamps are of operations with kernel channels");
    hold(gpu + untimed <= count, "what the GPU has timed is not untimed");
    hold(transfers <= made["steps"] && transfers == sum(&summary["channels"], "transfers"), "transfers are steps");

    // every start callback is recorded or counted as lost
    hold(found("callbacks") == made["callbacks"] && found("events") == made["events"], "every callback is counted");
    let fields = ["unknown_events", "foreign_proxy_ops"];
    hold(fields.map(found) == [made["unknown"], made["foreign"]], "what no version takes is counted");
    let recorded =
        count - silent + ["calls", "groups", "proxies", "kernels", "steps"].map(|kind| made[kind]).iter().sum::<u64>();
    let not_taken = fields.map(found).iter().sum::<u64>() + made["parentless"] + made["unused"];
    hold(found("events") == recorded + not_taken + made["refused"], "events are recorded or not");
    let lost = found("dropped") + found("skipped");
    // callbacks on handles that are not alive may be ignored; on a slow machine, handles may have ended in between
    let besides = if careful { made["late"] } else { made["attempts"] };
    let (least, most) = (lost + found("ignored_handles"), made["refused"] + besides);
    hold(made["refused"] <= least && least <= most, "what was refused is counted");

    // a child has a parent or is an orphan; a call has operations or is invisible
    let children = ["proxies", "kernels", "steps"].map(|kind| made[kind]).iter().sum::<u64>();
    let orphans = (found("orphans") + found("skipped_children")).checked_sub(made["parentless"]);
    hold(orphans.is_some_and(|orphans| orphans <= children), "orphans are children");
    let followed = made["calls"].checked_sub(found("invisible"));
    hold(followed.is_some_and(|calls| calls <= count + silent + found("skipped")), "calls are followed by operations");
    let enqueued = process["counters"]["nccl_enqueued_ops"].as_u64().unwrap();
    let asked = if made["calls_asked"] > 0 {
        made["calls_asked"]..=made["calls_asked"]
    } else {
        count..=count + made["refused"]
    };
    hold(asked.contains(&enqueued), "calls enqueue operations");

    // sums by row, the sizes of a fit, the points of series; the memory of ended communicators is free
    let rows = |name: &str| summary[name].as_array().unwrap().len() as u64;
    // with CUDA, free records of launches
    let launches = if driver { 2 * MIB } else { 0 };
    // of 255 ranks, the pairs of host time and stamp that place a GPU's clock: of both sides, in room for twice as many
    let pairs = 64 * made["kernels"].min(255 * 1024);
    // a row of the operations has some 200 bytes, and a B-tree's nodes are at least half full
    let kept = launches
        + pairs
        + MIB
        + 2 * 200 * rows("operations")
        + 2 * KIB * rows("transfers")
        + 64 * transfers
        + 128 * found("windows");
    hold(made["heap"] <= kept, &format!("{} KiB are kept for ever, not {}", made["heap"] / KIB, kept / KIB));
    // memory for recording, the collector's data, and the summary's text
    let most = 3 * megabytes * MIB + 64 * MIB + KIB * rows("operations");
    hold(found("peak_memory_bytes") <= most, &format!("the peak is above {} MiB", most / MIB));
}

#[test]
#[ignore = "fuzzing"]
fn arbitrary_callbacks_do_no_harm() {
    let seconds = number("SCOREP_NCCL_FUZZ_SECONDS", 60);
    let seed = number("SCOREP_NCCL_FUZZ_SEED", 20_231);
    let runs = SETTINGS.iter().flat_map(|setting| VERSIONS.map(|version| (version, setting)));
    let with_cuda = SETTINGS_WITH_CUDA.iter().flat_map(|setting| WITH_EVENTS.map(|version| (version, setting)));
    let runs: Vec<_> = runs.chain(with_cuda).collect();
    let time = Duration::from_secs(seconds) / runs.len() as u32;
    for (place, (version, setting)) in (0..).zip(runs) {
        fuzz(version, seed + place, *setting, time);
    }
}
