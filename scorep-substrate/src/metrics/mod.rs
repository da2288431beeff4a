//! The metric plugins: counters and series.

pub mod counters;
pub(crate) mod ids;
pub(crate) mod memory;
pub mod series;
pub(crate) mod token;
