//! In which conditions a rank that stands out differs from its peers.

use serde::{Deserialize, Serialize};

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
    /// Its launching threads may run on fewer processors than those of its peers, and wait for one. A number of processors.
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
    /// Its GPU takes longer than its clock explains: it has more work, or another process, or slower memory. The clock, MHz.
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
