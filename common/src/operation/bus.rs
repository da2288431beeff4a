//! Bytes that cross the bus: nccl-tests' S and factor of each function.
//!
//! Source: <https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md>, and `GetBw` of its programs.
//!
//! NCCL reports the count that the API was called with. Of an all-gather, reduce-scatter, all-to-all, gather and scatter
//! that is the count of one rank, so S is as many times as much as there are ranks. An all-to-all, gather or scatter is
//! an operation of its own only where the copy engine does it (CeColl); NCCL reports any other one as sends and
//! receives of that count.
//!
//! The time of an operation is that of its transfer only where no rank leaves before all have come. Copies by copy
//! engine begin and end with a barrier of all ranks (`ncclMemOpSync` in NCCL's ce_coll.cc), so this holds for these
//! three, too.

use crate::event::name::{FUNCTIONS, NcclName};

/// Returns nccl-tests' S of a collective over the bytes that NCCL reports. `None` where the number of ranks `n` is
/// unknown.
pub fn size_factor(function: NcclName, n: i32) -> Option<f64> {
    let n = f64::from(Some(n).filter(|&n| n > 0)?);
    Some(if is_of_one_rank(function) { n } else { 1.0 })
}

/// Returns the bytes that nccl-tests divides by the time for its bus bandwidth, over the bytes that NCCL reports: S
/// times the function's factor, for `n` ranks.
///
/// `None` where `n` is not known, and for functions without a bus bandwidth: the root of a broadcast and the senders of
/// a reduce fill buffers and leave, so they time a copy, not a transfer.
pub fn bus_factor(function: NcclName, n: i32) -> Option<f64> {
    let size = size_factor(function, n)?;
    let others = f64::from(n - 1) / f64::from(n);
    match text(function) {
        Some("AllReduce") => Some(2.0 * others),
        _ if is_of_one_rank(function) => Some(size * others),
        _ => None,
    }
}

/// Returns the bytes for nccl-tests' bus bandwidth, see [`bus_factor`].
pub fn bus_bytes(function: NcclName, bytes: u64, n: i32) -> Option<f64> {
    bus_factor(function, n).map(|factor| bytes as f64 * factor)
}

/// Returns whether a function's count is that of one rank.
fn is_of_one_rank(function: NcclName) -> bool {
    matches!(text(function), Some("AllGather" | "ReduceScatter" | "AlltoAll" | "Gather" | "Scatter"))
}

fn text(function: NcclName) -> Option<&'static str> {
    FUNCTIONS.get(function.function()?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each rank of 4 calls the function with 1 MiB: S and bytes on the bus in MiB, as nccl-tests counts them.
    #[test]
    fn factors_are_those_of_nccl_tests() {
        let of = |function: &str| {
            let function = NcclName::of_text(function);
            (size_factor(function, 4), bus_factor(function, 4))
        };
        assert_eq!(of("AllReduce"), (Some(1.0), Some(1.5)));
        for function in ["AllGather", "ReduceScatter", "AlltoAll", "Gather", "Scatter"] {
            assert_eq!(of(function), (Some(4.0), Some(3.0)), "{function}");
        }
        for function in ["Broadcast", "Reduce", "AllGatherV", "Send"] {
            assert_eq!(of(function), (Some(1.0), None), "{function}");
        }
        let [all_reduce, all_to_all] = ["AllReduce", "AlltoAll"].map(NcclName::of_text);
        assert_eq!(bus_bytes(all_to_all, 1 << 20, 8), Some(7.0 * 1_048_576.0));
        assert_eq!([1, 0, -1].map(|n| bus_factor(all_reduce, n)), [Some(0.0), None, None]);
        assert_eq!([1, 0, -1].map(|n| size_factor(all_to_all, n)), [Some(1.0), None, None]);
    }
}
