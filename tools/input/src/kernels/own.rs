//! NCCL's own kernels in a profiler's trace.

use crate::archive::nccl_kernel::Runs;

/// Where a profiler has seen a kernel: GPU and stream, as it names them. The kernels of a lane run one after the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct KernelLane(pub(crate) [i64; 2]);

/// One of NCCL's kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnKernel {
    /// The operations that it runs, by its name.
    pub(crate) runs: Runs,
    /// Where it ran.
    pub(crate) lane: KernelLane,
    /// Begin and end on the process' clock, nanoseconds.
    pub(crate) span: [u64; 2],
}
