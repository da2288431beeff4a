//! The thread that writes parts of the recording while the process runs.

use super::Recording;
use super::end::{LAST, RecordingEnd};
use super::grace::TapGrace;
use common::last_work::Promise;
use common::log;
use common::pause::pause;
use std::time::{Duration, Instant};

/// Time between two checks of how full the memory is.
const LOOK: Duration = Duration::from_millis(250);
/// Longest time until the first part: jobs that fail often do so early.
const FIRST: Duration = Duration::from_secs(1);
/// Checks, a millisecond apart, whether the callbacks in progress have ended; a callback takes microseconds.
const TRIES: u32 = 20;
/// Longest wait for a callback in progress. The records of a callback that takes longer count as dropped.
const LONGEST: Duration = Duration::from_secs(30);
/// The same while the memory fills up; full memory would end the recording.
const LONGEST_UNDER_PRESSURE: Duration = Duration::from_secs(1);

/// Time between two looks of a thread that writes the end alone; it is woken for that.
const IDLE: Duration = Duration::from_secs(3600);

/// Starts the thread, which writes parts at intervals if there is an interval, and the end.
pub(super) fn begin(recording: &'static Recording, interval: Option<Duration>) {
    if let Err(error) = LAST.begin_thread("scorep-nccl-rec", move |last| write_every(recording, interval, last)) {
        log::warn(&format!(
            "no thread to write the recording while the process runs ({error}): it is written at its end"
        ));
    }
}

/// A part to be written when the callbacks in progress have ended.
struct WantedPart {
    callbacks: u64,
    since: Instant,
}

fn write_every(recording: &Recording, interval: Option<Duration>, last: &Promise<RecordingEnd>) {
    recording.look_for_place();
    let mut due = interval.and_then(|interval| Instant::now().checked_add(interval.min(FIRST)));
    let mut wanted: Option<WantedPart> = None;
    let mut grace = TapGrace::default();
    while !last.keep_within(interval.map_or(IDLE, |interval| LOOK.min(interval)), |end| recording.write_last(end)) {
        let Some(interval) = interval else { continue };
        if due.is_some_and(|due| Instant::now() >= due) || recording.memory.is_pressed() {
            wanted.get_or_insert_with(|| {
                let callbacks = recording.callbacks();
                grace.begin(&recording.memory);
                WantedPart { callbacks, since: Instant::now() }
            });
        }
        let Some(part) = &wanted else { continue };
        let is_over = (0..TRIES).any(|_| {
            let is_over = grace.is_over(&recording.memory);
            if !is_over {
                pause(Duration::from_millis(1));
            }
            is_over
        });
        let longest = if recording.memory.is_pressed() { LONGEST_UNDER_PRESSURE } else { LONGEST };
        if is_over || part.since.elapsed() >= longest {
            if !recording.write(part.callbacks, None) {
                return;
            }
            wanted = None;
            due = Instant::now().checked_add(interval);
        }
    }
}
