//! Intervals of processes that are no operations of NCCL: computation, and the user's regions.

/// Kernels of the computation by process: intervals on the process' clock in nanoseconds, sorted, not touching.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kernels {
    /// By place of the process; empty where a process has none.
    pub by_process: Vec<Vec<[u64; 2]>>,
}

/// The user's steps by process: begin and end of each step's region on the process' clock in nanoseconds, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepRegions {
    /// Name of the region, or of the file with the times.
    pub name: String,
    /// Whether the times are from the user's file.
    pub is_file: bool,
    /// By place of the process.
    pub by_process: Vec<Vec<[u64; 2]>>,
}
