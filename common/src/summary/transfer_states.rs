//! Times of transfers by state, and transfers of operations, from the sums of a process.

use super::{OperationTransfers, TransferStates};
use crate::sums::run_sums::{StepState, Totals, hexadecimal};

/// Returns the rows of transfers by state.
pub(super) fn states(totals: &Totals) -> Vec<TransferStates> {
    let rows = totals.states.iter().map(|(&(rank, peer, direction), sum)| {
        let microseconds = |state: StepState| sum.within(direction, state).map(|nanoseconds| nanoseconds as f64 / 1e3);
        TransferStates {
            comm: hexadecimal(rank.comm),
            rank: rank.rank,
            peer,
            direction: direction.name().into(),
            transfers: sum.steps,
            bytes: sum.bytes,
            queued_us: microseconds(StepState::Queued).unwrap_or_default(),
            gpu_us: microseconds(StepState::Gpu).unwrap_or_default(),
            peer_us: microseconds(StepState::Peer),
            network_us: microseconds(StepState::Network).unwrap_or_default(),
            flush_us: microseconds(StepState::Flush),
        }
    });
    rows.collect()
}

/// Returns the rows of operations' transfers. `scale` is the microseconds of a tick.
pub(super) fn of_operations(totals: &Totals, scale: f64) -> Vec<OperationTransfers> {
    let rows = totals.sends.iter().map(|(&(rank, is_coll, function, class), sum)| OperationTransfers {
        comm: hexadecimal(rank.comm),
        rank: rank.rank,
        kind: if is_coll { "Coll" } else { "P2p" }.into(),
        func: function.text(),
        from_bytes: 1 << class,
        operations: sum.operations,
        transfers: sum.transfers,
        bytes: sum.bytes,
        time_us: sum.ticks as f64 * scale,
    });
    rows.collect()
}
