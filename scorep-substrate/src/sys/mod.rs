//! Declarations of Score-P's plugin interfaces: types and constants only.
//!
//! They have two forms. If Score-P is installed, bindgen generates them from its headers at build time; otherwise the
//! `plain` form is used. Both have the same names, fields and values, which the layout test compares if there are
//! headers. So the code above works with either, and a library built without Score-P works with it. Rustdoc shows the
//! plain form if it runs without the headers.
//!
//! A constant has Score-P's name without `SCOREP_METRIC_`, `SCOREP_SUBSTRATES_` or else `SCOREP_`.
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
//! | table of `get_event_functions` | plugin | nobody; used until the end |
//! | [`SubstratePluginCallbacks`] | Score-P | nobody; valid until the end |
//! | `FILE` and paths of `dump_manifest` | Score-P | Score-P; valid during the call |

pub mod measurement;

#[cfg(any(not(scorep_headers), test))]
#[allow(missing_docs, non_snake_case, reason = "the names are Score-P's; a name that says all has no comment")]
#[cfg_attr(scorep_headers, allow(unreachable_pub, dead_code, reason = "only compared with the generated form"))]
mod plain;

#[cfg(scorep_headers)]
mod generated {
    #![allow(
        missing_docs,
        unreachable_pub,
        dead_code,
        nonstandard_style,
        clippy::all,
        clippy::allow_attributes_without_reason,
        reason = "made by bindgen, read by nobody; documented in plain"
    )]
    include!(concat!(env!("OUT_DIR"), "/scorep.rs"));
}

#[cfg(test)]
#[path = "../../tests/layout/mod.rs"]
mod layout;

#[cfg(scorep_headers)]
pub use generated::*;
#[cfg(not(scorep_headers))]
pub use plain::*;

impl MetricPluginInfo {
    /// Returns a table without callbacks and with all numbers zero, to complete with `..MetricPluginInfo::zeroed()`.
    ///
    /// The reserved space has to be zero, and so has every field that only a newer Score-P knows.
    #[must_use]
    pub const fn zeroed() -> Self {
        // SAFETY: both forms of the struct consist of integers and optional function pointers, for
        // which zero is a value.
        unsafe { std::mem::zeroed() }
    }
}

impl SubstratePluginInfo {
    /// Returns a table in which everything is zero, to complete with `..SubstratePluginInfo::zeroed()`.
    ///
    /// The undeclared fields have to be zero, and so has every function that the plugin lacks.
    #[must_use]
    pub const fn zeroed() -> Self {
        // SAFETY: both forms of the struct consist of an integer and optional function pointers, for
        // which zero is a value.
        unsafe { std::mem::zeroed() }
    }
}

impl MetricProperties {
    /// Returns the entry that ends a list: Score-P stops where `name` is NULL.
    #[must_use]
    pub const fn end() -> Self {
        // SAFETY: the struct consists of integers and raw pointers, for which zero is a value.
        unsafe { std::mem::zeroed() }
    }
}
