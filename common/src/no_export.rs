//! In place of the exporters, in a library that was built without them.

use crate::config::Settings;
use crate::log;

/// Says what is missing to who asks for it. Called once, before the first event.
pub(crate) fn begin(settings: &Settings) {
    if settings.otel {
        log::warn(
            "NCCL_SCOREP_OTEL=on: this library was built without OpenTelemetry, and nothing is exported; build it with \
             -DSCOREP_NCCL_OTEL=ON, or leave the setting out",
        );
    }
}

/// There is nothing to be exported at the end either.
pub(crate) fn last() {}
