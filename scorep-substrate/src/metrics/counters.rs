//! Metric plugin `nccl_plugin`: the counters. Beside a profile they are strictly synchronous: a profile needs a value
//! at each begin and end of a region, and Score-P 8.4 aborts the program where one is missing. In a trace alone they
//! are synchronous, and Score-P writes those that have changed. Three counters at each enter and leave take 15 to 25
//! bytes, more than the event itself.
//!
//! Score-P reads every counter before every enter and exit on every thread (see `ids`). The process's counters have
//! their values on the first thread that asks. On other threads they stay 0, since a profile would count them once for
//! each thread.

use crate::lanes::spare;
use crate::measurement::{LaneTarget, Measurement};
use crate::metrics::ids::{self, CONSTANT};
use crate::metrics::memory::{self, Metric};
use crate::metrics::token;
use crate::sys::{
    BASE_DECIMAL, MODE_ACCUMULATED_START, MetricPluginInfo, MetricProperties, PER_THREAD, PLUGIN_VERSION,
    STRICTLY_SYNC, SYNC, SYNCHRONIZATION_MODE_END, SynchronizationMode, VALUE_UINT64,
};
use crate::{host_regions, run, settings};
use common::clock::CLOCK;
use common::guard::{contain, guard};
use common::log;
use common::metric::{COUNTERS, Counter, DEFAULT, Owner, counters, in_place_of};
use common::rank;
use common::thread::ThreadCell;
use once_cell::sync::OnceCell;
use std::env;
use std::ffi::c_char;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

/// Variable from which Score-P takes the tokens.
const TOKENS: &str = "SCOREP_METRIC_NCCL_PLUGIN";
/// Most counters that a token stands for: Score-P 8.4 reads the list after it has freed it.
pub const MOST_OF_A_TOKEN: usize = 20;
/// Value of [`FIRST`] before a thread has asked.
const NOBODY: usize = usize::MAX;

/// Counters that a token has named already. A counter named by two tokens is shown once: Score-P would take it for two
/// counters and corrupt the profile.
static SHOWN: [AtomicBool; COUNTERS] = [const { AtomicBool::new(false) }; COUNTERS];
/// Number of the thread on whose location the process's counters are shown.
static FIRST: AtomicUsize = AtomicUsize::new(NOBODY);
/// Number of the counter of the process that Score-P asked for first, which it reads once an event, on that thread.
static WATCHING: AtomicI32 = AtomicI32::new(-1);

/// Score-P's measurement if it writes a trace alone; decided when Score-P loads the plugin.
static TRACE_ALONE: OnceCell<Option<&'static Measurement>> = OnceCell::new();

/// Returns the measurement if Score-P writes a trace and makes no profile, by its own word. Handlers of samples read
/// counters at any time, and write no value.
fn trace_alone() -> Option<&'static Measurement> {
    let decide = || Measurement::tried().filter(|it| it.is_tracing() && !it.is_profiling() && !settings::has_samples());
    *TRACE_ALONE.get_or_init(|| if run::is_replayed() { None } else { decide() })
}

fn find(name: &str) -> Option<usize> {
    counters().iter().position(|counter| counter.name == name)
}

fn describe(counter: &'static Counter) -> Metric<'static> {
    Metric {
        name: &counter.name,
        description: &counter.description,
        mode: MODE_ACCUMULATED_START,
        value_type: VALUE_UINT64,
        base: BASE_DECIMAL,
        exponent: 0,
        unit: counter.unit,
    }
}

/// Returns the indices of the counters that a token names: one counter, the default counters, or for `*` as many as one
/// token may stand for.
fn select(token: &str) -> Vec<usize> {
    match token.trim() {
        "default" => DEFAULT.map(|counter| counter as usize).into(),
        "*" => (0..MOST_OF_A_TOKEN.min(COUNTERS)).collect(),
        name => match find(name) {
            Some(place) => vec![place],
            None => {
                // every rank has the same variable
                if rank::told().rank.is_none_or(|rank| rank == 0) {
                    log::warn(&format!("{TOKENS}: there is no counter {name:?}; {}", in_place_of(name)));
                }
                Vec::new()
            }
        },
    }
}

/// Returns whether a list contains no token. Score-P splits it at each character of `separators`.
fn is_empty(tokens: &str, separators: &str) -> bool {
    tokens.chars().all(|letter| separators.contains(letter))
}

/// Warns if Score-P loads the plugin without a token, about which Score-P itself says nothing. Other programs that load
/// the plugin do not set these variables.
fn warn_of_no_counters() {
    let text = |name: &str| env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let separators = text("SCOREP_METRIC_PLUGINS_SEP").unwrap_or_else(|| ",".to_owned());
    let is_loaded = text("SCOREP_METRIC_PLUGINS").is_some_and(|plugins| !is_empty(&plugins, &separators));
    if is_loaded && is_empty(&text(TOKENS).unwrap_or_default(), &separators) {
        log::warn(&format!(
            "{TOKENS} names no counter, so none is shown; {TOKENS}=default shows {} of them",
            DEFAULT.len()
        ));
    }
}

/// Begins without a counter that is shown.
pub(crate) fn prepare() {
    run::prepare();
    SHOWN.iter().for_each(|shown| shown.store(false, Ordering::Relaxed));
}

unsafe extern "C" fn initialize() -> i32 {
    guard("initialize", (), || {
        prepare();
        warn_of_no_counters();
    });
    0
}

unsafe extern "C" fn finalize() {}

/// Returns the counters of a token that no earlier token has named.
pub(crate) fn show(token: &str) -> Vec<Metric<'static>> {
    let new = select(token).into_iter().filter(|&place| !SHOWN[place].swap(true, Ordering::Relaxed));
    new.map(|place| describe(&counters()[place])).collect()
}

unsafe extern "C" fn get_event_info(token: *mut c_char) -> *mut MetricProperties {
    let list = guard("get_event_info", None, || {
        // SAFETY: Score-P passes a string that is alive during the call.
        let token = unsafe { token::text(token) };
        Some(memory::properties(&show(&token)))
    });
    // an empty list if that failed: Score-P aborts the application on NULL
    list.unwrap_or_else(|| memory::properties(&[]))
}

unsafe extern "C" fn add_counter(name: *mut c_char) -> i32 {
    // never negative: Score-P aborts the application if a strictly synchronous counter is refused
    guard("add_counter", CONSTANT, || {
        // SAFETY: Score-P passes a string that is alive during the call.
        let name = unsafe { token::text(name) };
        number(&name)
    })
}

/// Returns the number by which Score-P reads a counter on the calling thread; never negative.
pub(crate) fn number(name: &str) -> i32 {
    host_regions::know_thread();
    let (Some(counter), Some((cell, thread))) = (find(name), ThreadCell::current()) else { return CONSTANT };
    let first =
        FIRST.compare_exchange(NOBODY, thread, Ordering::Relaxed, Ordering::Relaxed).unwrap_or_else(|first| first);
    match counters()[counter].owner {
        Owner::Thread => ids::of_thread(counter, cell, thread),
        Owner::Process if first == NOBODY || first == thread => {
            let id = ids::of_process(counter);
            let _ = WATCHING.compare_exchange(-1, id, Ordering::Relaxed, Ordering::Relaxed);
            id
        }
        Owner::Process => CONSTANT,
    }
}

unsafe extern "C" fn get_current_value(id: i32) -> u64 {
    if id == WATCHING.load(Ordering::Relaxed) {
        spare::event();
    }
    ids::read(id)
}

unsafe extern "C" fn get_optional_value(id: i32, value: *mut u64) -> bool {
    if id == WATCHING.load(Ordering::Relaxed) {
        spare::event();
    }
    let is_recording = trace_alone().is_some_and(Measurement::is_recording);
    let new = if is_recording { ids::changed(id) } else { ids::forget(id) };
    if let Some(new) = new {
        // SAFETY: Score-P passes room for one value.
        unsafe { value.write(new) }
    }
    new.is_some()
}

/// Sets Score-P's clock as the library's.
pub(crate) unsafe extern "C" fn set_clock_function(function: Option<unsafe extern "C" fn() -> u64>) {
    guard("set_clock_function", (), || {
        if let Some(function) = function {
            CLOCK.set_function(function);
        }
    });
}

unsafe extern "C" fn synchronize(_is_responsible: bool, mode: SynchronizationMode) {
    // also after a fault: whatever was recorded before it counts
    contain("synchronize", (), || {
        if mode == SYNCHRONIZATION_MODE_END {
            run::measurement_ends();
        } else {
            run::begin();
        }
    });
}

/// Returns the plugin's table; Score-P looks this function up for `SCOREP_METRIC_PLUGINS=nccl_plugin`.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is Score-P's")]
pub extern "C" fn SCOREP_MetricPlugin_nccl_plugin_get_info() -> MetricPluginInfo {
    MetricPluginInfo {
        plugin_version: PLUGIN_VERSION,
        run_per: PER_THREAD,
        sync: if trace_alone().is_some() { SYNC } else { STRICTLY_SYNC },
        initialize: Some(initialize),
        finalize: Some(finalize),
        get_event_info: Some(get_event_info),
        add_counter: Some(add_counter),
        get_current_value: Some(get_current_value),
        get_optional_value: Some(get_optional_value),
        set_clock_function: Some(set_clock_function),
        synchronize: Some(synchronize),
        ..MetricPluginInfo::zeroed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::board;
    use common::metric::Fixed;
    use std::ffi::CStr;

    fn names(token: &str) -> Vec<&'static str> {
        select(token).into_iter().map(|place| counters()[place].name.as_str()).collect()
    }

    /// Returns the number of metrics that Score-P gets for a token.
    fn told(token: &CStr) -> usize {
        // SAFETY: the string outlives the call, and the list ends with an entry without a name.
        unsafe {
            let list = get_event_info(token.as_ptr().cast_mut());
            (0..).find(|&entry| (*list.add(entry)).name.is_null()).unwrap()
        }
    }

    #[test]
    fn a_counter_that_two_tokens_name_is_shown_once() {
        // SAFETY: the function takes nothing.
        assert_eq!(unsafe { initialize() }, 0);
        assert_eq!([c"nccl_bytes", c"default", c"nccl_ops", c"*", c"nope"].map(told), [1, 2, 0, 17, 0]);
        // SAFETY: the function takes nothing.
        assert_eq!(unsafe { initialize() }, 0);
        assert_eq!(told(c"default"), 3);
    }

    #[test]
    fn tokens_select_counters() {
        assert_eq!(names(" nccl_bytes "), ["nccl_bytes"]);
        assert_eq!(names("nccl_allreduce_time"), ["nccl_allreduce_time"]);
        assert_eq!(names("default"), ["nccl_ops", "nccl_bytes", "nccl_collective_time"]);
        assert_eq!((names("*").len(), names("*")[2]), (20, "nccl_collective_time"));
        assert!(select("no such").is_empty());
    }

    #[test]
    fn lists_of_tokens_are_taken_apart_as_score_p_does() {
        for (tokens, separators, empty) in [
            ("", ",", true),
            (",,", ",", true),
            ("nccl_ops", ",", false),
            (" ", ",", false),
            (",", ";", false),
            (";:", ":;", true),
            ("nccl_ops", "", false),
        ] {
            assert_eq!(is_empty(tokens, separators), empty, "{tokens:?} {separators:?}");
        }
    }

    #[test]
    fn the_processs_counters_are_shown_on_one_thread() {
        let add = |name: &CStr| {
            // SAFETY: the string outlives the call.
            unsafe { add_counter(name.as_ptr().cast_mut()) }
        };
        let here = add(c"nccl_ops");
        let there = std::thread::spawn(move || add(c"nccl_ops")).join().unwrap();
        board::add(Fixed::Ops as usize, 3);
        let shown = [here, there].map(|id| {
            // SAFETY: the function takes any number.
            unsafe { get_current_value(id) }
        });
        assert!(shown == [3, 0] || shown == [0, 3], "{shown:?}");
        assert!(add(c"no such") >= 0);
    }
}
