//! Metric plugin `nccl_series_plugin`: rates, latencies and times over the course of the run. The metrics are
//! asynchronous, at locations of their own in the trace. Score-P asks for the values once, at the end.
//!
//! While Score-P makes a profile, it drops asynchronous metrics. Each series takes the memory of a location from the
//! start. Score-P would abort the application for a series without memory, so such series are refused.
//!
//! Score-P asks for the names before there is any communicator, so `default` stands for the first communicators to
//! come.

use crate::measurement::Measurement;
use crate::metrics::counters::set_clock_function;
use crate::metrics::memory::{self, Metric};
use crate::metrics::token;
use crate::run;
use crate::sys::{
    ASYNC, BASE_DECIMAL, MODE_ABSOLUTE_LAST, MetricPluginInfo, MetricProperties, PER_PROCESS, PLUGIN_VERSION,
    SYNCHRONIZATION_MODE_END, SynchronizationMode, TimeValuePair, VALUE_DOUBLE,
};
use common::clock::CLOCK;
use common::guard::{contain, guard};
use common::metric::{self, PROCESS_SERIES, SERIES, SeriesMetric};
use common::series::{self, Of, SeriesName};
use common::{control, log};
use std::ffi::c_char;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError};

/// Series, indexed by the ids that Score-P got.
static ASKED: Mutex<Vec<SeriesName>> = Mutex::new(Vec::new());
/// First and last time of the measurement. Values are moved between them, since the trace ends there.
static BEGIN: AtomicU64 = AtomicU64::new(0);
static END: AtomicU64 = AtomicU64::new(u64::MAX);

/// Locations left for the program's own threads, and the number of series if Score-P's memory cannot be queried.
const LEFT: usize = 4;
const FEW: usize = 10;
/// Most communicators for which a name without a number stands, if there is memory.
const FIRST: usize = 4;

/// Number of series that Score-P has got so far.
static TOLD: AtomicUsize = AtomicUsize::new(0);

/// Returns whether this value of SCOREP_ENABLE_PROFILING leaves profiling on; parsed as Score-P does.
fn is_profiling(value: Option<&str>) -> bool {
    let Some(value) = value else { return true };
    let off = ["false", "no", "off"].iter().any(|off| value.eq_ignore_ascii_case(off));
    !off && value.parse::<u64>() != Ok(0)
}

/// Warns once if a profile keeps Score-P from showing series.
fn tell_of_profiling() {
    static ONCE: Once = Once::new();
    let value = std::env::var_os("SCOREP_ENABLE_PROFILING").map(|value| value.to_string_lossy().trim().to_owned());
    if run::is_score_ps() && is_profiling(value.as_deref()) {
        ONCE.call_once(|| {
            log::warn(
                "Score-P drops the series of nccl_series_plugin, as all asynchronous metrics, while it makes a profile: set \
                 SCOREP_ENABLE_PROFILING=false to have them in the trace. Counters and lanes do not need that",
            );
        });
    }
}

/// Returns how many more series Score-P has memory for.
fn room() -> usize {
    if !run::is_score_ps() {
        return usize::MAX;
    }
    // Score-P asks for series before the measurement begins, and so before a release that was not tried is tried
    let room = Measurement::tried().map_or(FEW, |measurement| measurement.room().saturating_sub(LEFT));
    room.saturating_sub(TOLD.load(Ordering::Relaxed))
}

/// Keeps as many series as there is memory for, and warns of the rest once.
fn admit(mut series: Vec<SeriesName>, room: usize) -> Vec<SeriesName> {
    static ONCE: Once = Once::new();
    if room < series.len() {
        ONCE.call_once(|| {
            let taken = TOLD.load(Ordering::Relaxed) + room;
            log::warn(&format!(
                "SCOREP_METRIC_NCCL_SERIES_PLUGIN: {taken} series are taken and no more: each needs 1 MiB of SCOREP_TOTAL_MEMORY from the \
                 start; make it larger for more"
            ));
        });
    }
    series.truncate(room);
    TOLD.fetch_add(series.len(), Ordering::Relaxed);
    series
}

/// Returns the series that a token names.
fn select(token: &str, room: usize) -> Vec<SeriesName> {
    if matches!(token, "default" | "*") {
        return of_first(&SERIES.each_ref(), room);
    }
    if let Some(series) = metric::series(token) {
        return of_first(&[series], room);
    }
    if let Some(token) = SeriesName::parse(token) {
        return vec![token];
    }
    if let Some(series) = metric::former_series(token) {
        let name = series.name;
        let peer = if series.by_peer { format!(", {name}#N@P of its transfers to its rank P") } else { String::new() };
        log::warn(&format!(
            "SCOREP_METRIC_NCCL_SERIES_PLUGIN: {token} is now {name}, one of each communicator: {name}#N of the communicator number N{peer}"
        ));
        return if token.contains('@') { Vec::new() } else { of_first(&[series], room) };
    }
    log::warn(&format!(
        "SCOREP_METRIC_NCCL_SERIES_PLUGIN: there is no series {token:?}; there are default, {}, each also with #N behind it for the \
         communicator number N or #other for those without, {}#N@P and {}#N@P for its transfers to its rank P, and {} of the process",
        SERIES.map(|series| series.name).join(", "),
        SERIES[0].name,
        SERIES[1].name,
        PROCESS_SERIES.map(|series| series.name).join(" and ")
    ));
    Vec::new()
}

/// Returns these series of the first communicators and of the communicators without a number. The first communicators
/// are those that fit into half of the memory, from 1 to [`FIRST`]: the trace and the lanes need memory, too.
fn of_first(series: &[&'static SeriesMetric], room: usize) -> Vec<SeriesName> {
    let of_other = series.iter().filter(|series| series.of_other);
    let others = of_other.clone().count();
    let communicators = ((room / 2).saturating_sub(others) / series.len().max(1)).clamp(1, FIRST);
    let numbers = (0..).take(communicators);
    let own = numbers
        .flat_map(|number| series.iter().map(move |&series| SeriesName { series, of: Of::Communicator(number) }));
    own.chain(of_other.map(|&series| SeriesName { series, of: Of::Other })).collect()
}

unsafe extern "C" fn initialize() -> i32 {
    guard("initialize", (), run::prepare);
    0
}

unsafe extern "C" fn finalize() {}

unsafe extern "C" fn get_event_info(token: *mut c_char) -> *mut MetricProperties {
    let list = guard("get_event_info", None, || {
        // SAFETY: Score-P passes a string that is alive during the call.
        let token = unsafe { token::text(token) };
        tell_of_profiling();
        let room = room();
        let found = admit(select(&token, room), room);
        let names: Vec<String> = found.iter().map(SeriesName::to_string).collect();
        let list: Vec<Metric<'_>> =
            names.iter().zip(&found).map(|(name, token)| metric_of(name, token.series)).collect();
        Some(memory::properties(&list))
    });
    // an empty list if that failed: Score-P aborts the application on NULL
    list.unwrap_or_else(|| memory::properties(&[]))
}

fn metric_of<'a>(name: &'a str, series: &SeriesMetric) -> Metric<'a> {
    Metric {
        name,
        description: series.description,
        mode: MODE_ABSOLUTE_LAST,
        value_type: VALUE_DOUBLE,
        base: BASE_DECIMAL,
        exponent: 0,
        unit: series.unit,
    }
}

unsafe extern "C" fn add_counter(name: *mut c_char) -> i32 {
    guard("add_counter", -1, || {
        // SAFETY: Score-P passes a string that is alive during the call.
        let Some(token) = SeriesName::parse(&unsafe { token::text(name) }) else { return -1 };
        let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push(token);
        series::want(token.of);
        i32::try_from(asked.len() - 1).unwrap_or(-1)
    })
}

unsafe extern "C" fn get_all_values(id: i32, list: *mut *mut TimeValuePair) -> u64 {
    guard("get_all_values", 0, || {
        let token = {
            let asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
            usize::try_from(id).ok().and_then(|id| asked.get(id).copied())
        };
        let points = token.map(control::series).unwrap_or_default();
        let (begin, end) = (BEGIN.load(Ordering::Relaxed), END.load(Ordering::Relaxed));
        let pairs: Vec<(u64, u64)> =
            points.iter().map(|point| (point.time.max(begin).min(end), point.value.to_bits())).collect();
        let (pointer, count) = memory::pairs(&pairs);
        if list.is_null() {
            return 0;
        }
        // SAFETY: Score-P passes a place for the list, which it frees.
        unsafe { *list = pointer };
        count
    })
}

unsafe extern "C" fn synchronize(_is_responsible: bool, mode: SynchronizationMode) {
    // also after a fault: whatever was recorded before it counts
    contain("synchronize", (), || {
        if mode == SYNCHRONIZATION_MODE_END {
            run::measurement_ends();
            END.store(CLOCK.now(), Ordering::Relaxed);
        } else {
            BEGIN.store(CLOCK.now(), Ordering::Relaxed);
            run::begin();
        }
    });
}

/// Returns the plugin's table; Score-P looks this function up for `SCOREP_METRIC_PLUGINS=nccl_series_plugin`.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is Score-P's")]
pub extern "C" fn SCOREP_MetricPlugin_nccl_series_plugin_get_info() -> MetricPluginInfo {
    MetricPluginInfo {
        plugin_version: PLUGIN_VERSION,
        run_per: PER_PROCESS,
        sync: ASYNC,
        initialize: Some(initialize),
        finalize: Some(finalize),
        get_event_info: Some(get_event_info),
        add_counter: Some(add_counter),
        set_clock_function: Some(set_clock_function),
        get_all_values: Some(get_all_values),
        synchronize: Some(synchronize),
        ..MetricPluginInfo::zeroed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiling_is_on_unless_it_is_switched_off() {
        assert!([None, Some("true"), Some(""), Some("1"), Some("nonsense")].into_iter().all(is_profiling));
        assert!(!["false", "NO", "off", "0"].into_iter().any(|value| is_profiling(Some(value))));
    }

    #[test]
    fn series_are_admitted_while_there_is_room() {
        let all = || select("default", usize::MAX);
        assert_eq!(admit(all(), usize::MAX).len(), all().len());
        assert_eq!([admit(all(), 3).len(), admit(all(), 0).len()], [3, 0]);
    }

    #[test]
    fn a_name_alone_is_of_the_first_communicators_and_the_others() {
        let names = |token: &str, room| select(token, room).iter().map(SeriesName::to_string).collect::<Vec<_>>();
        let busbw = |of: &[&str]| of.iter().map(|of| format!("nccl_window_effective_busbw#{of}")).collect::<Vec<_>>();
        assert_eq!(names("nccl_window_effective_busbw", usize::MAX), busbw(&["0", "1", "2", "3", "other"]));
        assert_eq!(names("nccl_window_effective_busbw", 6), busbw(&["0", "1", "other"]));
        assert_eq!(names("nccl_window_transfer_latency", 0), ["nccl_window_transfer_latency#0"]);
        // 4 series of each communicator, and 3 of the communicators without a number
        assert_eq!([3, 21, 22, 100].map(|room| select("default", room).len()), [7, 7, 11, 19]);
        assert_eq!(names("default", 7)[3..5], ["nccl_window_effective_busbw#0", "nccl_window_transfer_rate#other"]);
    }

    #[test]
    fn tokens_select_series() {
        let names = |token: &str| select(token, 2).iter().map(SeriesName::to_string).collect::<Vec<_>>();
        assert_eq!(names("nccl_window_transfer_rate#1@2"), ["nccl_window_transfer_rate#1@2"]);
        assert_eq!(names("nccl_nvlink_sent_rate"), ["nccl_nvlink_sent_rate"]);
        assert!(names("nccl_window_effective_busbw#0@2").is_empty() && names("nccl_ops").is_empty());
        // former names still work, except for the series of one rank in every communicator
        assert_eq!(names("nccl_busbw"), names("nccl_window_effective_busbw"));
        assert!(names("nccl_transfer_rate@2").is_empty());
    }
}
