//! The begin and the end of Score-P's measurement. Both metric plugins and the substrate plugin hear of them, in this order; what has
//! to be done is done once.

use crate::lanes;
use crate::measurement::Measurement;
use common::recorder::{self, CLOCK};
use common::timeline::{self, History};
use common::{control, log};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, Once, PoisonError};

/// The thread on which the measurement began, as the kernel calls it; 0 before.
static MAIN: AtomicI64 = AtomicI64::new(0);

fn this_thread() -> i64 {
    // SAFETY: takes nothing.
    unsafe { libc::syscall(libc::SYS_gettid) }
}

/// What the measurement has seen, from its end until the job summary has been gathered.
static HISTORY: Mutex<Option<History>> = Mutex::new(None);

/// A plugin is loaded: operations are kept from now on, for those who want them.
pub(crate) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        MAIN.store(this_thread(), Ordering::Relaxed);
        let settings = recorder::settings();
        let found = if settings.lanes { Measurement::find().map(|_| ()) } else { Err("NCCL_SCOREP_LANES=off".into()) };
        if let Err(reason) = found {
            timeline::object(format!("no lanes of NCCL's operations in Score-P: {reason}"));
        }
        if settings.lanes || settings.gather_bytes > 0 {
            timeline::want();
        }
    });
}

/// The measurement is over at `end`, in ticks: takes everything in and writes the lanes.
pub(crate) fn end(end: u64) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        control::finish();
        let Some(timeline) = control::timeline() else { return };
        let mut measurement = recorder::settings().lanes.then(|| Measurement::find().ok()).flatten();
        if measurement.is_some() && MAIN.load(Ordering::Relaxed) != this_thread() {
            // a thread that Score-P does not know must not make locations, and only of the main one is it certain
            log::warn("no lanes of NCCL's operations in Score-P: the program was ended by another thread than its first one");
            measurement = None;
        }
        let begin = measurement.map_or(0, |measurement| measurement.begin());
        let history = timeline.into_history(begin, end);
        if let Some(measurement) = measurement {
            lanes::write(&measurement, &history, recorder::settings().lane_pairs);
        }
        log::info(&format!("{} operations are on the timeline", history.operations.len()));
        *HISTORY.lock().unwrap_or_else(PoisonError::into_inner) = Some(history);
    });
}

/// The same, now.
pub(crate) fn end_now() {
    end(CLOCK.now());
}

/// What the measurement has seen, once.
pub(crate) fn take_history() -> Option<History> {
    HISTORY.lock().unwrap_or_else(PoisonError::into_inner).take()
}
