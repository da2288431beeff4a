//! A report as tests read it: its JSON, and the rows of its operations.

use crate::support::tool;
use serde_json::Value;
use std::collections::HashMap;
use std::path::PathBuf;

/// A row of the table `operations`: a call of a rank. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) occurrence: u64,
    pub(crate) communicator: String,
    pub(crate) rank: i64,
    pub(crate) function: String,
    pub(crate) kind: String,
    pub(crate) sequence: Option<u64>,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    pub(crate) source: String,
    pub(crate) enqueued: i64,
    /// Begin on the GPU.
    pub(crate) begin: Option<i64>,
    pub(crate) duration: i64,
    pub(crate) wait: Option<i64>,
    pub(crate) wait_error: i64,
    pub(crate) transfer: Option<i64>,
    pub(crate) cost: Option<i64>,
    /// The later of its launch and its GPU.
    pub(crate) later: Option<String>,
}

/// Makes a report. Returns its JSON, and the rows of its operations.
pub(crate) fn of(inputs: &[PathBuf], options: &[&str]) -> (Value, Vec<Row>) {
    let directory = tempfile::tempdir().unwrap();
    let mut command = tool::tool();
    command.arg("report").args(inputs).args(["--json", "-", "--csv"]).arg(directory.path()).args(options);
    let report = serde_json::from_str(&tool::succeed(&mut command)).unwrap();
    let text = std::fs::read_to_string(directory.path().join("operations.csv")).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let columns = lines.next().unwrap();
    // no value of these runs has a comma
    let rows = lines.map(|values| {
        assert_eq!(values.len(), columns.len());
        row(&columns.iter().copied().zip(values).collect())
    });
    (report, rows.collect())
}

fn row(values: &HashMap<&str, &str>) -> Row {
    let text = |column: &str| values[column].to_owned();
    let number = |column: &str| values[column].parse::<i64>().ok();
    let natural = |column: &str| values[column].parse::<u64>().ok();
    Row {
        occurrence: natural("occurrence").unwrap(),
        communicator: text("communicator"),
        rank: number("rank").unwrap(),
        function: text("function"),
        kind: text("kind"),
        sequence: natural("sequence"),
        messages: natural("messages").unwrap(),
        bytes: natural("bytes").unwrap(),
        source: text("source"),
        enqueued: number("enqueued_ns").unwrap(),
        begin: number("start_ns"),
        duration: number("duration_ns").unwrap(),
        wait: number("wait_ns"),
        wait_error: number("wait_error_ns").unwrap_or(0),
        transfer: number("transfer_ns"),
        cost: number("cost_ns"),
        later: Some(text("later")).filter(|later| !later.is_empty()),
    }
}
