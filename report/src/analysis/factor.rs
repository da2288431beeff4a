//! Bytes on the bus, as nccl-tests define them.
//!
//! Source: <https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md>. Bus bandwidth is S x factor / time.
//! NCCL reports the size of one rank's buffer, so S of the functions that give every rank a part is n times as much.

use crate::stream::{Call, Kind};

/// Returns S x factor for a collective of `bytes` as NCCL reports them, among `n` ranks; `None` for a function without a
/// definition.
pub fn bus_bytes(function: &str, bytes: u64, n: i32) -> Option<f64> {
    let n = f64::from(Some(n).filter(|&n| n > 0)?);
    let bytes = bytes as f64;
    Some(match function {
        "AllReduce" => bytes * 2.0 * (n - 1.0) / n,
        // S is n x bytes, the factor (n - 1) / n
        "AllGather" | "ReduceScatter" | "AlltoAll" | "Gather" | "Scatter" => bytes * (n - 1.0),
        "Broadcast" | "Reduce" | "Send" | "Recv" => bytes,
        _ => return None,
    })
}

/// Returns S x factor of a call in a communicator of `n` ranks. Of an exchange: the bytes to or from other ranks, the
/// larger of both. An all-to-all of equal messages has S (n - 1) / n by that, S with the message to itself.
pub fn bus_bytes_of(call: &Call, n: i32) -> Option<f64> {
    if call.kind == Kind::Collective {
        return bus_bytes(&call.function.text(), call.bytes, n);
    }
    let sum = |is_send| {
        let others = call.messages.iter().filter(|message| message.is_send == is_send && message.peer != call.rank);
        others.map(|message| message.bytes).sum::<u64>()
    };
    Some(sum(true).max(sum(false)) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::maker;

    #[test]
    fn factors_are_those_of_nccl_tests() {
        let expected = [("AllReduce", 1500.0), ("AllGather", 3000.0), ("ReduceScatter", 3000.0), ("AlltoAll", 3000.0)];
        for (function, bytes) in expected {
            assert_eq!(bus_bytes(function, 1000, 4), Some(bytes), "{function}");
        }
        assert_eq!(bus_bytes("Broadcast", 1000, 4), Some(1000.0));
        assert_eq!((bus_bytes("AllGatherV", 1000, 4), bus_bytes("AllReduce", 1000, 0)), (None, None));
    }

    #[test]
    fn an_exchange_has_the_bytes_to_other_ranks() {
        let job = maker::job(&[(0, &[0, 1, 2, 3])]);
        let messages = [(0, true, 10), (1, true, 10), (2, true, 10), (3, true, 10), (1, false, 7)];
        let call = maker::exchange(&job, 0, 0, &messages).judged().part.call;
        assert_eq!(bus_bytes_of(&call, 4), Some(30.0));
    }
}
