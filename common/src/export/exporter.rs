//! An exporter: somebody who is given the figures.

use super::families::Family;
use std::time::Duration;

/// Somebody who is given the figures.
pub(crate) trait Exporter: Send {
    /// Time between two exports.
    fn interval(&self) -> Duration;

    /// Sends or writes all families, within so much time as far as that is in its hands.
    ///
    /// # Errors
    /// What went wrong, in words for a person: never what may be a credential.
    fn export(&mut self, families: &[Family], patience: Duration) -> Result<(), String>;
}

/// How figures leave, in the words of those lines that tell of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    /// Name of its thread.
    pub(super) thread: &'static str,
    /// Behind "exported".
    pub(super) how: &'static str,
    /// What to look at where it fails.
    pub(super) out: &'static str,
}
