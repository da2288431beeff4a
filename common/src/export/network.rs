//! The families of the threads that progress proxy operations, and of the events of network plugins.

use super::family::{Family, LabelledPoint, Labels, Value};
use crate::event::progress::ProgressState;
use crate::figures::progress_sums::ProgressSums;
use crate::record::network_events::NetworkCount;
use crate::summary::NetworkEvents;

/// Makes the families of the progress threads. `of_process` are the labels that every point has.
pub(super) fn progress(sums: &ProgressSums, of_process: &Labels) -> [Family; 3] {
    let by_state = |values: [u64; ProgressState::ALL.len()]| {
        let point = |(state, value): (ProgressState, u64)| LabelledPoint {
            labels: of_process.iter().cloned().chain([("state", state.name().to_owned())]).collect(),
            value: Value::Sum(value),
        };
        ProgressState::ALL.into_iter().zip(values).map(point).collect()
    };
    let appended = LabelledPoint { labels: of_process.clone(), value: Value::Sum(sums.counts.appended) };
    [
        Family::new(
            "nccl_progress_time",
            "us",
            "Times of the threads that progress proxy operations, by state",
            by_state(sums.nanoseconds.map(|time| time / 1000)),
        ),
        Family::new(
            "nccl_progress_entries",
            "count",
            "How often each state of these threads began",
            by_state(sums.counts.entered),
        ),
        Family::new(
            "nccl_progress_appended_ops",
            "count",
            "Proxy operations that these threads took over",
            vec![appended],
        ),
    ]
}

/// Makes the families of the events of network plugins.
pub(super) fn events(counts: &[NetworkCount], of_process: &Labels) -> [Family; 2] {
    let rows: Vec<NetworkEvents> = counts.iter().copied().map(NetworkEvents::of).collect();
    let family = |name, unit, meaning: &str, value: fn(&NetworkEvents) -> u64| {
        let point = |row: &NetworkEvents| {
            let mut labels = of_process.clone();
            labels.push(("kind", row.kind.clone()));
            labels.extend(row.merged_device.map(|device| ("merged_device", device.to_string())));
            labels.extend(row.direction.clone().map(|direction| ("direction", direction)));
            LabelledPoint { labels, value: Value::Sum(value(row)) }
        };
        Family::new(name, unit, meaning, rows.iter().map(point).collect())
    };
    [
        family(
            "nccl_network_events",
            "count",
            "Requests by queue pair, transfers over sockets, and events of other network plugins",
            |row| row.events,
        ),
        family("nccl_network_event_bytes", "bytes", "Bytes of these events", |row| row.bytes),
    ]
}
