//! The steps of the job.

use serde::{Deserialize, Serialize};

/// How the steps were found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepSource {
    /// Regions of the user's, by this name.
    Region(String),
    /// Times from the user's file.
    File(String),
    /// Exact repetition of communicator, function, count, type and peer.
    Repetition,
    /// The same without counts.
    RepetitionWithoutCounts,
}

/// The steps. A step's length is from its first operation's begin to the next step's, of each GPU; the last one's is to
/// the end of its own last operation. The job's step is the mean over its GPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Steps {
    /// How they were found.
    pub source: StepSource,
    /// Share of the operations behind the warm-up that lie in steps, 0 to 1.
    pub covered: f64,
    /// Operations of one step, of one GPU; `None` if steps are regions or times of the user's.
    pub period: Option<u64>,
    /// Micro-steps of one step, where it has several (gradient accumulation): what repeats so many times before the
    /// calls that end a step.
    #[serde(default)]
    pub micro: Option<u64>,
    /// Steps at the beginning that are warm-up: longer than twice the median, or than 1.2 times the median and 1.1
    /// times every later step. They are in no figure below.
    pub warm_up: u64,
    /// Number of steps behind the warm-up.
    pub count: u64,
    /// Mean length of the steps without pauses, microseconds.
    pub mean_us: f64,
    /// Median of these.
    pub median_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// The slowest steps, slowest first.
    pub slowest: Vec<SlowStep>,
    /// Steps longer than median + 3 x 1.4826 x MAD, by number (0 is the first behind the warm-up).
    pub outliers: Vec<u64>,
    /// Changes of the median of 10 steps by more than 10 %.
    pub shifts: Vec<LengthShift>,
    /// Lengths of the steps in microseconds, binned to at most 1,000 values: the longest of each bin.
    pub lengths_us: Vec<f64>,
}

/// A slow step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlowStep {
    /// Number of the step behind the warm-up, from 0.
    pub step: u64,
    /// Length, microseconds.
    pub length_us: f64,
    /// Mean over GPUs of the time that they waited in NCCL, microseconds; `None` where waits are unknown.
    pub wait_us: Option<f64>,
    /// GPU that most of the waiting was for, and the function in which it was late.
    pub waited_for: Option<(usize, String)>,
    /// The others' waits for that GPU in this step, microseconds.
    pub cost_us: Option<f64>,
}

/// A change of the steps' length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LengthShift {
    /// First step of the new length.
    pub step: u64,
    /// Median of the 10 steps before, microseconds.
    pub from_us: f64,
    /// Median of the 10 steps from it on.
    pub to_us: f64,
}
