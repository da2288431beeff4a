//! NCCL's callbacks below operations of the step in detail.

use super::SwimBar;
use common::run_sums::StepState;
use serde::{Deserialize, Serialize};

/// The slowest operation of each function and dimension in the step, with the callbacks below it. Times are
/// microseconds since the step's begin, as a process' clock showed them when NCCL called.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Callbacks {
    /// The operations, slowest first.
    pub operations: Vec<OperationCallbacks>,
    /// Recordings that could not be read again, a sentence each.
    pub notes: Vec<String>,
}

impl Callbacks {
    /// Why inputs other than recordings have none.
    pub const NOT_IN_INPUTS: &str = "the inputs hold no callbacks; recordings do";
}

/// An operation with the callbacks of some of its ranks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationCallbacks {
    /// Communicator, 16 hexadecimal digits.
    pub comm: String,
    /// Dimension of the communicator.
    pub dimension: String,
    /// Number of its occurrence.
    pub occurrence: u64,
    /// The ranks that began or ended last, by GPU.
    pub ranks: Vec<RankCallbacks>,
    /// Ranks of the step's lanes that are not among them.
    pub left_out: u64,
}

/// The callbacks below a rank's call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RankCallbacks {
    /// GPU.
    pub gpu: usize,
    /// The call.
    pub call: SwimBar,
    /// Its kernel channels, by begin.
    pub channels: Vec<KernelChannel>,
    /// Its proxy operations, by begin.
    pub proxies: Vec<ProxyOperation>,
    /// Kernel channels and proxy operations that found no room.
    pub left_out: u64,
}

/// A kernel channel (KernelCh), as the host learnt of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelChannel {
    /// Number of the channel.
    pub channel: u8,
    /// When NCCL reported its begin.
    pub start_us: f64,
    /// When NCCL reported its end.
    pub stop_us: Option<f64>,
}

/// A proxy operation (ProxyOp): what a proxy thread sends to, or receives from, one peer on one channel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProxyOperation {
    /// Number of the channel.
    pub channel: u8,
    /// The other rank of the communicator.
    pub peer: i32,
    /// Its GPU, where it is in the inputs.
    pub peer_gpu: Option<usize>,
    /// Whether it sends.
    pub is_send: bool,
    /// Begin.
    pub start_us: f64,
    /// End. NCCL ends proxy operations that it works on together at one time.
    pub stop_us: Option<f64>,
    /// Bytes of its steps, as far as NCCL reported them.
    pub bytes: u64,
    /// Number of its steps.
    pub steps: u64,
    /// Sums over all of its steps, microseconds, in the order of [`StepState::ALL`].
    pub sums_us: [f64; 5],
    /// The states of its first steps.
    pub states: Vec<StepPhase>,
}

/// A time in which a proxy step (ProxyStep) was in one state.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StepPhase {
    /// Number of the step.
    pub step: u32,
    /// The state.
    pub state: StepState,
    /// Begin.
    pub from_us: f64,
    /// End; that of the last known state of the operation where the step has not ended.
    pub until_us: f64,
}
