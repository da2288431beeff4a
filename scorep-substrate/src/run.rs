//! The run as Score-P measures it: it is prepared for, begins and ends. Both metric plugins and the substrate plugin
//! hear of that, each in its own way; what has to be done is done once.

use crate::lanes::spare;
use crate::measurement::Measurement;
use crate::{host_regions, lanes, stand_ins};
use common::arrivals::Arrivals;
use common::clock::CLOCK;
use common::missing::Missing;
use common::timeline::{self, History};
use common::{config, control, log, notes, process};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, Once, PoisonError};

/// The thread on which the measurement began, as the kernel calls it; 0 before.
static MAIN: AtomicI64 = AtomicI64::new(0);
/// Set when the substrate plugin will hear of the program's end, after the metric plugins have heard of the
/// measurement's.
static PROGRAM_ENDS: AtomicBool = AtomicBool::new(false);
/// When ranks began their collectives, from the measurement's end until the job summary has been gathered.
static ARRIVALS: Mutex<Option<Arrivals>> = Mutex::new(None);

fn this_thread() -> i64 {
    // SAFETY: takes nothing.
    unsafe { libc::syscall(libc::SYS_gettid) }
}

/// Whether a variable of that name asks Score-P for plugins. Others than Score-P, who load this library with stand-ins,
/// set none.
fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Whether it is Score-P that loads the plugins.
pub(crate) fn is_score_ps() -> bool {
    is_set("SCOREP_METRIC_PLUGINS") || is_set("SCOREP_SUBSTRATE_PLUGINS")
}

/// A plugin is loaded: operations are kept from the first communicator on, for those who want them.
pub(crate) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        MAIN.store(this_thread(), Ordering::Relaxed);
        let settings = config::settings();
        if settings.lanes || settings.gather_bytes > 0 {
            timeline::want();
        }
    });
}

/// The measurement begins, on its first thread; Score-P has handed its clock over, if it does.
pub(crate) fn begin() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        CLOCK.mark();
        host_regions::begin();
        match measurement_for_lanes() {
            Ok(measurement) => spare::make(&measurement),
            Err(reason) if is_score_ps() => {
                timeline::object(format!("no lanes of NCCL's operations in Score-P: {reason}"))
            }
            Err(_) => {}
        }
    });
}

/// Score-P's library, if lanes can be written through it.
fn measurement_for_lanes() -> Result<Measurement, String> {
    if !config::settings().lanes {
        return Err("NCCL_SCOREP_LANES=off".into());
    }
    if !CLOCK.is_score_p() {
        return Err("its clock comes with SCOREP_METRIC_PLUGINS=nccl_plugin".into());
    }
    Measurement::find()
}

/// The substrate plugin is there: [`program_ends`] will be called.
pub(crate) fn expect_program_end() {
    PROGRAM_ENDS.store(true, Ordering::Relaxed);
}

/// The measurement is over, as a metric plugin hears. Where recording is off by default, Score-P switches it on for the
/// end of the program: the lanes wait for that.
pub(crate) fn measurement_ends() {
    let measurement = measurement_for_lanes().ok();
    let is_recording = measurement.is_none_or(|measurement| measurement.is_recording());
    if !is_recording && PROGRAM_ENDS.load(Ordering::Relaxed) {
        process::finish();
    } else {
        end(CLOCK.now(), measurement);
    }
}

/// The program ends at `end`, ticks of Score-P's clock, as the substrate plugin hears: the second chance for the lanes,
/// and the first one where no metric plugin is there.
pub(crate) fn program_ends(end: u64) {
    self::end(end, measurement_for_lanes().ok());
}

/// Takes everything in and writes the lanes, once.
fn end(end: u64, measurement: Option<Measurement>) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        process::finish();
        let timeline = control::timeline();
        // what comes without Score-P's clock has times of its own
        let end = if CLOCK.is_score_p() { end } else { CLOCK.now() };
        let begin = measurement.map_or(0, |measurement| measurement.begin());
        if config::settings().gather_bytes > 0 {
            let is_complete = Missing::of_threads().dropped == 0;
            if !is_complete {
                notes::add(
                    "events are missing, and nobody knows which: this process has no lateness and no bandwidth".into(),
                );
            }
            let arrivals = timeline.as_ref().map(|timeline| {
                let mut arrivals = timeline.arrivals(is_complete);
                // recordings have no other clock than the one that their operations show
                if stand_ins::are_there() {
                    timeline.add_transfers(&mut arrivals, is_complete);
                }
                arrivals
            });
            *ARRIVALS.lock().unwrap_or_else(PoisonError::into_inner) = arrivals;
        }
        let history = timeline.map(|timeline| timeline.into_history(begin, end));
        if let Some(measurement) = measurement {
            write_lanes(&measurement, history.as_ref());
        }
    });
}

fn write_lanes(measurement: &Measurement, history: Option<&History>) {
    match history.filter(|history| !history.operations.is_empty() || !history.windows.is_empty()) {
        None => {}
        // a thread that Score-P does not know must not make locations, and only of the first one is it certain
        Some(_) if MAIN.load(Ordering::Relaxed) != this_thread() => {
            log::warn(
                "no lanes of NCCL's operations in Score-P: the program was ended by another thread than its first one",
            );
        }
        Some(_) if !measurement.is_recording() => {
            log::warn("no lanes of NCCL's operations in Score-P: recording is switched off at the end of the program");
        }
        Some(history) => lanes::write(measurement, history, config::settings().lane_pairs),
    }
}

/// When ranks began their collectives, once.
pub(crate) fn take_arrivals() -> Option<Arrivals> {
    ARRIVALS.lock().unwrap_or_else(PoisonError::into_inner).take()
}
