//! Names in the tables' cells.

use crate::answer::{Origin, Report};

/// Returns the name of the GPU at a place.
pub(super) fn gpu(report: &Report, place: usize) -> Option<String> {
    report.gpus.get(place).cloned()
}

/// Returns the name of an origin.
pub(super) fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::File => "file",
        Origin::Name => "name",
        Origin::Guessed => "guessed",
        Origin::Unknown => "unknown",
    }
}
