//! Strings of a capture, each kept once: tens of thousands of lines share a few dozen strings.

use std::collections::HashSet;
use std::sync::Arc;

use super::bounds;
use super::error::Problem;
use super::value::TextValue;

/// All different strings so far.
#[derive(Default)]
pub(super) struct Strings {
    kept: HashSet<Arc<str>>,
    bytes: usize,
}

impl Strings {
    /// Keeps a string that NCCL gave.
    pub(super) fn keep(
        &mut self,
        field: &'static str,
        text: Option<&TextValue<'_>>,
    ) -> Result<Option<Arc<str>>, Problem> {
        text.map(|text| self.kept(field, &text.0, bounds::STRING)).transpose()
    }

    /// Keeps the name of a communicator, which the application chose.
    pub(super) fn keep_name(&mut self, text: Option<&TextValue<'_>>) -> Result<Option<Arc<str>>, Problem> {
        text.map(|text| self.kept("name", &text.0, bounds::NAME)).transpose()
    }

    fn kept(&mut self, field: &'static str, text: &str, most: usize) -> Result<Arc<str>, Problem> {
        if let Some(kept) = self.kept.get(text) {
            return Ok(Arc::clone(kept));
        }
        if text.contains('\0') {
            return Err(Problem::Nul { field });
        }
        if text.len() > most {
            return Err(Problem::Long { field, bytes: text.len(), most });
        }
        self.bytes += text.len();
        if self.bytes > bounds::STRINGS {
            return Err(Problem::Strings);
        }
        let new: Arc<str> = Arc::from(text);
        self.kept.insert(Arc::clone(&new));
        Ok(new)
    }
}
