//! The time that a process's threads spent inside NCCL's API.

use std::error::Error;

use super::json::{Event, Recording, int};

/// State of a group at the call of `ncclGroupEnd`.
const GROUP_END_BEGINS: i64 = 24;

/// Sums up the time inside the API, in nanoseconds: of each call, of each group from the begin of its end, and of each
/// launch after its thread's groups, up to the last stop of its operations.
pub(crate) fn time(recording: &Recording) -> Result<i64, Box<dyn Error>> {
    let events = &recording.events;
    let mut sum = 0;
    for (place, event) in events.iter().enumerate() {
        let begin = match event.kind.as_str() {
            "CollApi" | "P2pApi" => Some(int(&event.start, "t")?),
            "GroupApi" => end_begins(event),
            "KernelLaunch" if is_behind_a_group(events, place)? => Some(int(&event.start, "t")?),
            _ => None,
        };
        let end = if event.kind == "KernelLaunch" { last_stop(events, place) } else { event.stop };
        sum += begin.zip(end).map_or(0, |(begin, end)| end - begin);
    }
    Ok(sum)
}

fn end_begins(group: &Event) -> Option<i64> {
    let state = group.states.iter().find(|state| state["state"].as_i64() == Some(GROUP_END_BEGINS));
    state.and_then(|state| state["t"].as_i64())
}

/// Returns whether the last group on the launch's thread had ended when the launch began.
pub(crate) fn is_behind_a_group(events: &[Event], launch: usize) -> Result<bool, Box<dyn Error>> {
    let begin = int(&events[launch].start, "t")?;
    let on_thread = |event: &&Event| event.kind == "GroupApi" && event.tid == events[launch].tid;
    let latest = events[..launch].iter().rfind(on_thread);
    Ok(latest.is_some_and(|group| group.stop.is_some_and(|stop| stop <= begin)))
}

/// Returns the last stop of the launch's operations, or of the launch itself if it has none. Its operations start on
/// its thread before the thread's next launch or group.
fn last_stop(events: &[Event], launch: usize) -> Option<i64> {
    let on_thread = events[launch + 1..].iter().filter(|event| event.tid == events[launch].tid);
    let next = on_thread.take_while(|event| !["GroupApi", "KernelLaunch"].contains(&event.kind.as_str()));
    let operations = next.filter(|event| ["Coll", "P2p"].contains(&event.kind.as_str()));
    operations.filter_map(|operation| operation.stop).max().or(events[launch].stop)
}
