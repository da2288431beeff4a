//! The strings of a recording: written in quotation marks, and read so that each is kept once. Tens of thousands of
//! lines share a few dozen strings.

use std::collections::HashSet;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use super::bounds;
use super::error::Problem;
use super::line::TextValue;

/// A string of NCCL's as the reader gives it; `None` for NULL.
pub type Text = Option<Arc<str>>;

/// The strings of NCCL's that are written, each in quotation marks, with escapes as JSON has them.
pub trait QuotedStrings<S> {
    /// Returns the string; `null` for NULL.
    fn quoted(&self, text: S) -> &str;
}

/// A string as JSON; NULL becomes null.
#[derive(Debug)]
pub struct Quoted<'a>(pub Option<&'a str>);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(text) = self.0 else { return f.write_str("null") };
        f.write_str("\"")?;
        for character in text.chars() {
            match character {
                '"' | '\\' => write!(f, "\\{character}")?,
                control if control < ' ' => write!(f, "\\u{:04x}", u32::from(control))?,
                other => write!(f, "{other}")?,
            }
        }
        f.write_str("\"")
    }
}

/// All different strings so far.
#[derive(Default)]
pub(crate) struct Strings {
    kept: HashSet<Arc<str>>,
    bytes: usize,
}

impl Strings {
    /// Keeps a string that NCCL gave.
    pub(crate) fn keep(&mut self, field: &'static str, text: Option<&TextValue<'_>>) -> Result<Text, Problem> {
        text.map(|text| self.kept(field, &text.0, bounds::STRING)).transpose()
    }

    /// Keeps the name of a communicator, which the application chose.
    pub(crate) fn keep_name(&mut self, text: Option<&TextValue<'_>>) -> Result<Text, Problem> {
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
