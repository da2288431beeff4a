//! The callbacks of one operation as a sequence diagram: a lane for each thread and for the plugin, an arrow for each
//! callback, in the order of time.
//!
//! A recording is read twice: for the operation and the threads, and for the callbacks. Memory grows with the number of
//! API calls and with the callbacks of the one operation. Callbacks that repeat each other share an arrow, so the
//! diagram has no more arrows than an operation has kinds of callbacks.
//!
//! ```text
//! wanted ──► chosen: its handle and its ancestors ──► gathering: arrows ──► text, svg
//!            threads: their roles ────────────────────────────────────────┘
//! ```

mod arrow;
mod chosen;
mod diagram;
mod gathering;
mod kinds;
mod svg;
mod text;
mod threads;
mod wanted;

use diagram::SequenceDiagram;
use present::output::leftovers;
use std::fs;
use std::path::Path;

pub(crate) use wanted::WantedOperation;

/// Returns the sequence diagram of an operation as text, and draws it into a file, if there is a name for one.
///
/// # Errors
/// In words: when the recording cannot be read or has no such operation, and when the file cannot be written.
pub(crate) fn draw(recording: &Path, wanted: &WantedOperation, drawing: Option<&Path>) -> Result<String, String> {
    let said = |error: recording::RecordingError| error.to_string();
    let (meta, contents) = recording::contents(recording).map_err(said)?;
    let pid = meta.pid;
    let found = chosen::find(wanted, contents).map_err(said)?;
    let chosen = found.chosen.ok_or_else(|| {
        format!("{}: it has no {wanted}; {}: name one of these", recording.display(), found.operations.text())
    })?;
    let (_, contents) = recording::contents(recording).map_err(said)?;
    let arrows = gathering::arrows(&chosen, pid, contents).map_err(said)?;
    let diagram = SequenceDiagram::new(&chosen, arrows, &found.threads);
    if let Some(path) = drawing {
        let picture = svg::drawn(&diagram);
        leftovers::undisturbed(|| fs::write(path, picture)).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(text::text(&diagram))
}
