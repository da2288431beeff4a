//! Lines of unknown kinds.

use super::line::UnknownCallback;

/// Lines that were skipped because their kind is not known to this version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Number of skipped lines.
    pub count: usize,
    /// `cb` and line number of the first skipped line.
    pub first: Option<(String, u32)>,
}

impl Skipped {
    pub(super) fn note(&mut self, unknown: &UnknownCallback) {
        self.count += 1;
        self.first.get_or_insert_with(|| (unknown.cb.clone(), unknown.line));
    }
}
