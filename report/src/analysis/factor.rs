//! Bytes that cross the bus: nccl-tests' S and factor of each function.
//!
//! Source: <https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md>. NCCL reports the count of one rank
//! for an all-gather, reduce-scatter, all-to-all, gather and scatter, so S is as many times as much as there are ranks.

use crate::stream::{Call, Kind};

/// Returns nccl-tests' S of a collective over the bytes that NCCL reports. `None` where the number of ranks is unknown.
pub fn size_factor(function: &str, nranks: i32) -> Option<f64> {
    let n = f64::from(Some(nranks).filter(|&nranks| nranks > 0)?);
    Some(match function {
        "AllGather" | "ReduceScatter" | "AlltoAll" | "Gather" | "Scatter" => n,
        _ => 1.0,
    })
}

/// Returns the factor of a collective: nccl-tests' bus bandwidth is this times the bytes that NCCL reports over the
/// time.
///
/// `None` where the number of ranks is unknown, and for functions without a bus bandwidth: the root of a broadcast and
/// the senders of a reduce fill buffers and leave before others have come, so the time from the last begin to the last
/// end leaves out a part of the transfer.
pub fn bus_factor(function: &str, nranks: i32) -> Option<f64> {
    let others = f64::from(nranks - 1) / f64::from(nranks);
    let factor = match function {
        "AllReduce" => 2.0 * others,
        "AllGather" | "ReduceScatter" | "AlltoAll" | "Gather" | "Scatter" => others,
        _ => return None,
    };
    size_factor(function, nranks).map(|size| size * factor)
}

/// Returns the bytes of a call that its bandwidths are proportional to: of a collective, the bytes that NCCL reports;
/// of an exchange, the bytes that the rank sends to or receives from other ranks, the larger of both.
pub fn moved(call: &Call) -> u64 {
    if call.kind == Kind::Collective {
        return call.bytes;
    }
    let sum = |is_send: bool| -> u64 {
        let of = call.messages.iter().filter(|message| message.is_send == is_send && message.peer != call.rank);
        of.fold(0, |sum, message| sum.saturating_add(message.bytes))
    };
    sum(true).max(sum(false))
}

/// Returns S and the bytes on the bus over [`moved`], for a kind of call and a function.
///
/// What an all-to-all of sends and receives moves is S (n - 1) / n already. The factor of any other exchange is 1.
pub fn factors(kind: Kind, function: &str, nranks: i32) -> (Option<f64>, Option<f64>) {
    match kind {
        Kind::Collective => (size_factor(function, nranks), bus_factor(function, nranks)),
        Kind::Exchange => (Some(1.0), Some(1.0)),
        Kind::AllToAll if nranks > 1 => (Some(f64::from(nranks) / f64::from(nranks - 1)), Some(1.0)),
        Kind::AllToAll => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_those_of_nccl_tests() {
        assert_eq!(bus_factor("AllReduce", 4), Some(1.5));
        assert_eq!(bus_factor("AllGather", 4), Some(3.0));
        assert_eq!(bus_factor("ReduceScatter", 8), Some(7.0));
        assert_eq!(bus_factor("AlltoAll", 4), Some(3.0));
        assert_eq!(["Broadcast", "Reduce", "AllGatherV"].map(|function| bus_factor(function, 4)), [None; 3]);
        assert_eq!([0, -1].map(|nranks| bus_factor("AllReduce", nranks)), [None; 2]);
        assert_eq!(bus_factor("AllReduce", 1), Some(0.0));
        assert_eq!(factors(Kind::AllToAll, "AlltoAll", 4), (Some(4.0 / 3.0), Some(1.0)));
        assert_eq!(factors(Kind::Exchange, "Exchange", 0), (Some(1.0), Some(1.0)));
    }
}
