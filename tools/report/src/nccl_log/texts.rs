//! Names and values of a log, each kept once: all ranks log the same ones.

use rustc_hash::FxHashSet;
use std::rc::Rc;

/// Longest text that is kept, bytes.
const MAX_TEXT_BYTES: usize = 200;
/// Most texts that are kept.
const MAX_TEXTS: usize = 1 << 18;

/// Texts that were kept.
#[derive(Debug, Default)]
pub(super) struct Texts(FxHashSet<Rc<str>>);

impl Texts {
    /// Returns the kept text; `None` if there is no room for it.
    pub(super) fn kept(&mut self, text: &str) -> Option<Rc<str>> {
        let end = (0..=MAX_TEXT_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end))?;
        let text = text.get(..end)?;
        if let Some(kept) = self.0.get(text) {
            return Some(kept.clone());
        }
        if self.0.len() >= MAX_TEXTS {
            return None;
        }
        let kept: Rc<str> = text.into();
        self.0.insert(kept.clone());
        Some(kept)
    }
}
