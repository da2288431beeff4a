//! Exporters: receivers of the figures, at intervals while the job runs, and once more at its end.
//!
//! Each exporter has a thread of its own, which asks the collector for the [`crate::figures::snapshot::ProcessSums`]
//! and makes [`Family`]s of them. The collector never waits for an exporter, and the job only in `last`. Exported
//! figures are sums since the start: an exporter that cannot send loses points in time, but no figures.

mod exporter;
mod families;
mod family;
mod identity;
pub(crate) mod interval;
mod network;
mod nvlink;
#[cfg(feature = "otel")]
pub(crate) mod otel;
mod peer_labels;
mod states;
#[cfg(feature = "otel")]
pub(crate) mod textfile;
mod thread;

use crate::config::Settings;
use exporter::ExporterWords;

pub(crate) use exporter::Exporter;
pub(crate) use family::{Family, Histogram, LabelledPoint, Labels, Value};
pub(crate) use identity::ProcessIdentity;

const OTLP: ExporterWords = ExporterWords {
    thread: "scorep-nccl-exp",
    how: "over OpenTelemetry",
    out: "OTEL_EXPORTER_OTLP_ENDPOINT says where to",
};
const TEXTFILE: ExporterWords = ExporterWords {
    thread: "scorep-nccl-prm",
    how: "to NCCL_SCOREP_PROM_DIR",
    out: "the directory must be there, and the job may write to it",
};

/// Starts the exporters that are asked for, or warns why they cannot start. Called once, before the first event.
pub(crate) fn begin(settings: &Settings) {
    if !settings.otel && settings.prom_dir.is_none() {
        return;
    }
    let identity = ProcessIdentity::of_process();
    let otlp = settings.otel.then(|| (OTLP, otel::exporter(&identity)));
    let textfile = settings.prom_dir.as_deref().map(|directory| (TEXTFILE, textfile::exporter(directory, &identity)));
    thread::begin(otlp.into_iter().chain(textfile), &identity, settings);
}

/// Has everything exported once more, and waits for it for at most two seconds.
pub(crate) fn last() {
    thread::last();
}

/// Returns whether an exporter that the settings ask for could not begin, or failed when it exported last.
pub(crate) fn have_failed() -> bool {
    thread::have_failed()
}
