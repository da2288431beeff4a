//! The families of transfers by state.

use super::family::{Family, LabelledPoint, Labels, Value};
use super::peer_labels::PeerLabels;
use crate::figures::snapshot::ProcessSums;
use crate::sums::run_sums::{CommunicatorRank, Direction, StateSum};
use std::collections::BTreeMap;

/// Makes the families. `labels` makes the labels of a communicator's rank that sends to a peer or, of receives, the
/// other way round; `None` stands for the peers without a label.
pub(super) fn families(
    sums: &ProcessSums,
    peers: &PeerLabels,
    labels: impl Fn(CommunicatorRank, Option<i32>, Direction) -> Labels,
) -> [Family; 2] {
    let mut by_label: BTreeMap<(CommunicatorRank, Option<i32>, Direction), StateSum> = BTreeMap::new();
    for ((rank, peer, direction), sum) in &sums.states {
        by_label.entry((*rank, peers.label(*rank, *peer), *direction)).or_default().merge(sum);
    }
    let (mut times, mut counts) = (vec![], vec![]);
    for (&(rank, peer, direction), sum) in &by_label {
        let mut of_pair = labels(rank, peer, direction);
        of_pair.push(("direction", direction.name().to_owned()));
        for (state, time) in direction.states().into_iter().zip(sum.times) {
            let labels = of_pair.iter().cloned().chain([("state", state.name().to_owned())]).collect();
            times.push(LabelledPoint { labels, value: Value::Sum(time / 1000) });
        }
        counts.push(LabelledPoint { labels: of_pair, value: Value::Sum(sum.steps) });
    }
    [
        Family::new("nccl_profiler_state_time", "us", "Times of the transfers over the network in each state", times),
        Family::new(
            "nccl_profiler_state_transfers",
            "count",
            "Transfers over the network whose states are known",
            counts,
        ),
    ]
}
