//! Names of lanes, regions and attributes, as the library writes them (docs/metrics.md, "Lanes").

/// Begin of a lane's name.
pub(super) const PREFIX: &str = "NCCL ";
/// Begin of the name of an operation's region.
const REGION: &str = "nccl";
/// End of the name of an operation without a GPU time.
const UNTIMED: &str = " (not GPU-timed)";

/// Returns communicator and rank of a lane with operations, `NCCL <communicator> rank <R>` or `... (2)`; `None` for other
/// locations, also for lanes of rank pairs.
pub(crate) fn of_name(name: &str) -> Option<(u64, i32)> {
    let mut words = name.strip_prefix(PREFIX)?.split(' ');
    let comm = words.next().filter(|comm| comm.len() == 16)?;
    words.next().filter(|&word| word == "rank")?;
    Some((u64::from_str_radix(comm, 16).ok()?, words.next()?.parse().ok()?))
}

/// Returns whether the GPU has timed the operations of a region.
pub(crate) fn is_timed(region: &str) -> bool {
    !region.ends_with(UNTIMED)
}

/// Returns the function of an operation's region, `ncclAllReduce` or `ncclAllReduce (not GPU-timed)`.
pub(crate) fn function(region: &str) -> Option<&str> {
    let name = region.strip_prefix(REGION)?;
    Some(name.strip_suffix(UNTIMED).unwrap_or(name)).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_of_operations_are_known_by_their_names() {
        assert_eq!(of_name("NCCL 5b7328aca362242b rank 3"), Some((0x5b73_28ac_a362_242b, 3)));
        assert_eq!(of_name("NCCL 5b7328aca362242b rank 12 (2)"), Some((0x5b73_28ac_a362_242b, 12)));
        for other in ["NCCL 5b7328aca362242b 0 to 1", "CUDA[0:7]", "NCCL", "NCCL zz rank 1", "Master thread"] {
            assert_eq!(of_name(other), None, "{other}");
        }
    }

    #[test]
    fn regions_have_functions() {
        assert!(is_timed("ncclSend") && !is_timed("ncclSend (not GPU-timed)"));
        assert_eq!(function("ncclAllReduce"), Some("AllReduce"));
        assert_eq!(function("ncclSend (not GPU-timed)"), Some("Send"));
        assert_eq!((function("NCCL transfers"), function("nccl"), function("main")), (None, None, None));
    }
}
