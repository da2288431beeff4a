//! Bytes of calls over which S and the bytes on the bus are known.

use crate::stream::{Call, CallKind};
use common::name::NcclName;
use common::operation::{bus_factor, size_factor};

/// Returns the bytes of a call that its bandwidths are proportional to: of a collective, the bytes that NCCL reports;
/// of an exchange, the bytes that the rank sends to or receives from other ranks, the larger of both.
pub fn moved(call: &Call) -> u64 {
    if call.kind == CallKind::Collective {
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
pub fn factors(kind: CallKind, function: NcclName, nranks: i32) -> (Option<f64>, Option<f64>) {
    match kind {
        CallKind::Collective => (size_factor(function, nranks), bus_factor(function, nranks)),
        CallKind::Exchange => (Some(1.0), Some(1.0)),
        CallKind::AllToAll if nranks > 1 => (Some(f64::from(nranks) / f64::from(nranks - 1)), Some(1.0)),
        CallKind::AllToAll => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sends_move_is_without_the_own_part() {
        let [reduce, all_to_all, exchange] = ["AllReduce", "AlltoAll", "Exchange"].map(NcclName::of_text);
        assert_eq!(factors(CallKind::Collective, reduce, 4), (Some(1.0), Some(1.5)));
        // by copy engine, the bytes are those for one rank; of sends, those for all others
        assert_eq!(factors(CallKind::Collective, all_to_all, 4), (Some(4.0), Some(3.0)));
        assert_eq!(factors(CallKind::AllToAll, all_to_all, 4), (Some(4.0 / 3.0), Some(1.0)));
        assert_eq!(factors(CallKind::AllToAll, all_to_all, 1), (None, None));
        assert_eq!(factors(CallKind::Exchange, exchange, 0), (Some(1.0), Some(1.0)));
    }
}
