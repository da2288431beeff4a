//! Begin and end of the recording in a process. Everything else is started and ended here.

use crate::base::guard::contain;
use crate::base::own_thread::Registered;
use crate::base::{files, last_thread, log, notes, shortage, switch};
use crate::clock::CLOCK;
use crate::collect::collector;
use crate::config::{self, Settings};
use crate::event::InitCommunicator;
use crate::figures::missing;
use crate::record::callbacks::NO_CONTEXT;
use crate::record::grace;
use crate::record::recorder::{Recorder, begun};
use crate::record::thread::ThreadCell;
use crate::summary::arrivals;
use crate::sums::run_sums::CommunicatorRank;
use crate::{conditions, control, export, links, nvlink, origin, status_file, summary_file};
use std::io;
use std::sync::{Once, OnceLock};

/// Returns the recorder of this process. The first call starts it together with the collector thread. `None` if the
/// system refuses memory or a thread: then nothing is recorded, and one line says so.
pub fn begin() -> Option<&'static Recorder> {
    static BEGUN: OnceLock<Option<&'static Recorder>> = OnceLock::new();
    // a child forked while another thread is in here would wait for that thread for ever
    if switch::is_off() {
        return None;
    }
    // for the first caller, which need not be NCCL
    switch::prepare();
    let failed =
        |error: io::Error| log::warn(&format!("no memory or thread to record with ({error}); NCCL is not recorded"));
    // read before: the thread may have little stack
    let settings = config::settings();
    let recorder = *BEGUN.get_or_init(|| start(settings).map_err(failed).ok());
    recorder.filter(|_| !switch::is_off())
}

fn start(settings: &Settings) -> io::Result<&'static Recorder> {
    if let Some(rate) = settings.tick_rate {
        CLOCK.set_rate(rate);
    }
    // the scale must be known from the first callback on
    CLOCK.await_scale();
    origin::begin();
    grace::prepare();
    finish_at_exit()?;
    ThreadCell::prepare()?;
    let recorder = made(settings)?;
    last_thread::begin(&WORKS)?;
    collector::spawn(recorder)?;
    recorder.publish();
    begin_rooms(recorder);
    Ok(recorder)
}

/// Begins all that is around the collector. Apart from `start`, as [`made`] is.
#[inline(never)]
fn begin_rooms(recorder: &Recorder) {
    links::begin(recorder.settings());
    nvlink::begin(recorder.settings());
    conditions::begin(recorder.settings());
    export::begin(recorder.settings());
    summary_file::begin(recorder.settings());
    status_file::begin(recorder.settings());
}

/// Makes the recorder, which lives as long as there are callbacks: until the process has ended. Apart from `start`, since
/// it takes a third of a small thread's stack.
#[inline(never)]
fn made(settings: &Settings) -> io::Result<&'static Recorder> {
    Ok(Box::leak(Box::new(Recorder::new(settings.clone())?)))
}

/// Records a new communicator of NCCL. Returns its context; [`NO_CONTEXT`] if nothing can be recorded.
pub fn open(communicator: InitCommunicator) -> u64 {
    let Some(recorder) = begin() else { return NO_CONTEXT };
    let has_launches = communicator.timed.launches;
    arrivals::read_clock_variables();
    if recorder.is_of_this_process() {
        nvlink::open(
            communicator.introduced.then_some(CommunicatorRank { comm: communicator.id, rank: communicator.rank }),
            recorder.settings().status.is_some(),
        );
    }
    let context = recorder.init(communicator);
    if has_launches && recorder.launches.are_timed() {
        end_launches_at_exit();
    }
    context
}

/// Records that NCCL destroyed a communicator.
pub fn close(context: u64) {
    if let Some(pool) = begun().and_then(|recorder| recorder.finalize(context)) {
        control::close_launches(pool);
    }
}

/// Ends the measurement: takes everything in, settles operations in progress, and writes the summary if a file is set.
pub fn finish() {
    // a forked child has no collector, and would wait for ever for locks that other threads of its parent held
    if !is_own_process() {
        return;
    }
    // nothing that exists can be finished
    if shortage::is_out_of_memory() {
        return remove_what_is_half();
    }
    // first: what is under way is settled as unfinished below
    status_file::end();
    nvlink::last();
    control::settle();
    tell_dropped();
    tell_doubt();
    write_summary();
    // last, since it may take long
    export::last();
    remove_what_is_half();
}

/// Returns whether an exporter that the settings ask for could not begin, or failed when it exported last. Call this
/// after [`finish`].
pub fn exports_failed() -> bool {
    export::have_failed()
}

/// Removes the files of threads that have stopped for want of memory.
fn remove_what_is_half() {
    if shortage::is_out_of_memory() {
        files::remove_all();
    }
}

/// Writes the summary to its file, if one is set.
fn write_summary() {
    if begun().is_some_and(|recorder| recorder.settings.summary.is_some())
        && let Some(summary) = control::summary()
    {
        summary_file::write_last(summary);
    }
}

/// Warns once if events found no room, if the process ended inside callbacks, and if events were left unread.
fn tell_dropped() {
    fn tell(told: &Once, count: u64, line: fn(u64) -> String) {
        if count > 0 {
            told.call_once(|| log::warn(&line(count)));
        }
    }
    static TOLD: [Once; 3] = [const { Once::new() }; 3];
    tell(&TOLD[0], ThreadCell::all_dropped(), |dropped| {
        format!(
            "{dropped} events were dropped for want of room: figures are too small. NCCL_SCOREP_MEMORY_MB makes the recording \
             memory larger; of communicators, 4096 are recorded at a time"
        )
    });
    tell(&TOLD[1], missing::left_behind(), |left| {
        format!(
            "{left} callbacks were under way at the end of the process, and their events are not recorded: figures are \
             too small"
        )
    });
    tell(&TOLD[2], missing::unread(), |unread| {
        format!(
            "the process' other threads left the collector no time to take in {unread} events at its end: figures are \
             too small"
        )
    });
}

/// Warns once if times may be wrong.
fn tell_doubt() {
    static TOLD: Once = Once::new();
    if CLOCK.is_in_doubt() {
        TOLD.call_once(|| {
            let line = "the system has stopped trusting the processor's time stamp counter, which events were stamped with: times may be wrong";
            log::warn(line);
            notes::add(line.into());
        });
    }
}

/// What the exit of the process does, by number.
const WORKS: [fn(); 2] = [end, end_launches];

/// Registers [`finish`] for the exit of the process. Called once.
///
/// # Errors
/// As [`at_exit`].
fn finish_at_exit() -> io::Result<()> {
    extern "C" fn at_end() {
        if !last_thread::takes_over(0) {
            end();
        }
    }
    at_exit(at_end)
}

fn end() {
    let end = || {
        finish();
        if is_own_process() {
            links::end();
            nvlink::end();
            remove_what_is_half();
        }
    };
    contain("exit", (), end);
    if is_own_process() {
        switch::await_line();
    }
}

/// Registers the last look at CUDA events for the exit of the process, after which no event is asked for. It comes
/// before CUDA's own exit handlers, which were registered earlier. Called once, where the driver is known to be there.
fn end_launches_at_exit() {
    extern "C" fn at_end() {
        if !last_thread::takes_over(1) {
            end_launches();
        }
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| _ = at_exit(at_end));
}

fn end_launches() {
    let end = || {
        if is_own_process() {
            control::look();
        }
        if let Some(recorder) = begun() {
            recorder.launches.end();
        }
    };
    contain("exit", (), end);
}

/// Marks the calling thread as within a call of NCCL's that may allocate, until this is dropped: a signal handler may
/// end the process there.
pub fn within() -> Registered {
    last_thread::within()
}

/// Registers a function of this library for the exit of the process. The function registered last runs first.
///
/// # Errors
/// When the C library has no memory for it.
pub fn at_exit(function: extern "C" fn()) -> io::Result<()> {
    // SAFETY: `function` stays valid until the exit, since this library is never unloaded (linked with -z nodelete).
    if unsafe { libc::atexit(function) } == 0 { Ok(()) } else { Err(io::ErrorKind::OutOfMemory.into()) }
}

/// Returns whether this is the process that began to record. A forked child is not, and has no collector.
fn is_own_process() -> bool {
    begun().is_some_and(Recorder::is_of_this_process)
}
