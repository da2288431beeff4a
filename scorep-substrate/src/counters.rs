//! Metric plugin `nccl_plugin`: the counters, strictly synchronous, so right in the trace and in the profile of one run.
//!
//! Score-P reads every counter before every enter and leave on every thread, so a read is one atomic load. The process' counters
//! live on the first thread that asks; elsewhere they are constant, lest a profile count them once a thread.

use crate::memory::{self, Metric};
use crate::sys::{
    BASE_DECIMAL, MODE_ACCUMULATED_START, MetricPluginInfo, MetricProperties, PER_THREAD, PLUGIN_VERSION, STRICTLY_SYNC,
    SYNCHRONIZATION_MODE_END, SynchronizationMode, VALUE_UINT64,
};
use crate::token;
use crate::{ending, host_regions};
use common::guard::guard;
use common::metric::{Counter, Fixed, Owner, counters};
use common::recorder::CLOCK;
use common::thread::ThreadCell;
use common::{board, log};
use std::ffi::c_char;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Low bits of an id: which counter. Above: the thread's number.
const COUNTER_BITS: u32 = 8;
/// The counter that stays 0.
const CONSTANT: usize = (1 << COUNTER_BITS) - 1;
/// No thread has asked yet.
const NOBODY: usize = usize::MAX;

/// The thread on whose location the process' counters are shown.
static FIRST: AtomicUsize = AtomicUsize::new(NOBODY);

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

/// The counters that a token names: one, or with `default` and `*` those that every run has (Score-P 8.4 reads a longer list
/// after it has freed it).
fn select(token: &str) -> &'static [Counter] {
    let general = &counters()[..=Fixed::ApiTime as usize];
    match token {
        "default" | "*" => general,
        name => match find(name) {
            Some(place) => &counters()[place..=place],
            None => {
                let names: Vec<&str> = counters().iter().map(|counter| counter.name.as_str()).collect();
                log::warn(&format!(
                    "SCOREP_METRIC_NCCL_PLUGIN: there is no counter {name:?}; there are default, {}",
                    names.join(", ")
                ));
                &[]
            }
        },
    }
}

unsafe extern "C" fn initialize() -> i32 {
    guard("initialize", (), ending::prepare);
    0
}

unsafe extern "C" fn finalize() {}

unsafe extern "C" fn get_event_info(token: *mut c_char) -> *mut MetricProperties {
    let list = guard("get_event_info", None, || {
        // SAFETY: Score-P passes a string that is alive during the call.
        let token = unsafe { token::text(token) };
        let list: Vec<Metric<'_>> = select(&token).iter().map(describe).collect();
        Some(memory::properties(&list))
    });
    // an empty list is the fallback: Score-P aborts the application on NULL
    list.unwrap_or_else(|| memory::properties(&[]))
}

unsafe extern "C" fn add_counter(name: *mut c_char) -> i32 {
    // never negative: Score-P aborts the application when a strictly synchronous counter is refused
    guard("add_counter", CONSTANT as i32, || {
        // SAFETY: Score-P passes a string that is alive during the call.
        let name = unsafe { token::text(name) };
        host_regions::know_thread();
        let thread = ThreadCell::current().map(|(_, number)| number);
        let (Some(place), Some(thread)) = (find(&name), thread) else { return CONSTANT as i32 };
        let first = FIRST.compare_exchange(NOBODY, thread, Ordering::Relaxed, Ordering::Relaxed).unwrap_or_else(|first| first);
        let is_shown = counters()[place].owner == Owner::Thread || first == NOBODY || first == thread;
        let counter = if is_shown { place } else { CONSTANT };
        i32::try_from(thread << COUNTER_BITS | counter).unwrap_or(CONSTANT as i32)
    })
}

unsafe extern "C" fn get_current_value(id: i32) -> u64 {
    let id = usize::try_from(id).unwrap_or(CONSTANT);
    let of_thread = |read: fn(&ThreadCell) -> u64| ThreadCell::get(id >> COUNTER_BITS).map_or(0, read);
    const ENQUEUED_OPS: usize = Fixed::EnqueuedOps as usize;
    const ENQUEUED_BYTES: usize = Fixed::EnqueuedBytes as usize;
    const API_TIME: usize = Fixed::ApiTime as usize;
    match id & CONSTANT {
        ENQUEUED_OPS => of_thread(|cell| cell.enqueued_ops.get()),
        ENQUEUED_BYTES => of_thread(|cell| cell.enqueued_bytes.get()),
        API_TIME => of_thread(|cell| cell.api_time.get()),
        counter => board::read(counter),
    }
}

/// Takes Score-P's clock.
pub(crate) unsafe extern "C" fn set_clock_function(function: Option<unsafe extern "C" fn() -> u64>) {
    guard("set_clock_function", (), || {
        if let Some(function) = function {
            CLOCK.set_function(function);
        }
    });
}

unsafe extern "C" fn synchronize(_is_responsible: bool, mode: SynchronizationMode) {
    guard("synchronize", (), || {
        if mode == SYNCHRONIZATION_MODE_END {
            ending::end_now();
        } else {
            CLOCK.mark();
            host_regions::begin();
        }
    });
}

/// What Score-P looks up for `SCOREP_METRIC_PLUGINS=nccl_plugin`.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is Score-P's")]
pub extern "C" fn SCOREP_MetricPlugin_nccl_plugin_get_info() -> MetricPluginInfo {
    MetricPluginInfo {
        plugin_version: PLUGIN_VERSION,
        run_per: PER_THREAD,
        sync: STRICTLY_SYNC,
        initialize: Some(initialize),
        finalize: Some(finalize),
        get_event_info: Some(get_event_info),
        add_counter: Some(add_counter),
        get_current_value: Some(get_current_value),
        set_clock_function: Some(set_clock_function),
        synchronize: Some(synchronize),
        ..MetricPluginInfo::zeroed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_select_counters() {
        assert_eq!(select("nccl_bytes").len(), 1);
        assert_eq!(select("nccl_allreduce_time")[0].unit, c"ns");
        assert!(select("default").len() <= 20);
        assert!(select("no such").is_empty());
    }

    #[test]
    fn the_processs_counters_are_shown_on_one_thread() {
        let add = |name: &std::ffi::CStr| {
            // SAFETY: a string that outlives the call.
            unsafe { add_counter(name.as_ptr().cast_mut()) }
        };
        let here = add(c"nccl_ops");
        let there = std::thread::spawn(move || add(c"nccl_ops")).join().unwrap();
        board::add(Fixed::Ops as usize, 3);
        let shown = [here, there].map(|id| {
            // SAFETY: takes any number.
            unsafe { get_current_value(id) }
        });
        assert!(shown == [3, 0] || shown == [0, 3], "{shown:?}");
        assert!(add(c"no such") >= 0);
    }

    #[test]
    fn ids_that_nobody_gave_read_as_zero() {
        for id in [-1, i32::MIN, i32::MAX, 255, 255 << COUNTER_BITS | 200] {
            // SAFETY: takes any number.
            assert_eq!(unsafe { get_current_value(id) }, 0, "{id}");
        }
    }
}
