//! The steps of the job: their lengths and transfers, windows between their phases, and two of them in detail.

use serde::{Deserialize, Serialize};

/// How the steps were found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepSource {
    /// The user's regions, by this name.
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
    /// Share of the operations after the warm-up that lie in steps, 0 to 1.
    pub covered: f64,
    /// Operations of one step, of one GPU; `None` if steps are the user's regions or times.
    pub period: Option<u64>,
    /// Micro-steps of one step, where it has several (gradient accumulation): what repeats so many times before the
    /// calls that end a step.
    #[serde(default)]
    pub micro: Option<u64>,
    /// Steps at the beginning that are warm-up: longer than twice the median, or than 1.2 times the median and 1.1
    /// times every later step. They are in no figure below.
    pub warm_up: u64,
    /// Number of steps after the warm-up.
    pub count: u64,
    /// Mean length of the steps without pauses, microseconds.
    pub mean_us: f64,
    /// Median of these.
    pub median_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// The slowest steps, slowest first.
    pub slowest: Vec<SlowStep>,
    /// Steps longer than median + 3 x 1.4826 x MAD, by number (0 is the first after the warm-up).
    pub outliers: Vec<u64>,
    /// Changes of the median of 10 steps by more than 10 %.
    pub shifts: Vec<LengthShift>,
    /// Lengths of the steps in microseconds, binned to at most 1,000 values: the longest of each bin.
    pub lengths_us: Vec<f64>,
}

/// A slow step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlowStep {
    /// Number of the step after the warm-up, from 0.
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

/// Times over the job. Lists by step have at most 512 steps, the same ones, evenly chosen at random.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Whether a time is that of a step; else it is that of one of equally long slices of the job.
    pub of_steps: bool,
    /// Rows in the order of dimension, ranks, nodes, function, size.
    pub rows: Vec<SeriesRow>,
    /// Lengths of steps after the warm-up, mean over GPUs, microseconds; empty without steps.
    #[serde(default)]
    pub lengths_us: Vec<f32>,
    /// Time with a wait under way in each of these steps, mean over GPUs, microseconds; empty where waits are unknown.
    #[serde(default)]
    pub waits_us: Vec<f32>,
    /// Time without NCCL in a step by GPU: median over steps and its standard error, microseconds; empty without steps.
    #[serde(default)]
    pub outside_us: Vec<[f32; 2]>,
}

/// Transfers of one function and size in the communicators of one dimension.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SeriesRow {
    /// Dimension, or `unknown`.
    pub dimension: String,
    /// Number of ranks of each communicator.
    pub nranks: i32,
    /// Number of nodes of each communicator; 0 where it is unknown.
    pub nnodes: i32,
    /// Function.
    pub function: String,
    /// Smallest bytes of the row.
    pub from_bytes: u64,
    /// Largest bytes of the row.
    pub to_bytes: u64,
    /// Operations that were compared: a collective once, sends and receives once for each rank.
    pub count: u64,
    /// Median transfer of a step or slice, microseconds; of at most 512 of them, evenly chosen at random.
    pub medians_us: Vec<f32>,
}

/// Phase windows by the two dimensions. A phase is consecutive operations of one dimension on a GPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// The windows.
    pub windows: Vec<PhaseWindow>,
}

/// Windows from phases of one dimension to the next phases, of another. A window is the second phase's begin minus the
/// first one's end: negative when they overlap.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseWindow {
    /// Dimension before.
    pub from: String,
    /// Dimension after.
    pub to: String,
    /// Number of windows.
    pub count: u64,
    /// Mean, microseconds.
    pub mean_us: f64,
    /// Median.
    pub median_us: f64,
    /// 95th percentile.
    pub p95_us: f64,
    /// Share of the windows that are negative, 0 to 1.
    pub negative: f64,
    /// Distribution: lower bound in microseconds and number of windows of each bin.
    pub bins: Vec<(f64, u64)>,
}

/// The calls of one step, of at most 64 GPUs and 20,000 calls, and its critical path.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Swim {
    /// Number of the step, where there are steps.
    pub step: Option<u64>,
    /// Length, microseconds.
    pub length_us: f64,
    /// Lanes by GPU and communicator.
    pub lanes: Vec<SwimLane>,
    /// Calls that found no room.
    pub left_out: u64,
    /// The critical path of all GPUs, by time; empty where it is unknown. Its stretches do not overlap.
    #[serde(default)]
    pub path: Vec<Stretch>,
    /// A step of median length, of the same GPUs; `None` if this one is, or if there are no steps.
    #[serde(default)]
    pub usual: Option<Box<Swim>>,
}

/// A lane: the calls of a GPU in a communicator.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SwimLane {
    /// GPU.
    pub gpu: usize,
    /// Communicator, 16 hexadecimal digits.
    pub comm: String,
    /// Dimension of the communicator.
    pub dimension: String,
    /// The calls by begin.
    pub bars: Vec<SwimBar>,
}

/// A call. Times are microseconds since the step's begin.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SwimBar {
    /// Function.
    pub function: String,
    /// NCCL's number, for a collective.
    pub sequence: Option<u64>,
    /// Bytes.
    pub bytes: u64,
    /// When the host enqueued it.
    pub enqueued_us: f64,
    /// The same on its process' own clock, nanoseconds: its recording and its table have this time.
    pub enqueued_ns: u64,
    /// Begin on the GPU.
    pub start_us: f64,
    /// End of the wait for other ranks.
    pub wait_until_us: Option<f64>,
    /// End.
    pub stop_us: f64,
    /// Number of its occurrence: the same for all ranks.
    pub occurrence: u64,
}

/// A stretch of the critical path. Times are microseconds since the step's begin.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    /// The GPU that the step waits for: the one that began the operation last, or that is between its operations.
    pub gpu: usize,
    /// Function of the operation; `None` between two operations of the GPU: its own time.
    pub function: Option<String>,
    /// Begin.
    pub from_us: f64,
    /// End.
    pub until_us: f64,
}
