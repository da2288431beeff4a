//! Names of NCCL's own kernels.

use common::name::NcclName;

/// Begins of NCCL's names: kernels of collectives, sends and receives, as NCCL has named them since 2.4; and those on
/// symmetric memory (`src/device/generate.py` and `src/device/symmetric/generate.py` of NCCL).
const PREFIXES: [&str; 4] = ["ncclDevKernel_", "ncclKernel_", "ncclSymkDevKernel_", "ncclSymDevKernel_"];

/// The operations that one of NCCL's kernels runs, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runs {
    /// Operations of this function; others may share the kernel.
    Function(NcclName),
    /// Sends and receives.
    Messages,
    /// The name does not say.
    Any,
}

impl Runs {
    /// Reads a kernel's name. `None` if the kernel is not NCCL's.
    pub(crate) fn of(kernel: &str) -> Option<Self> {
        let rest = PREFIXES.iter().find_map(|prefix| Some(kernel.split_once(prefix)?.1))?;
        let word = rest.split(['_', '(']).next().unwrap_or_default();
        Some(match word {
            "SendRecv" => Self::Messages,
            "AllReduce" | "AllGather" | "ReduceScatter" | "Broadcast" | "Reduce" => {
                Self::Function(NcclName::of_text(word))
            }
            // `Generic`, and those of releases to come
            _ => Self::Any,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_kernels_run() {
        let function = |name: &str| Some(Runs::Function(NcclName::of_text(name)));
        let storage = "(ncclDevKernelArgsStorage<4096ul>)";
        assert_eq!(Runs::of(&format!("ncclDevKernel_AllReduce_Sum_f32_RING_LL{storage}")), function("AllReduce"));
        assert_eq!(Runs::of(&format!("ncclDevKernel_SendRecv{storage}")), Some(Runs::Messages));
        assert_eq!(Runs::of("void ncclKernel_Reduce_RING_LL_Sum_float(ncclWorkElem)"), function("Reduce"));
        assert_eq!(Runs::of("ncclSymkDevKernel_AllGather_LLMC"), function("AllGather"));
        assert_eq!(Runs::of("ncclSymDevKernel_ReduceScatter_LD_sum_f16"), function("ReduceScatter"));
        assert_eq!(Runs::of("ncclDevKernel_Generic"), Some(Runs::Any));
        assert_eq!(Runs::of("ncclDevKernel_AllGatherV_RING_LL"), Some(Runs::Any));
        assert_eq!(Runs::of("ampere_sgemm_128x64_nn"), None);
    }
}
