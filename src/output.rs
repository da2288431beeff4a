//! Standard output, of which a person is told when nothing can be written to it.

use std::io::Write;

/// Writes all of a text.
///
/// # Errors
/// When it is full or closed: what is said of that.
pub(crate) fn write(text: impl AsRef<[u8]>) -> Result<(), String> {
    let mut output = std::io::stdout().lock();
    output.write_all(text.as_ref()).and_then(|()| output.flush()).map_err(|error| format!("standard output: {error}"))
}
