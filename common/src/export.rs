//! Exporters: who is given the figures while the job runs, every so often, and once more at its end.
//!
//! They have a thread of their own, which asks the collector for the [`Sums`] and makes [`Family`]s of them. The collector never waits for it, and neither
//! does the job, but for `last`. What an exporter keeps is the sums since the start: one that cannot send loses points in time, no figures.

mod families;
mod identity;
mod peers;
mod sums;
mod thread;

use crate::config::Settings;

pub use families::{Family, Histogram, Labels, Point, Value};
pub use identity::Identity;
pub use sums::Sums;

/// Somebody who is given the figures.
pub trait Exporter: Send {
    /// Time between two exports.
    fn interval(&self) -> std::time::Duration;

    /// Sends or writes all families, within so much time.
    ///
    /// # Errors
    /// What went wrong, in words for a person: never a value of the environment.
    fn export(&mut self, families: &[Family], patience: std::time::Duration) -> Result<(), String>;
}

/// Starts the exporters that are asked for, or says why there are none. Called once, before the first event.
pub(crate) fn begin(settings: &Settings) {
    if settings.otel {
        thread::begin(settings);
    }
}

/// Has everything exported once more, within two seconds.
pub(crate) fn last() {
    thread::last();
}
