//! The error of inputs.

use thiserror::Error;

/// An input that cannot be read, or not further.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}{}: {cause}", .place.as_ref().map(|place| format!(", {place}")).unwrap_or_default())]
pub struct Unreadable {
    /// The file.
    pub file: String,
    /// The place in it: a line, a row group, a column.
    pub place: Option<String>,
    /// The cause, in words.
    pub cause: String,
}
