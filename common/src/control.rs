//! What Score-P, a host or the end of the process asks of the collector. Every question has a deadline.

use crate::answer::{self, Answer, Missing, Reply};
use crate::guard::contain;
use crate::message::Message;
use crate::series::{Point, Token};
use crate::summary::Summary;
use crate::thread::ThreadCell;
use crate::timeline::Timeline;
use crate::{export, files, log, notes, recorder, summary_file, switch};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

/// How long a question waits for a collector that does nothing, and all questions together for one that is at work on what was recorded: on
/// a crowded machine that may take a while, and what it works on is the job's figures.
const STANDSTILL: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(30);
/// Questions that follow one another within that time share LONGEST.
const APART: Duration = Duration::from_secs(60);
/// Until when they may wait, and when the last of them was answered.
static WAITS: Mutex<Option<(Instant, Instant)>> = Mutex::new(None);

/// Between two looks at whether it is at work.
const LOOK: Duration = Duration::from_millis(100);

/// How long the end of the process waits for the last look at CUDA's events, which waits for none of them.
const LAST_LOOK: Duration = Duration::from_millis(200);

static OWNER: AtomicU32 = AtomicU32::new(0);
/// Set once the collector has let a question wait: nobody waits for it again.
static DEAF: AtomicBool = AtomicBool::new(false);
/// Goes on while the collector works.
static PULSE: AtomicU64 = AtomicU64::new(0);

/// The collector is at work. Only its thread calls this, for every event and operation.
#[inline]
pub(crate) fn beat() {
    PULSE.store(PULSE.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

/// Takes in all that was recorded before this call, so that the counters show it. False when the collector did not answer in
/// time, or there is none.
pub fn flush(patience: Duration) -> bool {
    ask(|done| Message::Flush { last: false, done }, |answer| answer.wait(patience).ok()).is_some()
}

/// Ends the measurement: takes everything in, settles what is in progress, and writes the summary if a file is set.
pub fn finish() {
    // what there is nobody can finish
    if switch::is_out_of_memory() {
        if is_own_process() {
            files::remove_all();
        }
        return;
    }
    let _ = ask(|done| Message::Flush { last: true, done }, patiently);
    tell_dropped();
    tell_doubt();
    write_summary();
    // last, since it may take long
    if is_own_process() {
        export::last();
    }
}

/// To the file that is set, if one is.
fn write_summary() {
    if recorder::begun().is_some_and(|recorder| recorder.settings.summary.is_some())
        && let Some(summary) = summary()
    {
        summary_file::write_last(&summary);
    }
}

/// Says once that events found no room.
fn tell_dropped() {
    static TOLD: Once = Once::new();
    let dropped = ThreadCell::all_dropped();
    if dropped > 0 && is_own_process() {
        TOLD.call_once(|| {
            log::warn(&format!(
                "{dropped} events were dropped for want of room: figures are too small. NCCL_SCOREP_MEMORY_MB makes the recording \
                 memory larger; of communicators, 4096 are recorded at a time"
            ));
        });
    }
}

/// Says once that times may be wrong.
fn tell_doubt() {
    static TOLD: Once = Once::new();
    if recorder::begun().is_some() && recorder::CLOCK.is_in_doubt() {
        TOLD.call_once(|| {
            let line = "the system has stopped trusting the processor's time stamp counter, which events were stamped with: times may be wrong";
            log::warn(line);
            notes::add(line.into());
        });
    }
}

/// The summary of this process as it stands; `None` when NCCL was not used, or the collector does not answer.
pub fn summary() -> Option<Summary> {
    ask(|answer| Message::Summary { answer }, patiently)
}

/// The same for a thread that has time; `None` also when the collector is busy for so long, which nobody else is told of.
pub(crate) fn summary_within(patience: Duration) -> Option<Summary> {
    ask(|answer| Message::Summary { answer }, |answer| answer.wait(patience).ok())
}

/// What an exporter is given; `None` when the collector does not answer in time, which nobody else is told of.
#[cfg(feature = "otel")]
pub(crate) fn sums(patience: Duration) -> Option<export::Sums> {
    ask(|answer| Message::Sums { answer }, |answer| answer.wait(patience).ok())
}

/// The timeline, once; to be asked for after [`finish`].
pub fn timeline() -> Option<Timeline> {
    ask(|answer| Message::Timeline { answer }, patiently).flatten()
}

/// The points of a series.
pub fn series(series: Token) -> Vec<Point> {
    ask(|answer| Message::Series { series, answer }, patiently).unwrap_or_default()
}

/// Has [`finish`] called when the process exits. Called once, by the recorder.
///
/// # Errors
/// When the C library has no memory for that.
pub(crate) fn finish_at_exit() -> io::Result<()> {
    extern "C" fn at_exit() {
        contain("exit", (), finish);
    }
    OWNER.store(std::process::id(), Ordering::Relaxed);
    // SAFETY: `at_exit` is a function of this library, which is never unloaded (linked with -z nodelete).
    if unsafe { libc::atexit(at_exit) } == 0 { Ok(()) } else { Err(io::ErrorKind::OutOfMemory.into()) }
}

/// A context's last communicator has ended: when this returns, no call of CUDA's will be made about its events. NCCL's destroying of a communicator
/// waits for that, as long as the collector takes for one look.
pub(crate) fn close_launches(pool: u32) {
    let closed = ask(|done| Message::Close { pool, done }, |answer| answer.wait(LAST_LOOK).ok());
    if let (None, Some(recorder)) = (closed, recorder::begun()) {
        if is_own_process() && recorder.launches.driver().is_some_and(|driver| !driver.is_over()) {
            log::warn(
                "the collector did not answer in 200 ms when a GPU's last communicator ended: CUDA events time nothing from here on; \
                 NCCL_SCOREP_GPU_TIME=stamps does without them",
            );
        }
        recorder.launches.end();
    }
}

/// Has CUDA's events asked for a last time, and never again, when the process exits: before CUDA itself is taken down, whose handlers were
/// registered earlier. Called once, where the driver is known to be there.
pub(crate) fn end_launches_at_exit() {
    extern "C" fn at_exit() {
        let end = || {
            if is_own_process() {
                flush(LAST_LOOK);
            }
            if let Some(recorder) = recorder::begun() {
                recorder.launches.end();
            }
        };
        contain("exit", (), end);
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: `at_exit` is a function of this library, which is never unloaded (linked with -z nodelete).
        unsafe { libc::atexit(at_exit) };
    });
}

/// Whether this is the process that began to record: a forked child has no collector.
fn is_own_process() -> bool {
    OWNER.load(Ordering::Relaxed) == std::process::id()
}

/// Asks the collector, also when the plugin is off after a fault: what was recorded before counts.
fn ask<T>(message: impl FnOnce(Reply<T>) -> Message, wait: impl FnOnce(&Answer<T>) -> Option<T>) -> Option<T> {
    // a forked child has no collector to ask
    if !is_own_process() || DEAF.load(Ordering::Relaxed) || switch::is_out_of_memory() {
        return None;
    }
    let (reply, answer) = answer::pair();
    recorder::begun()?.send(message(reply));
    wait(&answer)
}

/// Waits for as long as the collector is at work, and until the deadline that all questions of the end share; at least for one look.
fn patiently<T>(answer: &Answer<T>) -> Option<T> {
    let begun = Instant::now();
    let deadline = {
        let waits = WAITS.lock().unwrap_or_else(PoisonError::into_inner);
        waits.filter(|(_, last)| begun.duration_since(*last) < APART).map_or(begun + LONGEST, |(deadline, _)| deadline)
    };
    let (mut pulse, mut last) = (PULSE.load(Ordering::Relaxed), begun);
    let answered = loop {
        match answer.wait(LOOK) {
            Ok(answer) => break Some(answer),
            Err(Missing::Never) => break None,
            Err(Missing::TooLate) => {}
        }
        let now = PULSE.load(Ordering::Relaxed);
        if now != pulse {
            (pulse, last) = (now, Instant::now());
        }
        let stands_still = last.elapsed() >= STANDSTILL;
        if stands_still || Instant::now() >= deadline {
            if stands_still && !DEAF.swap(true, Ordering::Relaxed) {
                log::warn("the collector thread does not answer: figures are incomplete, and there is no summary");
            } else if !stands_still {
                static SAID: Once = Once::new();
                SAID.call_once(|| log::warn("the collector thread is at work for too long: figures are incomplete"));
            }
            break None;
        }
    };
    *WAITS.lock().unwrap_or_else(PoisonError::into_inner) = Some((deadline, Instant::now()));
    answered
}
