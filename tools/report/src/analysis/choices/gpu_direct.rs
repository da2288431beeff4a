//! Adapters that do not read and write the memory of the GPUs.

use super::scene::{Placed, Scene, named, setting};
use super::sockets::is_socket;
use crate::answer::NcclFinding;
use crate::nccl_log::{Connection, Side, Transport};
use std::collections::{BTreeMap, BTreeSet};

/// A GPU of a communicator on a host.
type OwnGpu<'a> = (usize, u32, &'a str);

fn own<'a>(placed: &Placed<'a>) -> Option<OwnGpu<'a>> {
    placed.rank.map(|rank| (rank.communicator, rank.gpu, &*placed.process.host))
}

/// Returns the findings: at most one.
pub(super) fn findings(scene: &Scene<'_>) -> Vec<NcclFinding> {
    let is_network = |of: &Connection| of.transport == Transport::Network && !is_socket(&of.route);
    let is_between = |placed: &&Placed<'_>| is_network(placed.of) && placed.is_inside == Some(false);
    let between = || scene.connections.iter().filter(is_between);
    let sent = || between().filter(|placed| placed.of.side == Side::Sends);
    let mut lacking: Vec<&Placed<'_>> = sent().filter(|placed| !placed.of.is_gpu_direct).collect();
    let mut alike = None;
    // receives count, too: some machines use it in one direction alone
    if between().any(|placed| placed.of.is_gpu_direct) {
        // some GPUs may have none by their place in the machine: is the same GPU of another node better off?
        let without: BTreeSet<OwnGpu<'_>> = lacking.iter().filter_map(|placed| own(placed)).collect();
        let with: BTreeSet<OwnGpu<'_>> = sent().filter(|it| it.of.is_gpu_direct).filter_map(own).collect();
        let mut better: BTreeMap<(usize, u32), &str> = BTreeMap::new();
        for (of, gpu, host) in with.difference(&without) {
            better.entry((*of, *gpu)).or_insert(host);
        }
        let host = |placed: &Placed<'_>| {
            let own = own(placed).filter(|own| !with.contains(own))?;
            better.get(&(own.0, own.1)).map(|host| (*host).to_owned())
        };
        lacking.retain(|placed| host(placed).is_some());
        alike = lacking.first().and_then(|placed| host(placed));
    }
    let Some(first) = lacking.first() else { return vec![] };
    // NCCL's words for no distance at all, and for the least
    let is_least = |level: &str| matches!(level, "LOC" | "0" | "PIX" | "1");
    let (hosts, host_count) = named(lacking.iter().map(|placed| &*placed.process.host));
    let setting = lacking.iter().find_map(|placed| setting(placed.process, "NCCL_NET_GDR_LEVEL", is_least));
    let adapter = lacking.iter().find_map(|placed| placed.process.no_gpu_direct.as_deref());
    vec![NcclFinding::NoGpuDirect {
        route: first.of.route.to_string(),
        connections: lacking.iter().map(|placed| placed.channels).sum(),
        hosts,
        host_count,
        alike,
        setting,
        adapter: adapter.map(str::to_owned),
    }]
}
