//! Metric plugin `nccl_series_plugin`: rates, latencies and times over the course of the run, as a token each.
//!
//! Score-P gives each asynchronous metric of a plugin a location without a name from the start, 1 MiB of its memory, and
//! drops all of them while it makes a profile. So the plugin has no metric for Score-P: it takes the tokens, and the
//! library writes the series itself when the measurement ends (`lanes::series`).
//!
//! Score-P asks for the names before there is any communicator, so `default` stands for the first communicators to
//! come.

use crate::lanes;
use crate::metrics::counters::set_clock_function;
use crate::metrics::memory;
use crate::metrics::token;
use crate::run;
use crate::sys::{ASYNC, MetricPluginInfo, MetricProperties, PER_PROCESS, PLUGIN_VERSION, TimeValuePair};
use common::guard::guard;
use common::log;
use common::metric::{self, PROCESS_SERIES, SERIES, SeriesMetric};
use common::series::{Of, SeriesName};
use std::ffi::c_char;

/// Communicators for which a name without a number stands.
const FIRST: u32 = 4;

/// Returns the series that a token names.
fn select(token: &str) -> Vec<SeriesName> {
    if matches!(token, "default" | "*") {
        return of_first(&SERIES.each_ref());
    }
    if let Some(series) = metric::series(token) {
        return of_first(&[series]);
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
        return if token.contains('@') { Vec::new() } else { of_first(&[series]) };
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

/// Returns these series of the first communicators and of the communicators without a number.
fn of_first(series: &[&'static SeriesMetric]) -> Vec<SeriesName> {
    let own = (0..FIRST)
        .flat_map(|number| series.iter().map(move |&series| SeriesName { series, of: Of::Communicator(number) }));
    let of_other = series.iter().filter(|series| series.of_other);
    own.chain(of_other.map(|&series| SeriesName { series, of: Of::Other })).collect()
}

unsafe extern "C" fn initialize() -> i32 {
    guard("initialize", (), run::prepare);
    0
}

unsafe extern "C" fn finalize() {}

unsafe extern "C" fn get_event_info(token: *mut c_char) -> *mut MetricProperties {
    guard("get_event_info", (), || {
        // SAFETY: Score-P passes a string that is alive during the call.
        let token = unsafe { token::text(token) };
        select(&token).into_iter().for_each(lanes::ask_for_series);
    });
    memory::properties(&[])
}

/// Refuses every counter: Score-P knows none.
unsafe extern "C" fn add_counter(_name: *mut c_char) -> i32 {
    -1
}

unsafe extern "C" fn get_all_values(_id: i32, _list: *mut *mut TimeValuePair) -> u64 {
    0
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
        ..MetricPluginInfo::zeroed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(token: &str) -> Vec<String> {
        select(token).iter().map(SeriesName::to_string).collect()
    }

    #[test]
    fn a_name_alone_is_of_the_first_communicators_and_the_others() {
        let busbw = ["0", "1", "2", "3", "other"].map(|of| format!("nccl_window_effective_busbw#{of}"));
        assert_eq!(names("nccl_window_effective_busbw"), busbw);
        // 4 series of each communicator, and 3 of the communicators without a number
        assert_eq!(names("default").len(), 19);
        assert_eq!(names("default")[15..17], ["nccl_window_effective_busbw#3", "nccl_window_transfer_rate#other"]);
    }

    #[test]
    fn tokens_select_series() {
        assert_eq!(names("nccl_window_transfer_rate#1@2"), ["nccl_window_transfer_rate#1@2"]);
        assert_eq!(names("nccl_nvlink_sent_rate"), ["nccl_nvlink_sent_rate"]);
        assert!(names("nccl_window_effective_busbw#0@2").is_empty() && names("nccl_ops").is_empty());
        // former names still work, except for the series of one rank in every communicator
        assert_eq!(names("nccl_busbw"), names("nccl_window_effective_busbw"));
        assert!(names("nccl_transfer_rate@2").is_empty());
    }
}
