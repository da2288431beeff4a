//! The findings of a watch: what `scorep-nccl watch --log` kept while the job ran.

use serde::{Deserialize, Serialize};

/// The findings of the log that are of the report's job, and the rest of the log in numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WatchFindings {
    /// The findings in the order of their times; a begin and its end are one row.
    pub rows: Vec<ReportedFinding>,
    /// Lines in the log, without empty ones.
    pub lines: u64,
    /// Lines that are no finding: cut, or of another program.
    pub unread: LeftOutLines,
    /// Lines that are longer than a line of a watch can be.
    pub too_long: LeftOutLines,
    /// Lines of a form that only a later version reads.
    pub newer: LeftOutLines,
    /// Lines of other jobs.
    pub of_others: LeftOutLines,
    /// Names of other jobs, the first few.
    pub others: Vec<String>,
    /// Lines after the number that is read.
    pub passed_over: LeftOutLines,
    /// Lines in `rows` of which nothing says whether they are of the report's job.
    pub unnamed: u64,
}

impl WatchFindings {
    /// Why the part is absent without a log.
    pub const NO_LOG: &'static str = "there is no log of findings (--findings FILE, of scorep-nccl watch --log FILE).";
    /// Why the part is absent with one.
    pub const NOT_READ: &'static str = "no log of findings could be read.";
}

/// Lines of the log that no row has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LeftOutLines {
    /// Number of lines.
    pub count: u64,
    /// File and line of the first one: `findings.jsonl, line 7`.
    pub first: Option<String>,
}

/// A finding. Times are of the wall clock, UTC, in the format of RFC 3339. A figure that the finding does not have is
/// absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReportedFinding {
    /// `rank`, `node`, `link`, `pause`, `hang`, `process` or `job`.
    pub kind: String,
    /// Its ranks: `rank 3`, `ranks 0-7`, `rank 3 to rank 7`; empty where the finding names none.
    pub who: String,
    /// Machines of its ranks, the first few.
    pub hosts: String,
    /// Name of the job.
    pub job: Option<String>,
    /// When it was found; absent where the log has its end alone.
    pub found: Option<String>,
    /// When it began, by the process' clock: before it was found.
    pub since: Option<String>,
    /// When it was found to be over; absent where the log has no end of it, or where it was there once.
    pub until: Option<String>,
    /// Whether it is one that lasts, and the log has no end of it.
    pub lasts: bool,
    /// Id of the communicator of which `collective` is.
    pub communicator: Option<String>,
    /// Number of the collectives that had ended when it began.
    pub collective: Option<u64>,
    /// Own time beyond that of the peers in a window, or length of a pause, microseconds.
    pub excess_us: Option<f64>,
    /// Length of a window, microseconds.
    pub window_us: Option<f64>,
    /// Excess as a share of the window, 0 to 1.
    pub share: Option<f64>,
    /// Largest share of the time that the job would gain without it, 0 to 1.
    pub gain_at_most: Option<f64>,
    /// Robust z of the excess.
    pub z: Option<f64>,
    /// Rate of a link, GB/s.
    pub rate_gb_s: Option<f64>,
    /// Median rate of the links of its kind, GB/s.
    pub usual_gb_s: Option<f64>,
    /// Number of its lines in the log: more than two where several watchers found it.
    pub lines: u64,
    /// The watch's sentence.
    pub text: String,
}

impl ReportedFinding {
    /// Returns the first time that is known of it.
    pub fn begin(&self) -> Option<&str> {
        self.since.as_deref().or(self.found.as_deref())
    }

    /// Returns whether its sentence says more than its row: one of a hang or of dead processes.
    pub fn is_cause(&self) -> bool {
        matches!(self.kind.as_str(), "hang" | "process")
    }
}
