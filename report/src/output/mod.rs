//! Forms of a report.

pub mod perfetto;
