//! A file with a summary.

use crate::job::Unreadable;
use common::summary::{SCHEMA, Summary};
use std::fs;
use std::path::Path;

/// Longest file that is taken for a summary, bytes.
const MAX_FILE_BYTES: u64 = 1 << 30;

pub(super) fn read(path: &Path) -> Result<Summary, Unreadable> {
    let fail = |place: Option<String>, cause: String| Unreadable { file: path.display().to_string(), place, cause };
    let found = fs::metadata(path).map_err(|error| fail(None, error.to_string()))?;
    if found.is_dir() {
        return Err(fail(None, "it is a directory; give the files in it".into()));
    }
    if !found.is_file() || found.len() > MAX_FILE_BYTES {
        return Err(fail(None, "it is no summary: no regular file of at most 1 GiB".into()));
    }
    let bytes = fs::read(path).map_err(|error| fail(None, error.to_string()))?;
    let summary: Summary = serde_json::from_slice(&bytes).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        let cause = error.to_string();
        let cause = cause.split(" at line ").next().unwrap_or_default().to_owned();
        fail(Some(place), format!("it is no summary: {cause}"))
    })?;
    if summary.schema != SCHEMA {
        let cause =
            format!("its schema is {:?}, which this version does not know: it knows {SCHEMA:?}", summary.schema);
        return Err(fail(Some("schema".into()), cause));
    }
    if summary.processes.is_empty() {
        return Err(fail(Some("processes".into()), "it has no process".into()));
    }
    match summary.unbelievable() {
        Some((field, cause)) => Err(fail(Some(field), cause)),
        None => Ok(summary),
    }
}
