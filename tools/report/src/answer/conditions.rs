//! The conditions in which the processes ran, and those in which a rank that is an outlier differs from its peers.

use serde::{Deserialize, Serialize};

/// The conditions of the processes, by GPU and over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// Whether `rows` are over the steps after the warm-up; else over all the time that they are known of.
    pub of_steps: bool,
    /// Processes that have conditions.
    pub processes: u64,
    /// By GPU, in the order of [`super::Report::gpus`].
    pub rows: Vec<ProcessConditions>,
    /// Over the whole recording.
    pub map: ConditionMap,
}

impl Conditions {
    /// Why the part is absent where no process has conditions.
    pub const NOT_IN_INPUTS: &'static str = "the inputs have no conditions of processes (NCCL_SCOREP_CONDITIONS).";
}

/// The conditions of a GPU's process and of the GPU. Shares are of the time, 0 to 1. Those of launching threads are
/// means of the threads that ran or were ready. A figure that is not known is absent. Processes of a
/// machine share its processors and some GPUs: none of these figures says who had them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessConditions {
    /// Time that the figures are of, microseconds; `None` if nothing is known of the process in it.
    pub length_us: Option<f64>,
    /// Launching threads on a processor.
    pub running: Option<f64>,
    /// Launching threads that were ready and had no processor.
    pub waiting: Option<f64>,
    /// Launching threads that neither ran nor waited for a processor.
    pub blocked: Option<f64>,
    /// The process was not run at all.
    pub stopped: Option<f64>,
    /// A limit of a control group held its threads up, summed over processors.
    pub throttled: Option<f64>,
    /// Some task of its control group waited for memory.
    pub memory_stall: Option<f64>,
    /// The virtual machine's processors ran others.
    pub stolen: Option<f64>,
    /// Page faults with input or output, a second.
    pub major_faults: Option<f64>,
    /// Processors that a launching thread was allowed, the fewest.
    pub processors: Option<u32>,
    /// Processors among these that are near the process' GPUs, the fewest.
    pub near_gpu: Option<u32>,
    /// Clock of a launching thread's processor, mean.
    pub mhz: Option<f64>,
    /// Clock of the GPU's multiprocessors, mean.
    pub sm_mhz: Option<f64>,
    /// The least that was read.
    pub sm_mhz_least: Option<f64>,
    /// Its maximum.
    pub sm_max_mhz: Option<f64>,
    /// Share of the looks at which the limit of the power held the clock down.
    pub power_capped: Option<f64>,
    /// Share of the looks at which a temperature did.
    pub hot: Option<f64>,
    /// Share of the looks at which an external power brake did.
    pub power_brake: Option<f64>,
    /// Power, watts, mean.
    pub power_w: Option<f64>,
    /// Its limit, mean.
    pub power_limit_w: Option<f64>,
    /// Temperature, degrees Celsius, maximum.
    pub temperature_c: Option<f64>,
    /// Share of the time in which any kernel ran, also one of NCCL's that waited; per cent.
    pub use_percent: Option<f64>,
    /// Errors of the GPU, its memory and its links.
    pub errors: Option<u64>,
}

/// Conditions over the recording in bins of equal length, at most 120 of them. GPUs beyond 256 are put together. A
/// figure that no GPU has, has no rows; a bin is absent where nothing is known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ConditionMap {
    /// Length of a bin, microseconds. The first one begins with the recording.
    pub bin_us: f64,
    /// Neighbouring GPUs in a row.
    pub gpus_in_row: u64,
    /// Share of the time for which launching threads waited for a processor: the largest of a row's GPUs.
    pub waiting: Vec<Vec<Option<f32>>>,
    /// Clock of the multiprocessors as a share of its maximum: the least of a row's GPUs.
    pub sm_clock: Vec<Vec<Option<f32>>>,
    /// Power as a share of its limit: the largest of a row's GPUs.
    pub power: Vec<Vec<Option<f32>>>,
}

/// A condition of a host or a GPU that makes a rank late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CauseKind {
    /// The process was not run: SIGSTOP, a debugger, a virtual machine that was held. A share of the time.
    Stopped,
    /// A limit of its control group held its threads up. A share of the time, summed over processors: it may exceed 1.
    Throttled,
    /// Its pages were fetched again, since memory is short. Page faults with input a second.
    Memory,
    /// The virtual machine's processors ran others. A share of the time.
    Stolen,
    /// Its launching threads may run on fewer processors than those of its peers, and wait for one. A number of
    /// processors.
    Affinity,
    /// Its launching threads wait for a processor. A share of the time.
    Processor,
    /// The clock of its processor is slow, MHz.
    HostClock,
    /// Its launching threads neither run nor wait for a processor: they sleep, or wait for a lock, input or another
    /// process. A share of the time.
    Blocked,
    /// The clock of its GPU is slow, since a temperature is at its limit, MHz.
    GpuHot,
    /// The clock of its GPU is slow, since the power is at its limit, MHz.
    GpuPower,
    /// The clock of its GPU is slow, since the power supply asks for it, MHz.
    GpuBrake,
    /// The clock of its GPU is slow for another reason, MHz.
    GpuClock,
    /// Its GPU takes longer than its clock explains: it has more work, or another process, or slower memory. The clock,
    /// MHz.
    GpuWork,
}

impl CauseKind {
    /// All of them: of two that explain equally much, the earlier one makes the later one.
    pub const ALL: [Self; 13] = [
        Self::Stopped,
        Self::Throttled,
        Self::Memory,
        Self::Stolen,
        Self::Affinity,
        Self::Processor,
        Self::HostClock,
        Self::Blocked,
        Self::GpuHot,
        Self::GpuPower,
        Self::GpuBrake,
        Self::GpuClock,
        Self::GpuWork,
    ];

    /// Returns whether it is a condition of the GPU, and not of the host.
    pub fn is_of_gpu(self) -> bool {
        self >= Self::GpuHot
    }
}

/// A condition in which a rank differs from its peers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SeenCause {
    /// The condition.
    pub kind: CauseKind,
    /// How much of a step's extra time it can explain, microseconds; at most the extra time.
    pub effect_us: f64,
    /// The rank's value, in the unit of [`CauseKind`].
    pub own: f64,
    /// The median of its peers.
    pub peers: f64,
}
