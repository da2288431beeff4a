//! The questions that Score-P, a host or the end of the process asks the collector. Every question has a deadline.

use crate::base::answer::{self, AnswerFailure, AnswerWait, Reply};
use crate::base::{log, moments, shortage};
use crate::collect::question::{self, Question};
use crate::collect::standstill::Standstill;
use crate::figures::series::{Point, SeriesName};
#[cfg(feature = "otel")]
use crate::figures::snapshot::ProcessSums;
use crate::figures::timeline::Timeline;
use crate::record::recorder;
use crate::status::Status;
use crate::summary::Summary;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

/// Time for which a question waits for a collector that does nothing although it has a processor.
const STANDSTILL: Duration = Duration::from_secs(2);
/// Time for which all questions together wait for a collector that is at work. On a crowded machine, its work may take
/// a while, and its result is the job's figures.
const LONGEST: Duration = Duration::from_secs(30);
/// Questions less than this time apart share [`LONGEST`].
const APART: Duration = Duration::from_secs(60);
/// The common deadline of questions, and the time at which the last question was answered.
static WAITS: Mutex<Option<(Instant, Instant)>> = Mutex::new(None);

/// Time between two looks at whether the collector is at work, and whether it is within CUDA.
const LOOK: Duration = Duration::from_millis(100);

/// Time for which the end of a communicator waits for the last look at its CUDA events, and the end of the process for a
/// call of CUDA's. The look itself waits for no event.
const LAST_LOOK: Duration = Duration::from_millis(200);

/// Set once the collector has left a question unanswered. From then on, no question is asked.
static DEAF: AtomicBool = AtomicBool::new(false);
/// Takes in all that was recorded before this call, so that the counters show it. Returns false if the collector did
/// not answer in time, or if there is none.
pub fn flush(patience: Duration) -> bool {
    ask(|done| Question::Flush { last: false, done }, |answer| answer.wait(patience).ok()).is_some()
}

/// Takes in everything and settles operations in progress, before the end.
pub(crate) fn settle() {
    let _ = ask(|done| Question::Flush { last: true, done }, patiently);
}

/// Looks at CUDA events for the last time, without waiting for any of them. A collector that stands still within CUDA is
/// waited for only up to [`LAST_LOOK`]: the call may hang.
pub(crate) fn look() {
    let driver = recorder::begun().and_then(|recorder| recorder.launches.driver());
    let mut within = Standstill::new();
    let is_wanted = || {
        if driver.is_none_or(|driver| driver.wait_for_look(Duration::ZERO)) {
            within = Standstill::new();
        }
        within.look() < LAST_LOOK
    };
    ask(|done| Question::Flush { last: false, done }, |answer| patiently_while(answer, is_wanted));
}

/// Returns the present summary of this process; `None` if NCCL was not used or the collector does not answer.
pub fn summary() -> Option<Summary> {
    ask(|answer| Question::Summary { answer }, patiently)
}

/// Returns the present summary to a thread that can wait; `None` also if the collector is busy for that long. Logs
/// nothing in that case.
pub(crate) fn summary_within(patience: Duration) -> Option<Summary> {
    ask(|answer| Question::Summary { answer }, |answer| answer.wait(patience).ok())
}

/// Asks for the communicators' part of the status file. `None` if there is nobody to ask.
pub(crate) fn ask_for_status() -> Option<AnswerWait<Status>> {
    begin(|answer| Question::Status { answer })
}

/// Returns the sums for an exporter; `None` if the collector does not answer in time. Logs nothing in that case.
#[cfg(feature = "otel")]
pub(crate) fn sums(patience: Duration) -> Option<ProcessSums> {
    ask(|answer| Question::Sums { answer }, |answer| answer.wait(patience).ok())
}

/// Returns the timeline, once. Call it after [`crate::process::finish`].
pub fn timeline() -> Option<Timeline> {
    ask(|answer| Question::Timeline { answer }, patiently).flatten()
}

/// Returns the lane name of a series' communicator, if it is of one, and the points of the series.
pub fn series(series: SeriesName) -> (Option<String>, Vec<Point>) {
    ask(|answer| Question::Series { series, answer }, patiently).unwrap_or_default()
}

/// Ends the launches of a CUDA context whose last communicator has ended. After the return, no CUDA call is made about
/// its events. NCCL's destruction of the communicator waits for it, for one look of the collector. A collector that gets
/// no processor in time loses the last launches' times; one that is held up within CUDA loses all later ones, too.
pub(crate) fn close_launches(pool: u32) {
    let Some(recorder) = recorder::begun() else { return };
    let generation = recorder.launches.generation(pool);
    let closed = ask(|done| Question::Close { pool, generation, done }, |answer| answer.wait(LAST_LOOK).ok());
    if closed.is_some() {
        return;
    }
    if recorder.is_of_this_process() {
        if recorder.launches.abandon(pool, generation, LAST_LOOK) {
            return;
        }
        if recorder.launches.driver().is_some_and(|driver| !driver.is_over()) {
            log::warn(
                "a call of CUDA's driver took more than 200 ms when a GPU's last communicator ended: CUDA events time \
                 nothing from here on; NCCL_SCOREP_GPU_TIME=stamps does without them",
            );
        }
    }
    recorder.launches.end();
}

/// Asks the collector, even if the plugin is off after a fault: what was recorded before counts.
fn ask<T>(question: impl FnOnce(Reply<T>) -> Question, wait: impl FnOnce(&AnswerWait<T>) -> Option<T>) -> Option<T> {
    wait(&begin(question)?)
}

fn begin<T>(question: impl FnOnce(Reply<T>) -> Question) -> Option<AnswerWait<T>> {
    let recorder = recorder::begun()?;
    // a forked child has no collector to ask
    if !recorder.is_of_this_process() || DEAF.load(Ordering::Relaxed) || shortage::is_out_of_memory() {
        return None;
    }
    let (reply, answer) = answer::pair();
    question::put(question(reply));
    recorder.wake();
    Some(answer)
}

/// Waits for an answer while the collector is at work, until the deadline that all questions of the end share. Waits
/// for at least one look.
fn patiently<T>(answer: &AnswerWait<T>) -> Option<T> {
    patiently_while(answer, || true)
}

/// The same, as long as the answer is wanted. Asks at each look.
fn patiently_while<T>(answer: &AnswerWait<T>, mut is_wanted: impl FnMut() -> bool) -> Option<T> {
    let begun = Instant::now();
    let deadline = {
        let waits = WAITS.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = waits.filter(|(_, last)| begun.duration_since(*last) < APART);
        recent.map_or_else(|| moments::after(begun, LONGEST), |(deadline, _)| deadline)
    };
    let mut standstill = Standstill::new();
    let answered = loop {
        match answer.wait(LOOK) {
            Ok(answer) => break Some(answer),
            Err(AnswerFailure::Never) => break None,
            Err(AnswerFailure::TooLate) if !is_wanted() => break None,
            Err(AnswerFailure::TooLate) => {}
        }
        let stands_still = standstill.look() >= STANDSTILL;
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
