//! The run as Score-P measures it: its preparation, its begin and its end. Both metric plugins and the substrate plugin
//! report these moments, each in its own way; the work is done at the first report.

use crate::lanes::spare;
use crate::measurement::{LaneTarget, Measurement};
use crate::{host_regions, lanes};
use common::arrivals::Arrivals;
use common::clock::CLOCK;
use common::missing::Missing;
use common::timeline::{self, History, Timeline};
use common::{config, control, log, notes, process};
use once_cell::sync::OnceCell;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, Once, PoisonError};

/// Kernel's id of the thread on which the measurement began; 0 before.
static MAIN: AtomicI64 = AtomicI64::new(0);
/// When ranks began their collectives; held from the measurement's end until the job summary is gathered.
static ARRIVALS: Mutex<Option<Arrivals>> = Mutex::new(None);
/// The timeline of a replay that keeps the operations; held from the measurement's end until it is taken.
static TIMELINE: Mutex<Option<Timeline>> = Mutex::new(None);
/// What a replay has lanes and series written into, in place of Score-P's measurement.
static STAND_IN: OnceCell<&'static dyn LaneTarget> = OnceCell::new();

/// Has lanes and series written into a stand-in for Score-P's measurement. The first one stays.
pub(crate) fn write_into(stand_in: &'static dyn LaneTarget) {
    let _ = STAND_IN.set(stand_in);
}

/// Returns whether a replay brings a stand-in for Score-P's measurement.
pub(crate) fn is_replayed() -> bool {
    STAND_IN.get().is_some()
}

fn this_thread() -> i64 {
    // SAFETY: gettid takes nothing.
    unsafe { libc::syscall(libc::SYS_gettid) }
}

/// Returns whether a variable asks Score-P for plugins. Programs other than Score-P that load this library, with
/// stand-ins, set no such variable.
fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Returns whether Score-P loads the plugins.
pub(crate) fn is_score_ps() -> bool {
    is_set("SCOREP_METRIC_PLUGINS") || is_set("SCOREP_SUBSTRATE_PLUGINS")
}

/// Prepares the run when a plugin is loaded: from the first communicator on, operations are kept if the settings need
/// them.
pub(crate) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        MAIN.store(this_thread(), Ordering::Relaxed);
        let settings = config::settings();
        if settings.lanes.are_wanted() || settings.gather_bytes > 0 {
            timeline::want();
        }
    });
}

/// Begins the measurement. Called on the measurement's first thread, after Score-P has passed its clock, if it does.
pub(crate) fn begin() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        CLOCK.mark();
        host_regions::begin();
        match lanes_are_possible().and_then(|()| Measurement::find()) {
            Ok(measurement) => spare::watch(measurement),
            Err(reason) if is_score_ps() => {
                timeline::object(format!("no lanes and no series of NCCL in Score-P: {reason}"))
            }
            Err(_) => {}
        }
    });
}

/// Returns whether lanes are wanted, and times are Score-P's.
///
/// # Errors
/// The reason why not, in words.
fn lanes_are_possible() -> Result<(), String> {
    if !config::settings().lanes.are_wanted() {
        return Err("NCCL_SCOREP_LANES=off".into());
    }
    if !CLOCK.is_score_p() {
        return Err("its clock comes with SCOREP_METRIC_PLUGINS=nccl_plugin".into());
    }
    Ok(())
}

/// Returns what lanes are written into, if they can be.
fn target_for_lanes() -> Option<&'static dyn LaneTarget> {
    lanes_are_possible().ok()?;
    STAND_IN.get().copied().or_else(|| Some(Measurement::find().ok()?))
}

/// Ends the measurement when a metric plugin reports its end.
pub(crate) fn measurement_ends() {
    end(CLOCK.now(), target_for_lanes(), true);
}

/// Ends the measurement when the substrate plugin reports the program's end, unless a metric plugin has ended it. `end`
/// is in ticks of Score-P's clock.
pub(crate) fn program_ends(end: u64) {
    // Score-P has written its last time: recording stays as it is
    self::end(end, target_for_lanes(), false);
}

/// Collects everything recorded and writes the lanes, once.
fn end(end: u64, target: Option<&'static dyn LaneTarget>, may_switch: bool) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        spare::end();
        process::finish();
        let timeline = control::timeline();
        if timeline.as_ref().is_some_and(Timeline::is_kept_elsewhere) {
            *TIMELINE.lock().unwrap_or_else(PoisonError::into_inner) = timeline;
            return;
        }
        // without Score-P's clock, operations have times of the library's own clock
        let end = if CLOCK.is_score_p() { end } else { CLOCK.now() };
        let begin = target.map_or(0, LaneTarget::begin);
        if config::settings().gather_bytes > 0 {
            let is_complete = Missing::of_threads().dropped == 0;
            if !is_complete {
                notes::add(
                    "events are missing, and nobody knows which: this process has no lateness and no bandwidth".into(),
                );
            }
            let arrivals = timeline.as_ref().map(|timeline| {
                let mut arrivals = timeline.arrivals(is_complete);
                // in a replay, the recorded operations are the only source of clock offsets
                if is_replayed() {
                    timeline.add_transfers(&mut arrivals, is_complete);
                }
                arrivals
            });
            *ARRIVALS.lock().unwrap_or_else(PoisonError::into_inner) = arrivals;
        }
        let history = timeline.map(|timeline| timeline.into_history(begin, end));
        if let Some(target) = target {
            write_lanes(target, history.as_ref(), [begin, end], may_switch);
        }
    });
}

fn write_lanes(target: &dyn LaneTarget, history: Option<&History>, span: [u64; 2], may_switch: bool) {
    let history = history.filter(|history| !history.operations.is_empty() || !history.windows.is_empty());
    let series = if target.is_tracing() { lanes::with_values() } else { Default::default() };
    if history.is_none() && series.is_empty() {
        return;
    }
    // locations must be created on a thread that Score-P knows; only the first thread is certain to be known
    if MAIN.load(Ordering::Relaxed) != this_thread() {
        return log::warn(
            "no lanes and no series of NCCL in Score-P: the program was ended by another thread than its first one",
        );
    }
    let mut write = || {
        if let Some(history) = history {
            lanes::write(target, history, config::settings().lane_pairs);
        }
        lanes::write_series(target, &series, span);
    };
    if !target.while_recording(may_switch, &mut write) {
        log::warn(
            "no lanes and no series of NCCL in Score-P: recording is off, and Score-P does not switch it on while other \
             threads run. Switch it on before the program ends (SCOREP_RECORDING_ON)",
        );
    }
}

/// Takes the times at which ranks began their collectives; `None` after the first call.
pub fn take_arrivals() -> Option<Arrivals> {
    ARRIVALS.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Takes the timeline whose operations a replay keeps; `None` after the first call, or without such a timeline.
pub fn take_timeline() -> Option<Timeline> {
    TIMELINE.lock().unwrap_or_else(PoisonError::into_inner).take()
}
