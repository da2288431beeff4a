//! Bytes that a rank sends and receives in an operation, as Score-P's MPI adapter counts those of MPI's functions: to
//! and from each rank, itself included (`SCOREP_Mpi_Coll.c`). So the sums of sent and received bytes over all ranks are
//! equal.
//!
//! They say what is exchanged, not what crosses a link: an algorithm may move more or less ([`super::nvlink`]).

use crate::event::name::{FUNCTIONS, NcclName};

/// Returns the bytes that a rank sends and receives in an operation of so many bytes, as NCCL reports them, among
/// `ranks` ranks. `None` where the number of ranks is unknown, and for functions that this library does not know.
pub fn moved(function: NcclName, bytes: u64, ranks: i32, is_root: bool) -> Option<(u64, u64)> {
    let text = FUNCTIONS.get(function.function()?).copied()?;
    match text {
        "Send" => return Some((bytes, 0)),
        "Recv" => return Some((0, bytes)),
        _ => {}
    }
    let all = bytes.saturating_mul(u64::try_from(ranks).ok().filter(|&ranks| ranks > 0)?);
    let of_root = |bytes| if is_root { bytes } else { 0 };
    match text {
        "AllReduce" | "AllGather" | "ReduceScatter" | "AlltoAll" => Some((all, all)),
        "Broadcast" | "Scatter" => Some((of_root(all), bytes)),
        "Reduce" | "Gather" => Some((bytes, of_root(all))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_sent_is_received() {
        for function in FUNCTIONS.iter().filter(|function| !["Send", "Recv"].contains(function)) {
            let name = NcclName::of_text(function);
            let moved = (0..4).map(|rank| moved(name, 10, 4, rank == 2).unwrap());
            let (sent, received) = moved.fold((0, 0), |sum, moved| (sum.0 + moved.0, sum.1 + moved.1));
            assert_eq!((sent, received), if name.has_root() { (40, 40) } else { (160, 160) }, "{function}");
        }
        let [send, receive] = ["Send", "Recv"].map(|function| moved(NcclName::of_text(function), 10, 0, false));
        assert_eq!([send, receive], [Some((10, 0)), Some((0, 10))]);
        assert_eq!(moved(NcclName::of_text("AllReduce"), 10, 0, false), None);
        assert_eq!(moved(NcclName::of_text("AllGatherV"), 10, 4, false), None);
    }
}
