//! NCCL's warnings, counted.

use super::log::Warning;
use rustc_hash::FxHashMap;

/// Most different warnings that are kept.
const MOST: usize = 64;
/// Longest text, letters.
const LONGEST: usize = 200;

/// The warnings of a log.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    all: Vec<Warning>,
    places: FxHashMap<String, usize>,
}

impl Warnings {
    /// Counts a warning of a process; texts that differ in numbers are one. Returns whether there was room.
    pub(super) fn count(&mut self, process: usize, text: &str) -> bool {
        let text: String = text.chars().take(LONGEST).collect();
        let key: String = text.chars().filter(|letter| !letter.is_ascii_hexdigit()).collect();
        let at = match self.places.get(&key) {
            Some(at) => *at,
            None if self.all.len() >= MOST => return false,
            None => {
                self.places.insert(key, self.all.len());
                self.all.push(Warning { text, process, last: process, ..Warning::default() });
                self.all.len() - 1
            }
        };
        if let Some(warning) = self.all.get_mut(at) {
            warning.count += 1;
            warning.is_of_several |= warning.last != process;
            warning.last = process;
        }
        true
    }

    /// Returns the warnings, the most frequent one first.
    pub(super) fn finish(mut self) -> Vec<Warning> {
        self.all.sort_by_key(|warning| std::cmp::Reverse(warning.count));
        self.all
    }
}
