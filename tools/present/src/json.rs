//! The report as JSON.

use report::answer::Report;

/// Writes the report as indented JSON, with a line end. `answer::SCHEMA` names its fields' meaning.
///
/// # Errors
/// None for the numbers of a report, which are finite.
pub fn text(report: &Report) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(report)? + "\n")
}
