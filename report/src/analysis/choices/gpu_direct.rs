//! Adapters that do not read and write the memory of the GPUs.

use super::scene::{Scene, named};
use super::setting;
use super::sockets::is_socket;
use crate::answer::NcclFinding;
use crate::nccl_log::{Connection, Transport};
use std::collections::{BTreeMap, BTreeSet};

/// Connections of one GPU of a communicator on a host.
#[derive(Default)]
struct OfGpu {
    with: u64,
    without: u64,
}

/// Returns the findings: at most one.
pub(super) fn findings(scene: &Scene<'_>) -> Vec<NcclFinding> {
    let is_network = |of: &Connection| of.transport == Transport::Network && !is_socket(&of.route);
    let mut gpus: BTreeMap<(usize, u32, &str), OfGpu> = BTreeMap::new();
    let (mut with, mut without) = (0, BTreeMap::<&str, u64>::new());
    let mut users = BTreeSet::new();
    for (of, channels) in scene.sent().filter(|(of, _)| is_network(of)) {
        if scene.is_inside(of) != Some(false) {
            continue;
        }
        let (Some(process), rank) = (scene.process(of), of.of.and_then(|at| scene.log.ranks.get(at))) else { continue };
        let mut unplaced = OfGpu::default();
        let of_gpu = match rank {
            Some(rank) => gpus.entry((rank.communicator, rank.gpu, &process.host)).or_default(),
            None => &mut unplaced,
        };
        if of.is_gpu_direct {
            (with, of_gpu.with) = (with + channels, of_gpu.with + channels);
        } else {
            *without.entry(&of.route).or_default() += channels;
            of_gpu.without += channels;
            users.insert(of.process);
        }
    }
    let Some((route, connections)) = without.into_iter().max_by_key(|(_, channels)| *channels) else { return vec![] };
    // with some connections alone: is the same GPU of another node better off?
    let lacking = |of: &OfGpu| of.with == 0 && of.without > 0;
    let worse = gpus.iter().find_map(|((communicator, gpu, host), of)| {
        let like = |(key, it): (&(usize, u32, &str), &OfGpu)| {
            let is_like = (key.0, key.1) == (*communicator, *gpu) && key.2 != *host && it.without == 0;
            (is_like && it.with > 0).then(|| key.2.to_owned())
        };
        gpus.range((*communicator, *gpu, "")..)
            .take_while(|(key, _)| (key.0, key.1) == (*communicator, *gpu))
            .find_map(like)
            .filter(|_| lacking(of))
    });
    if with > 0 && worse.is_none() {
        return vec![];
    }
    let using = || users.iter().filter_map(|at| scene.log.processes.get(*at));
    // NCCL's words for no distance at all, and for the least
    let is_least = |level: &str| matches!(level, "LOC" | "0" | "PIX" | "1");
    let (hosts, host_count) = named(using().map(|process| &*process.host));
    vec![NcclFinding::NoGpuDirect {
        route: route.to_owned(),
        connections,
        hosts,
        host_count,
        alike: worse,
        setting: using().find_map(|process| setting(process, "NCCL_NET_GDR_LEVEL", is_least)),
        adapter: using().find_map(|process| process.no_gpu_direct.as_deref()).map(str::to_owned),
    }]
}
