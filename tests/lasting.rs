//! A job that lasts a day, in time that its host makes (tests/c/nccl/lasting_host.c): what the library takes stays as
//! it is, and every event and time is counted. docs/overhead.md has longer runs of the same host.

use crate::support::tool;

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::time::Duration;

/// A day, and the events of each of its seconds: 2 operations.
const SECONDS: u64 = 24 * 3600;
const EVENTS: &str = "24";
/// How long the day may take.
const PATIENCE: Duration = Duration::from_secs(600);
/// Most growth of memory in the second half of the day, KiB. The 12 short communicators in it have rows in the summary.
/// Beside other work it once grew by 600 at one time, and then no more; its cause is not known. A byte for each event
/// would give 1,000.
const SLACK: u64 = 768;
/// Nanoseconds of an all-reduce on the GPU, and of one of its two transfers on the network.
const ON_GPU: u64 = 20_000;
const ON_NETWORK: u64 = 2_000;

/// What the process takes at a moment of the day.
#[derive(Debug, Clone, Copy)]
struct Moment {
    seconds: u64,
    events: u64,
    kib: u64,
    threads: u64,
    descriptors: u64,
}

fn moment(line: &str) -> Option<Moment> {
    let numbers: Vec<u64> = line.strip_prefix("at ")?.split(' ').map(|number| number.parse().unwrap()).collect();
    let [seconds, events, kib, threads, descriptors] = numbers.try_into().unwrap();
    Some(Moment { seconds, events, kib, threads, descriptors })
}

#[test]
fn a_day_takes_no_more_at_its_end_than_at_noon_and_counts_everything() {
    let directory = tempfile::tempdir().unwrap();
    let [printed, said, summary] = ["printed", "said", "summary.json"].map(|name| directory.path().join(name));
    let mut command = tool::host(env!("HOST_LASTING_HOST"));
    command.arg(tool::library()).args(["6", &SECONDS.to_string(), EVENTS, "made"]);
    // little memory is used again often; kernel events are asked for in every version
    command.env("NCCL_SCOREP_MEMORY_MB", "1").env("NCCL_SCOREP_SUMMARY", &summary).env("NCCL_ALLGATHERV_ENABLE", "0");
    command.stdout(File::create(&printed).unwrap()).stderr(File::create(&said).unwrap());
    let status = tool::ends(&mut command, PATIENCE, "the day");
    let [printed, said] = [printed, said].map(|path| std::fs::read_to_string(path).unwrap());
    assert!(status.success(), "{status}\n{said}");
    assert!(said.lines().all(|line| line.contains("/dev/shm")), "{said}");

    let moments: Vec<Moment> = printed.lines().filter_map(moment).collect();
    let (noon, end) = (moments[11], moments[23]);
    assert_eq!((moments.len(), noon.seconds, end.seconds), (24, SECONDS / 2, SECONDS));
    assert!(end.events > 2_000_000 && end.kib.saturating_sub(noon.kib) <= SLACK, "{moments:?}");
    // at a moment a thread of the library's may have a file open, or end: what stays is there at every moment
    let least = |moments: &[Moment], of: fn(&Moment) -> u64| moments.iter().map(of).min();
    let stays = |of| least(&moments[1..7], of) == least(&moments[18..], of);
    assert!(stays(|moment| moment.threads) && stays(|moment| moment.descriptors), "{moments:?}");

    let wanted = |line: &str| {
        let (name, number) = line.strip_prefix("expect ")?.split_once(' ')?;
        Some((name.to_owned(), number.parse::<u64>().unwrap()))
    };
    let wanted: BTreeMap<String, u64> = printed.lines().filter_map(wanted).collect();
    let size = std::fs::metadata(&summary).unwrap().len();
    assert!(size < 200_000, "a summary of {size} bytes");
    let summary: Value = serde_json::from_slice(&std::fs::read(summary).unwrap()).unwrap();
    let counters = &summary["processes"][0]["counters"];
    let (operations, transfers) = (wanted["operations"], wanted["transfers"]);
    assert_eq!((wanted["events"], operations), (12 * operations, 2 * SECONDS + 24 * 10));
    for (counter, number) in [
        ("nccl_dropped", 0),
        ("nccl_incomplete", 0),
        ("nccl_unfinished_ops", 0),
        ("nccl_ops", operations),
        ("nccl_bytes", wanted["bytes"]),
        ("nccl_gpu_timed_ops", operations),
        ("nccl_allreduce_time", operations * ON_GPU),
        ("nccl_busy_time", operations * ON_GPU),
        ("nccl_net_bytes", wanted["transfer_bytes"]),
        ("nccl_net_time", transfers * ON_NETWORK),
    ] {
        assert_eq!(counters[counter], number, "{counter}");
    }
}
