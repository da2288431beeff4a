//! The answer: the figures of a report, in parts. All forms of output read these and nothing else.
//!
//! Times are in nanoseconds (`_ns`) or microseconds (`_us`), rates in GB/s (10^9 bytes per second). A part that the
//! inputs cannot give is absent, with the reason.

mod budget;
mod communicators;
mod complete;
mod conditions;
mod findings;
mod late;
mod nccl;
mod pairs;
mod speed;
mod steps;
mod stragglers;
#[cfg(test)]
mod tests;
mod verdict;

pub use budget::{Breakdown, Budget, CallRates, DimensionShare, GpuBreakdown, GpuBudget, Spread};
pub use communicators::{Communicators, Dimension, Origin, ReportedCommunicator, TaggedOperations, Tags};
pub use complete::{Behind, Complete, Difference, EarlyRank, Input, MissingRanks, Unfinished, Whereabouts};
pub use conditions::{CauseKind, ConditionMap, Conditions, ProcessConditions, SeenCause};
pub use findings::{LeftOutLines, ReportedFinding, WatchFindings};
pub use late::{Late, RankLate, RankLateness, RankLaunches, WaitMap, WorstOperation};
pub use nccl::{AdapterProof, LoggedChoices, LoggedRoute, LoggedSetting, NcclChoices, NcclFinding, SocketsCause};
pub use pairs::{Measure, NetworkTransfers, OperationSends, PairStates, Pairs, PartKind, RankPair, SlowPart};
pub use speed::{SlowCommunicator, Speed, SpeedRow};
pub use steps::{
    LengthShift, PhaseWindow, Phases, Series, SeriesRow, SlowStep, StepSource, Steps, Stretch, Swim, SwimBar, SwimLane,
};
pub use stragglers::{
    CostsWhen, ExcessMap, LateCause, RankGroup, RankOwn, Stalls, Straggler, StragglerPause, Stragglers,
};
pub use verdict::{AnswerVerdict, Answers, Verdicted};

use serde::{Deserialize, Serialize};

/// Name of the report's schema.
pub const SCHEMA: &str = "scorep-nccl-report-1";

/// A part of the report, or the reason why it is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part<T> {
    /// The part.
    Known(T),
    /// Why it is absent, in one sentence for people.
    Absent(String),
}

impl<T> Part<T> {
    /// Returns the part, where it is known.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(part) => Some(part),
            Self::Absent(_) => None,
        }
    }

    /// Returns the reason for its absence.
    pub fn absent(&self) -> Option<&str> {
        match self {
            Self::Known(_) => None,
            Self::Absent(reason) => Some(reason),
        }
    }
}

/// A report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// The answers to the three questions: sentences of the parts, which the crate `present` makes.
    #[serde(default)]
    pub answers: Answers,
    /// Names of the GPUs; other parts refer to GPUs by place in this list.
    pub gpus: Vec<String>,
    /// Names of the machines of the GPUs, by GPU; empty in a report of an earlier release.
    #[serde(default)]
    pub nodes: Vec<String>,
    /// NCCL's releases, as far as they are known, each once.
    #[serde(default)]
    pub nccl: Vec<String>,
    /// Whether all is there, and how well clocks are known.
    pub complete: Complete,
    /// The steps of the job.
    pub steps: Part<Steps>,
    /// Where the time goes.
    pub budget: Part<Budget>,
    /// Windows between phases of communication.
    pub phases: Part<Phases>,
    /// What ranks cost a step.
    #[serde(default = "not_in_report")]
    pub stragglers: Part<Stragglers>,
    /// In which conditions the processes ran.
    #[serde(default = "not_in_report")]
    pub conditions: Part<Conditions>,
    /// What a watch found while the job ran.
    #[serde(default = "no_findings")]
    pub findings: Part<WatchFindings>,
    /// Who is late.
    pub late: Part<Late>,
    /// How fast operations are.
    pub speed: Part<Speed>,
    /// Transfers between pairs of ranks.
    pub pairs: Part<Pairs>,
    /// Transfers over the network by state, and those of operations.
    #[serde(default = "not_in_report")]
    pub transfers: Part<NetworkTransfers>,
    /// The communicators.
    pub communicators: Part<Communicators>,
    /// The operations by the user's tags.
    #[serde(default = "not_in_report")]
    pub tags: Part<Tags>,
    /// NCCL's own choices, by its log.
    #[serde(default = "no_log")]
    pub choices: Part<NcclChoices>,
    /// Operations that are not over.
    pub unfinished: Part<Unfinished>,
    /// Two steps in detail: a usual one and the slowest.
    pub swim: Part<Swim>,
    /// Steps and transfers over the job, for a comparison with another one.
    #[serde(default)]
    pub series: Series,
}

/// Of a report of an earlier release.
fn not_in_report<T>() -> Part<T> {
    Part::Absent(NOT_IN_REPORT.into())
}

/// Of a report of an earlier release.
fn no_findings() -> Part<WatchFindings> {
    Part::Absent(WatchFindings::NO_LOG.into())
}

const NOT_IN_REPORT: &str = "the report does not have this part.";

/// Of a report of an earlier release.
fn no_log() -> Part<NcclChoices> {
    Part::Absent(NcclChoices::NO_LOG.into())
}
