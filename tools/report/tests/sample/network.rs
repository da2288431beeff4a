//! The parts of the sample that are about the network: speed, pairs, and an ordinary log of NCCL.

use super::groups::{Groups, SampleCommunicator};
use super::scale::STEPS;
use report::answer::{
    LoggedChoices, LoggedRoute, Measure, NcclChoices, Pairs, PartKind, RankPair, SlowPart, Speed, SpeedRow,
};
use report::nccl_log::InitPhases;

/// Rate of the links, GB/s.
const LINK: f64 = 50.0;
/// Latency of an operation, microseconds.
const LATENCY_US: f64 = 18.0;

/// Makes a row for each function of each communicator, sorted as in a report. The tensor groups lie in a node and reach
/// more of the link than the data groups.
pub(super) fn speed(groups: &Groups) -> Speed {
    let row = |group: &SampleCommunicator, (function, bytes, number): (&str, u64, u64)| {
        let ranks = group.members.len() as f64;
        let factor = if function == "AllReduce" { 2.0 } else { 1.0 } * (ranks - 1.0) / ranks;
        let rate = if group.dimension == "TP" { 42.0 } else { 39.0 };
        let median = LATENCY_US + bytes as f64 * factor / (rate * 1e3);
        let algbw = bytes as f64 / (median * 1.02 * 1e3);
        SpeedRow {
            function: function.to_owned(),
            comm: group.id(),
            nranks: group.members.len() as i32,
            dimension: group.dimension(),
            from_bytes: bytes,
            to_bytes: bytes,
            algorithm: "RING".to_owned(),
            protocol: if bytes > 4096 { "SIMPLE" } else { "LL" }.to_owned(),
            count: number * (STEPS + 3),
            compared: number * (STEPS + 3),
            min_us: Some(median * 0.97),
            median_us: Some(median),
            p95_us: Some(median * 1.08),
            max_us: Some(median * 1.6),
            mean_us: Some(median * 1.2),
            algbw: Some(algbw),
            busbw: Some(algbw * factor),
            busbw_mean: Some(algbw * factor / 1.2),
            utilisation: Some(algbw * factor / LINK),
            ..SpeedRow::default()
        }
    };
    let rows = groups.list.iter().flat_map(|group| group.functions.iter().map(move |&function| row(group, function)));
    let mut rows: Vec<SpeedRow> = rows.collect();
    rows.sort_by(|one, other| (&one.function, &one.comm).cmp(&(&other.function, &other.comm)));
    Speed { rows, link: Some("--link-gbps 400".to_owned()), ..Speed::default() }
}

/// Makes the pairs of neighbours in the rings of all communicators but the first, and all pairs of the tensor groups.
/// The pair from rank 1 to rank 2, or the first one, is slow.
pub(super) fn pairs(groups: &Groups) -> Pairs {
    let mut rows = Vec::new();
    for group in groups.list.iter().filter(|group| group.dimension != "world") {
        let ranks = group.members.len();
        let is_pair = |from: usize, to: usize| from != to && (group.dimension == "TP" || (from + 1) % ranks == to);
        let all = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
        rows.extend(all.filter(|&(from, to)| is_pair(from, to)).map(|(from, to)| pair(groups, group, from, to)));
    }
    if let Some(slow) = rows.iter_mut().rev().find(|pair| pair.rank == 0 && pair.class != "same node") {
        spoil(slow);
    } else if let Some(slow) = rows.first_mut() {
        spoil(slow);
    }
    rows.sort_by(|one, other| (&one.comm, one.rank, one.peer).cmp(&(&other.comm, other.rank, other.peer)));
    let slow =
        rows.iter().enumerate().filter(|(_, pair)| pair.slow).map(|(place, pair)| slow_part(groups, place, pair));
    let slow = slow.collect();
    Pairs { rows, left_out: 0, slow }
}

fn slow_part(groups: &Groups, place: usize, pair: &RankPair) -> SlowPart {
    let gpus: Vec<usize> = [pair.from, pair.to].into_iter().flatten().collect();
    let (rate, median) = (pair.typical.unwrap_or_default(), pair.median.unwrap_or_default());
    SlowPart {
        kind: PartKind::Pair,
        name: gpus.iter().map(|gpu| format!("rank {gpu}")).collect::<Vec<_>>().join(" to "),
        nodes: gpus.iter().map(|&gpu| format!("node{:02}", groups.node(gpu))).collect(),
        gpus,
        inside: pair.class == "same node",
        rows: vec![place],
        pairs: 1,
        of: 1,
        rate,
        median,
        factor: median / rate,
        excess_us: None,
        gain_us: None,
    }
}

fn pair(groups: &Groups, group: &SampleCommunicator, from: usize, to: usize) -> RankPair {
    let (sender, receiver) = (group.members[from], group.members[to]);
    let nodes = [groups.node(sender), groups.node(receiver)];
    let wobble = ((sender * 7 + receiver * 13) % 10) as f64 / 10.0;
    RankPair {
        comm: group.id(),
        rank: from as i32,
        peer: to as i32,
        from: Some(sender),
        to: Some(receiver),
        class: if nodes[0] == nodes[1] { "same node" } else { "between nodes" }.to_owned(),
        transfers: 128 * STEPS,
        bytes: (128 << 19) * STEPS,
        sustained: Some(36.0 + wobble),
        typical: Some(37.0 + wobble),
        fitted: Some(39.0 + wobble),
        latency_us: Some(6.0 + wobble),
        measure: Some(Measure::Typical),
        median: Some(37.5),
        z: Some(wobble - 0.5),
        ..RankPair::default()
    }
}

/// Makes NCCL's choices of the first communicator.
pub(super) fn choices(groups: &Groups) -> NcclChoices {
    let ranks = groups.ranks as u64;
    let nodes = groups.node(groups.ranks - 1) as u32 + 1;
    let route = |route: &str, within, between| LoggedRoute { route: route.to_owned(), within, between, unknown: 0 };
    let communicator = LoggedChoices {
        name: groups.list.first().map_or_else(String::new, SampleCommunicator::id),
        comm: groups.list.first().map(SampleCommunicator::id),
        nranks: groups.ranks as u32,
        here: ranks,
        nodes: Some(nodes),
        releases: vec!["2.28.9+cuda12.9".to_owned()],
        networks: vec!["IB".to_owned()],
        routes: vec![route("NET/IB/GDRDMA", 0, 16 * u64::from(nodes)), route("P2P/CUMEM", 16 * ranks, 0)],
        channels: Some(16),
        nvls_channels: Some(16),
        p2p_channels: Some(32),
        interfaces: vec!["mlx5_0:1".to_owned()],
        mean_init: Some(InitPhases { total: 1.25, kernels: 0.5, bootstrap: 0.5, topo: 0.25, ..Default::default() }),
        slowest: Some(0),
        slowest_init: Some(InitPhases { total: 1.5, kernels: 0.5, bootstrap: 0.75, topo: 0.25, ..Default::default() }),
    };
    let counts = NcclChoices { processes: ranks, hosts: nodes.into(), lines: 900 * ranks, ..NcclChoices::default() };
    NcclChoices { communicators: vec![communicator], of_nccl: 400 * ranks, ..counts }
}

fn spoil(pair: &mut RankPair) {
    (pair.sustained, pair.typical, pair.fitted) = (Some(14.2), Some(14.8), Some(15.1));
    (pair.latency_us, pair.z, pair.slow) = (Some(21.0), Some(-9.4), true);
}
