//! The thread that writes parts of the recording while the process runs.

use super::Recording;
use super::memory::Grace;
use common::{log, own_thread};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Between two looks at how full the memory is.
const LOOK: Duration = Duration::from_millis(250);
/// Until the first part, at most: many jobs that fail do so at their begin.
const FIRST: Duration = Duration::from_secs(1);
/// Callbacks take microseconds: so often, a millisecond apart, it is looked whether those under way have ended.
const TRIES: u32 = 20;
/// A callback that takes longer is not waited for: what it records is counted as dropped.
const LONGEST: Duration = Duration::from_secs(30);

/// Starts it.
pub(super) fn begin(recording: &'static Recording, interval: Duration) {
    if let Err(error) = own_thread::spawn("scorep-nccl-rec", move || write_every(recording, interval)) {
        log::warn(&format!("no thread to write the recording while the process runs ({error}): it is written at its end"));
    }
}

/// A part that is to be written when the callbacks under way have ended.
struct Wanted {
    callbacks: u64,
    grace: Grace,
    since: Instant,
}

fn write_every(recording: &Recording, interval: Duration) {
    let mut due = Instant::now().checked_add(interval.min(FIRST));
    let mut wanted: Option<Wanted> = None;
    while !recording.ended.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK.min(interval));
        if due.is_some_and(|due| Instant::now() >= due) || recording.memory.is_pressed() {
            wanted.get_or_insert_with(|| {
                let callbacks = recording.callbacks();
                Wanted { callbacks, grace: Grace::new(&recording.memory), since: Instant::now() }
            });
        }
        let Some(part) = &mut wanted else { continue };
        let is_over = (0..TRIES).any(|_| {
            let is_over = part.grace.is_over(&recording.memory);
            if !is_over {
                std::thread::sleep(Duration::from_millis(1));
            }
            is_over
        });
        if is_over || part.since.elapsed() >= LONGEST {
            if !recording.write(part.callbacks, None) {
                return;
            }
            wanted = None;
            due = Instant::now().checked_add(interval);
        }
    }
}
