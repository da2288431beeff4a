//! Stands for the exporters in a library that was built without them.

use crate::base::log;
use crate::config::{self, Settings};

/// Lists the settings that ask for an exporter.
fn asked(settings: &Settings) -> impl Iterator<Item = &'static str> {
    let all = [(settings.otel, "NCCL_SCOREP_OTEL=on"), (settings.prom_dir.is_some(), "NCCL_SCOREP_PROM_DIR")];
    all.into_iter().filter_map(|(is_asked, setting)| is_asked.then_some(setting))
}

/// Warns if an exporter is asked for. Called once, before the first event.
pub(crate) fn begin(settings: &Settings) {
    for setting in asked(settings) {
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
    asked(config::settings()).next().is_some()
}
