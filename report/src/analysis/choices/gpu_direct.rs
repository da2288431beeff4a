//! Adapters that do not read and write the memory of the GPUs.

use super::scene::{Placed, Scene, named};
use super::settings::setting;
use super::sockets::is_socket;
use crate::answer::NcclFinding;
use crate::nccl_log::{Connection, Side, Transport};
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
    let is_between = |placed: &&Placed<'_>| is_network(placed.of) && placed.is_inside == Some(false);
    for Placed { of, channels, process, rank, .. } in scene.connections.iter().filter(is_between) {
        // receives count, too: some machines use it in one direction alone
        with += if of.is_gpu_direct { *channels } else { 0 };
        if of.side != Side::Sends {
            continue;
        }
        if !of.is_gpu_direct {
            *without.entry(&of.route).or_default() += channels;
            users.insert(of.process);
        }
        if let Some(rank) = rank {
            let of_gpu = gpus.entry((rank.communicator, rank.gpu, &process.host)).or_default();
            *(if of.is_gpu_direct { &mut of_gpu.with } else { &mut of_gpu.without }) += channels;
        }
    }
    let Some((route, connections)) = without.into_iter().max_by_key(|(_, channels)| *channels) else { return vec![] };
    // with some connections alone: is the same GPU of another node better off?
    let lacking = |of: &OfGpu| of.with == 0 && of.without > 0;
    let worse = gpus.iter().filter(|(_, of)| lacking(of)).find_map(|(&(communicator, gpu, host), _)| {
        let of_gpu = gpus.range((communicator, gpu, "")..).take_while(|(key, _)| (key.0, key.1) == (communicator, gpu));
        let mut better = of_gpu.filter(|(key, of)| key.2 != host && of.with > 0 && of.without == 0);
        better.next().map(|(key, _)| key.2.to_owned())
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
