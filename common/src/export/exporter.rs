//! An exporter: a receiver of the figures.

use super::family::Family;
use std::time::Duration;

/// A receiver of the figures.
pub(crate) trait Exporter: Send {
    /// Time between two exports.
    fn interval(&self) -> Duration;

    /// Sends or writes all families, within `patience` as far as the exporter can bound it.
    ///
    /// # Errors
    /// What went wrong, in words for people. The text never contains what may be a credential.
    fn export(&mut self, families: &[Family], patience: Duration) -> Result<(), String>;
}

/// The words about an exporter in log lines, and the name of its thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExporterWords {
    /// Name of the thread.
    pub(super) thread: &'static str,
    /// The way of export, behind the word "exported".
    pub(super) how: &'static str,
    /// Advice for when the export fails.
    pub(super) out: &'static str,
}
