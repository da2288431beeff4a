//! What ranks cost a step: the steps played again with one rank, or a group of them, as its peers are.

use super::conditions::{CauseKind, SeenCause};
use serde::{Deserialize, Serialize};

/// The ranks that are outliers, and what each costs. Times are microseconds a step, over the steps after the warm-up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stragglers {
    /// Steps that were re-enacted.
    pub steps: u64,
    /// Mean length of these steps as measured, without events.
    pub step_us: f64,
    /// Their mean length re-enacted with nothing changed; its distance from `step_us` is the model's error.
    pub reenacted_us: f64,
    /// The groups that are outliers, largest gain first. A rank that is in one is in no other.
    pub found: Vec<Straggler>,
    /// What a step gains if all of `found` are as their peers; `None` for fewer than two of them.
    pub together_us: Option<f64>,
    /// What a step gains if every rank takes the median time of its peers at every place: random differences alone.
    pub jitter_us: Option<f64>,
    /// How long a step takes if no operation takes time after the begin of its last rank: with a network without
    /// limits.
    #[serde(default)]
    pub unlimited_us: Option<f64>,
    /// Ranks that were compared: with their peers, or as stages of a pipeline with other stages.
    #[serde(default)]
    pub compared: u64,
    /// By GPU, in the order of [`super::Report::gpus`].
    pub ranks: Vec<RankOwn>,
    /// Pauses of single ranks that happened once or now and then, longest first; at most 100.
    pub events: Vec<StragglerPause>,
    /// Pauses that are in `events` or found no room there.
    pub event_count: u64,
    /// Ranks that had one.
    pub event_ranks: u64,
    /// What events cost a step in the mean, over all steps.
    pub events_us: f64,
    /// Steps in which all ranks stood at once; they are in no mean. `None` if there were none.
    #[serde(default)]
    pub stalls: Option<Stalls>,
    /// Own excess over steps and GPUs.
    pub map: ExcessMap,
}

/// What a group of ranks is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankGroup {
    /// One rank.
    #[default]
    Rank,
    /// All ranks of a node.
    Node,
    /// All ranks of a stage of a pipeline.
    Stage,
}

/// When it costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostsWhen {
    /// In all steps.
    #[default]
    Always,
    /// From this step on, counted after the warm-up.
    Since(u64),
    /// From one step to another, counted after the warm-up.
    Steps {
        /// The first one.
        from: u64,
        /// The last one.
        to: u64,
    },
    /// In some steps: their number, and the distance of two where it is always the same.
    Sometimes {
        /// Number of steps.
        steps: u64,
        /// Distance.
        every: Option<u64>,
    },
}

/// What makes a rank late, as far as the data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LateCause {
    /// Its calls come late.
    Host,
    /// Its calls are there, and the GPU is not.
    Gpu,
}

impl Straggler {
    /// Returns what a step gains at least and at most, microseconds; `None` where one figure is as good.
    pub fn range_us(&self) -> Option<[f64; 2]> {
        let (gain, least, most) = (self.gain_us?, self.gain_least_us?.max(0.0), self.gain_most_us?);
        (most - least > RANGE * gain.max(0.0)).then_some([least, most])
    }
}

impl Stragglers {
    /// Returns a time as a share of a step; 0 if no step has a length.
    pub fn of_step(&self, us: f64) -> f64 {
        if self.step_us > 0.0 { us / self.step_us } else { 0.0 }
    }
}

/// Share of a gain from which on its bounds are far apart.
const RANGE: f64 = 0.1;

/// A rank or a group of ranks that is an outlier among its peers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Straggler {
    /// What it is.
    pub group: RankGroup,
    /// Its name for people: `rank 13`, `node007`, `stage 2`.
    pub name: String,
    /// Its GPUs.
    pub gpus: Vec<usize>,
    /// Own time a step, mean of its GPUs.
    pub own_us: f64,
    /// Own time beyond that of its peers.
    pub excess_us: f64,
    /// Number of the peers that it was compared with.
    pub peers: u64,
    /// Robust z of the excess among its peers.
    pub z: f64,
    /// What a step gains if it is as its peers; `None` where the steps could not be re-enacted.
    pub gain_us: Option<f64>,
    /// What it gains at least, where own times are hidden behind waits.
    #[serde(default)]
    pub gain_least_us: Option<f64>,
    /// What it gains at most.
    #[serde(default)]
    pub gain_most_us: Option<f64>,
    /// When.
    pub when: CostsWhen,
    /// Why.
    pub why: Option<LateCause>,
    /// Share of its extra time that is known to pass after its calls have come, 0 to 1: the GPU's. `None` where less
    /// than half of the time is known.
    #[serde(default)]
    pub gpu_share: Option<f64>,
    /// In which conditions it differs from its peers, the largest effect first; empty if none was seen, `None` if its
    /// conditions or those of its peers are not known.
    #[serde(default)]
    pub causes: Option<Vec<SeenCause>>,
}

/// A GPU's own time: between its operations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RankOwn {
    /// Number of its peer group; GPUs with the same number run the same program.
    pub peers: u64,
    /// Own time, median over steps.
    pub own_us: f64,
    /// Own time beyond the median of its peers, median over steps; `None` without a peer.
    pub excess_us: Option<f64>,
    /// Robust z of the excess.
    pub z: Option<f64>,
    /// What a step gains if this GPU is as its peers; `None` where that was not re-enacted.
    pub gain_us: Option<f64>,
}

/// A pause: an own time far beyond that of its place in other steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct StragglerPause {
    /// The GPU.
    pub gpu: usize,
    /// Step, counted after the warm-up.
    pub step: u64,
    /// How much longer than usual, microseconds.
    pub excess_us: f64,
    /// How much longer the step was for it, microseconds; `None` where that was not re-enacted.
    pub cost_us: Option<f64>,
    /// What was different then, where that is known.
    #[serde(default)]
    pub cause: Option<CauseKind>,
}

/// Steps in which all ranks stood at once outside of NCCL: for data, for storage, in an evaluation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Stalls {
    /// Number of steps.
    pub steps: u64,
    /// Number of all steps after the warm-up.
    #[serde(default)]
    pub of: u64,
    /// Distance of two, where it is always the same.
    pub every: Option<u64>,
    /// How much longer than usual the rank took that took least longer, microseconds: the median of these steps.
    pub length_us: f64,
}

/// Own excess by GPU and step. Bins have equally many steps; GPUs beyond 256 are put together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ExcessMap {
    /// Steps in a bin.
    pub steps_in_bin: u64,
    /// Neighbouring GPUs in a row.
    pub gpus_in_row: u64,
    /// Largest excess of a row's GPUs over the bin's steps, microseconds, row by row; below 0 for a rank that is ahead.
    pub rows: Vec<Vec<f32>>,
}
