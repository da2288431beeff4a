//! The file of the process' state (`NCCL_SCOREP_STATUS`), for somebody who looks at a job that runs, hangs or is dead.
//!
//! A thread writes it each second under another name and renames it. So a reader finds a whole file, of a second ago at
//! most, however the process has ended, and nobody has to ask the process. A memory-mapped file would be newer, but it
//! could harm the job: a write into the mapping of a file that somebody has cut, or on a full file system, ends the
//! process by SIGBUS. And network file systems do not show a mapping to other hosts.
//!
//! Without the setting there is no thread, and the collector keeps nothing for it.

mod requests;

use crate::base::answer::{AnswerFailure, AnswerWait};
use crate::base::files::{self, Earlier, FileName};
use crate::base::last_work::{LastWork, Promise};
use crate::base::{birth, log, own_thread, patience, shortage, switch};
use crate::clock::nanoseconds;
use crate::config::Settings;
use crate::control;
use crate::origin;
use crate::status::{ENDING, PERIOD_SECONDS, SCHEMA, Status, request};
use requests::Requests;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Time for which a state waits for the collector. Without an answer, the state before is written again.
const PATIENCE: Duration = Duration::from_millis(500);

/// Shortest wait for the end of a request.
const SHORTEST: Duration = Duration::from_millis(1);
/// Time after which NCCL's next call is asked again to look at a request: a call of another NCCL may have looked.
const AGAIN: Duration = Duration::from_millis(50);

/// The file, if it is wanted.
static FILE: OnceLock<Mutex<StatusFile>> = OnceLock::new();
/// Set when the measurement is over: the last state is on its way.
static OVER: AtomicBool = AtomicBool::new(false);
/// The last state, for the thread.
static LAST: LastWork<CollectorState> = LastWork::new();

/// What the collector says of the state, or since when it has been silent, nanoseconds since the Epoch.
type CollectorState = Result<Status, u64>;
/// The name of the file in warnings.
const WRITTEN: &str = "the state";

struct StatusFile {
    name: FileName,
    status: Status,
    told_failure: bool,
}

/// Begins to write the state, if a directory is set. Called once, before the first event. Not inlined, for threads with
/// little stack.
#[inline(never)]
pub(crate) fn begin(settings: &Settings) {
    let Some(directory) = &settings.status else { return };
    // the program may change its working directory later
    let directory = &std::path::absolute(directory).unwrap_or_else(|_| directory.clone());
    let status = Status {
        schema: SCHEMA.into(),
        pid: std::process::id(),
        born: birth::own(),
        forked: birth::is_forked(),
        origin: origin::own(),
        ..Status::default()
    };
    // never set before: `begin` is called once
    let _ = FILE.set(Mutex::new(StatusFile { name: name(directory), status, told_failure: false }));
    let requests = Requests::new(directory);
    let settings = settings.clone();
    if let Err(error) = LAST.begin_thread("scorep-nccl-now", move |last| write_always(requests, &settings, last)) {
        log::warn(&format!("no thread to write the process' state ({error}): there is no file in NCCL_SCOREP_STATUS"));
    }
}

/// Returns the name of this process' file in `directory`.
fn name(directory: &Path) -> FileName {
    let name = files::expand(Path::new(&format!("scorep-nccl.%h.%p{ENDING}")));
    // a file of that name is of an earlier process of the same number
    FileName::new(&directory.join(name), Earlier::Replaced)
}

/// Runs the thread, until the last state.
fn write_always(mut requests: Requests, settings: &Settings, last: &Promise<CollectorState>) {
    let mut asking = Asking::default();
    let mut answer = None;
    loop {
        let begun = Instant::now();
        if shortage::is_out_of_memory() {
            own_thread::stop();
        }
        let place = write(asking.state(), answer.take());
        let period = Duration::from_secs_f64(PERIOD_SECONDS);
        loop {
            let left = period.saturating_sub(begun.elapsed());
            if left.is_zero() {
                break;
            }
            let most = if requests::is_waiting() { AGAIN } else { left };
            let time = requests.left().map_or(most, |end| end.min(most)).max(SHORTEST).min(left);
            if last.keep_within(time, write_last) {
                return;
            }
            requests.expire();
            requests::call();
        }
        // the state after an answer is written at once, with the answer
        answer = place.and_then(|place| requests.look(now(), &place, settings));
    }
}

/// Has the last state written: the measurement is over. Called before the operations under way are settled.
pub(crate) fn end() {
    if FILE.get().is_some()
        && !OVER.swap(true, Ordering::Relaxed)
        && let Err(said) = LAST.have_done(Asking::default().state(), WRITTEN)
    {
        write_last(said);
    }
}

/// The question that the collector has not answered yet, and since when.
#[derive(Default)]
struct Asking(Option<(AnswerWait<Status>, u64)>);

impl Asking {
    /// Asks, or goes on to wait: a collector that never answers gets no second question.
    ///
    /// # Errors
    /// Returns since when the collector has been silent, nanoseconds since the Epoch.
    fn state(&mut self) -> CollectorState {
        let now = now();
        let Some((answer, since)) = self.0.take().or_else(|| Some((control::ask_for_status()?, now))) else {
            return Err(now);
        };
        match answer.wait(PATIENCE) {
            Ok(state) => return Ok(state),
            Err(AnswerFailure::TooLate) => self.0 = Some((answer, since)),
            Err(AnswerFailure::Never) => {}
        }
        Err(since)
    }
}

fn now() -> u64 {
    nanoseconds(libc::CLOCK_REALTIME)
}

/// Writes the last state.
fn write_last(said: CollectorState) {
    if let Some(mut file) = FILE.get().and_then(|file| patience::hold(file, WRITTEN)) {
        file.write(said, None, true);
    }
}

/// Writes the state, with an answer if there is a new one. Returns the file, unless it could not be written.
fn write(said: CollectorState, answer: Option<request::RequestAnswer>) -> Option<PathBuf> {
    let mut file = FILE.get().and_then(|file| patience::hold(file, WRITTEN))?;
    // the last state is not replaced by an earlier one
    if file.status.over.is_some() {
        return None;
    }
    file.write(said, answer, false).then(|| file.name.place().to_owned())
}

impl StatusFile {
    fn write(&mut self, said: CollectorState, answer: Option<request::RequestAnswer>, is_last: bool) -> bool {
        let Self { name, status, told_failure } = self;
        match said {
            Ok(Status { communicators, further_communicators, dropped, mask, .. }) => {
                *status = Status {
                    communicators,
                    further_communicators,
                    dropped,
                    mask,
                    silent_since: None,
                    ..std::mem::take(status)
                };
            }
            Err(since) => {
                status.silent_since.get_or_insert(since);
            }
        }
        status.origin = origin::own();
        status.written = now();
        status.beat += 1;
        status.over = is_last.then_some(status.written);
        status.off = switch::reason();
        if answer.is_some() {
            status.answer = answer;
        }
        let written = files::write_line_as(name, status);
        if let Err(error) = &written
            && !std::mem::replace(told_failure, true)
        {
            log::warn(&format!(
                "the state of this process could not be written to {} (NCCL_SCOREP_STATUS): {error}",
                name.place().display()
            ));
        }
        written.is_ok()
    }
}
