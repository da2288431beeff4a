//! What a watcher says of a job, as types. Each finding is one line of JSON.

use serde::{Deserialize, Serialize};

/// Value of [`WatchFinding::schema`].
pub(crate) const SCHEMA: &str = "scorep-nccl finding 1";

/// A finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WatchFinding {
    /// Always [`SCHEMA`].
    pub(crate) schema: String,
    /// Time at which it was found, UTC.
    pub(crate) time: String,
    /// Name of the job, from scheduler and launcher, where there is one.
    pub(crate) job: Option<String>,
    pub(crate) change: FindingChange,
    #[serde(flatten)]
    pub(crate) subject: FindingSubject,
    /// All of it in one sentence.
    pub(crate) text: String,
}

/// Whether it lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FindingChange {
    Begins,
    Over,
    /// It was there once.
    Once,
}

/// Who or what it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum FindingSubject {
    /// A rank's own time is longer than that of its peers.
    Rank { rank: WatchedProcess, excess: Option<FindingExcess> },
    /// Most ranks of a node stand out.
    Node { host: String, ranks: Vec<WatchedProcess>, excess: Option<FindingExcess> },
    /// A link is slower than links of its kind.
    Link { from: WatchedProcess, to: WatchedProcess, rate: Option<LinkRate> },
    /// Ranks have paused once, while their peers went on.
    Pause { ranks: Vec<WatchedProcess>, seconds: f64, since: FindingSince },
    /// Something waits for ever; as `scorep-nccl hang` says.
    Hang {
        /// Length of the longest wait when it was found; `None` where the cause has none, and at the end.
        #[serde(default)]
        seconds: Option<f64>,
    },
    /// Processes are dead, stopped or write no more; as `scorep-nccl hang` says.
    Process,
    /// All processes of the job have ended.
    Job { processes: usize },
}

/// Words of all kinds.
pub(crate) const KINDS: [&str; 7] = ["rank", "node", "link", "pause", "hang", "process", "job"];

impl FindingSubject {
    /// Returns the kind's word.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Rank { .. } => "rank",
            Self::Node { .. } => "node",
            Self::Link { .. } => "link",
            Self::Pause { .. } => "pause",
            Self::Hang { .. } => "hang",
            Self::Process => "process",
            Self::Job { .. } => "job",
        }
    }
}

/// A rank's process.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct WatchedProcess {
    /// Rank in the job, or else in the communicator.
    pub(crate) rank: i64,
    /// Whether it is that in the communicator, since no launcher gives another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) of_communicator: bool,
    pub(crate) host: Option<String>,
    pub(crate) pid: u32,
}

/// Own time beyond that of peers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct FindingExcess {
    /// Seconds a window.
    pub(crate) seconds: f64,
    /// Length of a window, seconds.
    pub(crate) window: f64,
    /// Excess as a share of the window.
    pub(crate) share: f64,
    /// Largest share of the window by which the job would be faster without it.
    pub(crate) gain_at_most: f64,
    pub(crate) z: f64,
    pub(crate) peers: usize,
    pub(crate) since: FindingSince,
}

/// Begin of something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FindingSince {
    /// Id and name of the communicator.
    pub(crate) communicator: String,
    pub(crate) name: String,
    /// Number of its collectives that had ended.
    pub(crate) number: u64,
    /// Time, UTC, by the process' clock.
    pub(crate) time: String,
}

/// Rate of a link.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LinkRate {
    /// Bytes a second in the network.
    pub(crate) rate: f64,
    /// Median of the links of its kind; of fewer than five links, its usual one, by theirs.
    pub(crate) usual: f64,
    /// Number of these.
    pub(crate) links: usize,
    /// Whether both ranks are on one node.
    pub(crate) within_node: bool,
}
