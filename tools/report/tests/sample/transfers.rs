//! The part of the sample on transfers over the network.

use super::groups::{Groups, SampleCommunicator};
use super::network;
use report::answer::{NetworkTransfers, OperationSends, PairStates, RankPair};

/// Makes the transfers of all pairs: most of a sender's time is on the network.
pub(super) fn of(groups: &Groups) -> NetworkTransfers {
    let row = |pair: RankPair| {
        let wobble = ((pair.rank * 7 + pair.peer * 13) % 10) as f64;
        let of = |parts: [f64; 4]| Some(parts.map(|us| us * pair.transfers as f64));
        let RankPair { comm, rank, peer, from, to, transfers, .. } = pair;
        let (send_us, receive_us) = (of([30.0, 4.0 + wobble, 1.0, 12.0]), of([90.0, 20.0 + wobble, 0.5, 3.0]));
        PairStates { comm, rank, peer, from, to, sent: transfers, send_us, received: transfers, receive_us }
    };
    let sends = |group: &SampleCommunicator, (function, bytes, number): (&str, u64, u64)| {
        let transfers = number * (bytes >> 19).max(1);
        OperationSends {
            function: function.to_owned(),
            comm: group.id(),
            from_bytes: bytes,
            to_bytes: 2 * bytes - 1,
            operations: number,
            transfers,
            bytes: transfers * bytes.min(1 << 19),
            time_us: transfers as f64 * 12.0,
        }
    };
    let of_group = |group: &'_ SampleCommunicator| {
        group.functions.iter().map(|&function| sends(group, function)).collect::<Vec<_>>()
    };
    let mut operations: Vec<OperationSends> = groups.list.iter().flat_map(of_group).collect();
    operations.sort_by(|one, other| (&one.function, &one.comm).cmp(&(&other.function, &other.comm)));
    NetworkTransfers { states: network::pairs(groups).rows.into_iter().map(row).collect(), operations, left_out: 0 }
}
