//! Metric plugin `nccl_series_plugin`: rates, latencies and times as they developed, asynchronous, at locations of their own in the
//! trace. Score-P asks once, at the end. With profiling on it drops asynchronous metrics, and each takes a location's memory from the
//! start: those that it has no room for would abort the application, so they are refused.

use crate::counters::set_clock_function;
use crate::measurement::Measurement;
use crate::memory::{self, Metric};
use crate::run;
use crate::sys::{
    ASYNC, BASE_DECIMAL, MODE_ABSOLUTE_LAST, MetricPluginInfo, MetricProperties, PER_PROCESS, PLUGIN_VERSION,
    SYNCHRONIZATION_MODE_END, SynchronizationMode, TimeValuePair, VALUE_DOUBLE,
};
use crate::token;
use common::guard::{contain, guard};
use common::metric::{self, SERIES, Series};
use common::recorder::CLOCK;
use common::{control, log, series};
use std::ffi::c_char;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError};

/// Names by the ids that Score-P got.
static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// First and last time of the measurement; a value outside would lie outside the trace.
static BEGIN: AtomicU64 = AtomicU64::new(0);
static END: AtomicU64 = AtomicU64::new(u64::MAX);

/// Locations that are left for the program's own threads, and series taken where Score-P's memory cannot be looked at.
const LEFT: usize = 4;
const FEW: usize = 10;

/// Series that Score-P has been told of so far.
static TOLD: AtomicUsize = AtomicUsize::new(0);

/// Whether a value of SCOREP_ENABLE_PROFILING leaves profiling on, as Score-P reads it.
fn is_profiling(value: Option<&str>) -> bool {
    let Some(value) = value else { return true };
    let off = ["false", "no", "off"].iter().any(|off| value.eq_ignore_ascii_case(off));
    !off && value.parse::<u64>() != Ok(0)
}

/// Says once that a profile leaves no series.
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

/// As many of the series as there is memory for, and a line about the others.
fn admit<T>(mut series: Vec<T>) -> Vec<T> {
    static ONCE: Once = Once::new();
    let room = Measurement::find().map_or(FEW, |measurement| measurement.room().saturating_sub(LEFT));
    let before = TOLD.fetch_add(series.len(), Ordering::Relaxed);
    let admitted = room.saturating_sub(before).min(series.len());
    if admitted < series.len() {
        ONCE.call_once(|| {
            log::warn(&format!(
                "SCOREP_METRIC_NCCL_SERIES_PLUGIN: {room} series are taken and no more: each needs 1 MiB of SCOREP_TOTAL_MEMORY from the \
                 start; make it larger for more"
            ));
        });
    }
    series.truncate(admitted);
    series
}

/// The series that a token names, under the names they get.
fn select(token: &str) -> Vec<(String, &'static Series)> {
    if matches!(token, "default" | "*") {
        return SERIES.iter().map(|series| (series.name.to_owned(), series)).collect();
    }
    let found = metric::series(token).map(|series| (token.to_owned(), series));
    if found.is_none() {
        let names = SERIES.map(|series| series.name);
        log::warn(&format!(
            "SCOREP_METRIC_NCCL_SERIES_PLUGIN: there is no series {token:?}; there are default, {}, and {}@P and {}@P for rank P",
            names.join(", "),
            names[0],
            names[1]
        ));
    }
    found.into_iter().collect()
}

unsafe extern "C" fn initialize() -> i32 {
    guard("initialize", (), run::prepare);
    0
}

unsafe extern "C" fn finalize() {}

fn describe<'a>((name, series): &'a (String, &'static Series)) -> Metric<'a> {
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

unsafe extern "C" fn get_event_info(token: *mut c_char) -> *mut MetricProperties {
    let list = guard("get_event_info", None, || {
        // SAFETY: Score-P passes a string that is alive during the call.
        let token = unsafe { token::text(token) };
        tell_of_profiling();
        let found = admit(select(&token));
        let list: Vec<Metric<'_>> = found.iter().map(describe).collect();
        Some(memory::properties(&list))
    });
    // an empty list is the fallback: Score-P aborts the application on NULL
    list.unwrap_or_else(|| memory::properties(&[]))
}

unsafe extern "C" fn add_counter(name: *mut c_char) -> i32 {
    guard("add_counter", -1, || {
        // SAFETY: Score-P passes a string that is alive during the call.
        let name = unsafe { token::text(name) };
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        names.push(name);
        series::want();
        i32::try_from(names.len() - 1).unwrap_or(-1)
    })
}

unsafe extern "C" fn get_all_values(id: i32, list: *mut *mut TimeValuePair) -> u64 {
    guard("get_all_values", 0, || {
        let name = {
            let names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
            usize::try_from(id).ok().and_then(|id| names.get(id).cloned())
        };
        let points = name.map(|name| control::series(&name)).unwrap_or_default();
        let (begin, end) = (BEGIN.load(Ordering::Relaxed), END.load(Ordering::Relaxed));
        let pairs: Vec<(u64, u64)> = points.iter().map(|point| (point.time.max(begin).min(end), point.value.to_bits())).collect();
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
    // what was recorded before a fault counts
    contain("synchronize", (), || {
        if mode == SYNCHRONIZATION_MODE_END {
            run::end_now();
            END.store(CLOCK.now(), Ordering::Relaxed);
        } else {
            BEGIN.store(CLOCK.now(), Ordering::Relaxed);
            run::begin();
        }
    });
}

/// What Score-P looks up for `SCOREP_METRIC_PLUGINS=nccl_series_plugin`.
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
        assert_eq!(admit(vec![(); FEW - 2]).len(), FEW - 2);
        assert_eq!([admit(vec![(); 4]).len(), admit(vec![(); 1]).len()], [2, 0]);
    }

    #[test]
    fn tokens_select_series() {
        assert_eq!(select("default").len(), SERIES.len());
        assert_eq!(select("nccl_transfer_rate@2")[0].0, "nccl_transfer_rate@2");
        assert!(select("nccl_transfer_rate@x").is_empty());
    }
}
