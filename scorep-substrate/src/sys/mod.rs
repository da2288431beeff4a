//! Score-P's plugin interface, declared: types and constants, nothing that acts.
//!
//! Built where Score-P is installed, the declarations are made from its headers at build time;
//! elsewhere they are the hand-written ones. Both have the same names, fields and values (the tests
//! of this module compare them wherever there are headers), so no code above can tell, and a
//! library built without Score-P works with it. Rustdoc shows the hand-written ones when it is run
//! without Score-P's headers.
//!
//! Names follow one rule: a constant is called what Score-P calls it, less `SCOREP_METRIC_`.
//!
//! # Who owns what
//!
//! | memory | made by | freed by |
//! |---|---|---|
//! | [`MetricProperties`] array of `get_event_info` | plugin, with C's `malloc` | Score-P, unless it begins with the end entry |
//! | its `name`s | plugin, with C's `malloc` | Score-P |
//! | its `description`s and `unit`s | plugin | nobody |
//! | [`TimeValuePair`] list of `get_all_values` | plugin, with C's `malloc` | Score-P |
//! | `token`, `metric_name` | Score-P | Score-P; valid during the call |

#[cfg(any(not(scorep_headers), test))]
#[cfg_attr(scorep_headers, expect(unreachable_pub, reason = "only compared with the generated ones"))]
mod plain;

#[cfg(scorep_headers)]
mod generated {
    #![allow(
        missing_docs,
        unreachable_pub,
        dead_code,
        clippy::all,
        clippy::allow_attributes_without_reason,
        reason = "made by bindgen, read by nobody; documented in plain.rs"
    )]
    include!(concat!(env!("OUT_DIR"), "/scorep.rs"));
}

#[cfg(test)]
mod layout;

#[cfg(scorep_headers)]
use generated as declared;
#[cfg(not(scorep_headers))]
use plain as declared;

pub use declared::{
    ASYNC, ASYNC_EVENT, BASE_BINARY, BASE_DECIMAL, MODE_ABSOLUTE_LAST, MODE_ABSOLUTE_NEXT, MODE_ABSOLUTE_POINT,
    MODE_ACCUMULATED_LAST, MODE_ACCUMULATED_NEXT, MODE_ACCUMULATED_POINT, MODE_ACCUMULATED_START, MODE_RELATIVE_LAST,
    MODE_RELATIVE_NEXT, MODE_RELATIVE_POINT, MetricBase, MetricMode, MetricPer, MetricPluginInfo, MetricProperties,
    MetricSynchronicity, MetricValueType, ONCE, PER_HOST, PER_PROCESS, PER_THREAD, PLUGIN_VERSION, STRICTLY_SYNC, SYNC,
    SYNCHRONIZATION_MODE_BEGIN, SYNCHRONIZATION_MODE_BEGIN_MPP, SYNCHRONIZATION_MODE_END, SynchronizationMode, TimeValuePair,
    VALUE_DOUBLE, VALUE_INT64, VALUE_UINT64,
};

impl MetricPluginInfo {
    /// A table with no callback set and all numbers zero, to fill in from:
    /// `..MetricPluginInfo::zeroed()`.
    ///
    /// The reserved space has to be zero, and so has every field that only a newer Score-P knows.
    #[must_use]
    pub const fn zeroed() -> Self {
        // SAFETY: the struct holds integers and optional function pointers only, here and in the
        // headers' version of it; zero is a value of all of these.
        unsafe { std::mem::zeroed() }
    }
}

impl MetricProperties {
    /// The entry that ends a list: Score-P stops where `name` is NULL.
    #[must_use]
    pub const fn end() -> Self {
        // SAFETY: the struct holds integers and raw pointers only; zero is a value of all of these.
        unsafe { std::mem::zeroed() }
    }
}
