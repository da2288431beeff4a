//! Lines of kinds that this tool does not know.

use super::line::Unknown;

/// Lines that were skipped because only a newer tool knows what they say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Skipped {
    /// How many there are.
    pub(crate) count: usize,
    /// The `cb` of the first, and its line.
    pub(crate) first: Option<(String, u32)>,
}

impl Skipped {
    pub(super) fn note(&mut self, unknown: &Unknown) {
        self.count += 1;
        self.first.get_or_insert_with(|| (unknown.cb.clone(), unknown.line));
    }
}
