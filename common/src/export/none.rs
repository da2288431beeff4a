//! Stands for the exporters in a library that was built without them.

use crate::base::log;
use crate::config::{self, Settings};

/// Warns if an exporter is asked for. Called once, before the first event.
pub(crate) fn begin(settings: &Settings) {
    let asked = [(settings.otel, "NCCL_SCOREP_OTEL=on"), (settings.prom_dir.is_some(), "NCCL_SCOREP_PROM_DIR")];
    for (_, setting) in asked.iter().filter(|(is_asked, _)| *is_asked) {
        log::warn(&format!(
            "{setting}: this library was built without OpenTelemetry, and nothing is exported; build it with \
             -DSCOREP_NCCL_OTEL=ON, or leave the setting out"
        ));
    }
}

/// Does nothing: there is nothing to export.
pub(crate) fn last() {}

/// Returns whether an exporter is asked for.
pub(crate) fn have_failed() -> bool {
    let settings = config::settings();
    settings.otel || settings.prom_dir.is_some()
}
