//! What a watcher says of a job, as types. Each finding is one line of JSON.

use serde::{Deserialize, Serialize};

/// Value of [`WatchFinding::schema`].
pub const SCHEMA: &str = "scorep-nccl finding 1";

/// A finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WatchFinding {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Time at which it was found, UTC.
    pub time: String,
    /// Name of the job, from scheduler and launcher, where there is one.
    pub job: Option<String>,
    /// Whether it begins or is over.
    pub change: FindingChange,
    /// Whom or which part it names.
    #[serde(flatten)]
    pub subject: FindingSubject,
    /// All of it in one sentence.
    pub text: String,
}

/// Whether it lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingChange {
    /// It begins.
    Begins,
    /// It is over.
    Over,
    /// It was there once.
    Once,
}

/// Who or what it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FindingSubject {
    /// A rank's own time is longer than that of its peers.
    Rank {
        /// The rank.
        rank: WatchedProcess,
        /// Its time beyond that of its peers, where it is known.
        excess: Option<FindingExcess>,
    },
    /// Most ranks of a node stand out.
    Node {
        /// The node.
        host: String,
        /// The ranks that stand out there.
        ranks: Vec<WatchedProcess>,
        /// Their time beyond that of their peers, where it is known.
        excess: Option<FindingExcess>,
    },
    /// A link is slower than links of its kind.
    Link {
        /// The sender.
        from: WatchedProcess,
        /// The receiver.
        to: WatchedProcess,
        /// Its rate, where it is known.
        rate: Option<LinkRate>,
    },
    /// Ranks have paused once, while their peers went on.
    Pause {
        /// The ranks that paused.
        ranks: Vec<WatchedProcess>,
        /// Length of the pause.
        seconds: f64,
        /// When it began.
        since: FindingSince,
    },
    /// Something waits for ever; as `scorep-nccl hang` says.
    Hang {
        /// Length of the longest wait when it was found; `None` where the cause has none, and at the end.
        #[serde(default)]
        seconds: Option<f64>,
    },
    /// Processes are dead, stopped or write no more; as `scorep-nccl hang` says.
    Process,
    /// All processes of the job have ended.
    Job {
        /// Number of processes.
        processes: usize,
    },
}

/// Words of all kinds.
pub(crate) const KINDS: [&str; 7] = ["rank", "node", "link", "pause", "hang", "process", "job"];

impl FindingSubject {
    /// Returns the kind's word.
    pub fn kind(&self) -> &'static str {
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
pub struct WatchedProcess {
    /// Rank in the job, or else in the communicator.
    pub rank: i64,
    /// Whether it is that in the communicator, since no launcher gives another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) of_communicator: bool,
    /// Its node.
    pub host: Option<String>,
    pub(crate) pid: u32,
}

/// Own time beyond that of peers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FindingExcess {
    /// Seconds a window.
    pub seconds: f64,
    /// Length of a window, seconds.
    pub window: f64,
    /// Excess as a share of the window.
    pub share: f64,
    /// Largest share of the window by which the job would be faster without it.
    pub gain_at_most: f64,
    /// Robust z among its peers.
    pub z: f64,
    pub(crate) peers: usize,
    /// When it began.
    pub since: FindingSince,
}

/// Begin of something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingSince {
    /// Id and name of the communicator.
    pub communicator: String,
    pub(crate) name: String,
    /// Number of its collectives that had ended.
    pub number: u64,
    /// Time, UTC, by the process' clock.
    pub time: String,
}

/// Rate of a link.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkRate {
    /// Bytes a second in the network.
    pub rate: f64,
    /// Median of the links of its kind; of fewer than five links, its usual one, by theirs.
    pub usual: f64,
    /// Number of these.
    pub(crate) links: usize,
    /// Whether both ranks are on one node.
    pub(crate) within_node: bool,
}
