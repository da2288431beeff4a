//! GPUs of one node that are connected by another way than peer-to-peer access.

use super::scene::{Placed, Scene, is_on, named, setting};
use super::sockets::{forced, is_socket};
use crate::answer::{LoggedSetting, NcclFinding};
use crate::nccl_log::{Connection, LoggedProcess, Transport};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

/// Pairs of GPUs of one finding.
#[derive(Default)]
struct Found<'a> {
    pairs: FxHashSet<(&'a str, u32, u32)>,
    hosts: BTreeSet<&'a str>,
}

/// Returns the findings: one for each way and cause.
pub(super) fn findings(scene: &Scene<'_>) -> Vec<NcclFinding> {
    let better = Better::new(scene);
    let mut found: BTreeMap<(&str, Vec<LoggedSetting>, Option<String>), Found<'_>> = BTreeMap::new();
    for placed in scene.sent().filter(|placed| placed.is_inside == Some(true)) {
        let (of, host) = (placed.of, &*placed.process.host);
        if of.transport == Transport::PeerToPeer {
            continue;
        }
        let settings = settings(placed.process, of);
        let alike = better.host(placed);
        // memory of the host is never slower than sockets inside a node
        if settings.is_empty() && alike.is_none() && !is_socket(&of.route) {
            continue;
        }
        let of_cause = found.entry((&of.route, settings, alike)).or_default();
        of_cause.pairs.insert((host, of.own[1], of.peer[1]));
        of_cause.hosts.insert(host);
    }
    let finding = |((route, settings, alike), found): ((&str, Vec<LoggedSetting>, Option<String>), Found<'_>)| {
        let (hosts, host_count) = named(found.hosts);
        let pairs = found.pairs.len() as u64;
        NcclFinding::InsideNode { route: route.to_owned(), pairs, hosts, host_count, settings, alike }
    };
    found.into_iter().map(finding).collect()
}

/// Returns whether a level of distance is below the one up to which NCCL uses peer-to-peer access by itself.
fn is_short(level: &str) -> bool {
    matches!(level, "LOC" | "NVL" | "NVB" | "C2C" | "PIX")
}

/// Returns the settings that forbid or limit ways which are better than this one.
fn settings(process: &LoggedProcess, of: &Connection) -> Vec<LoggedSetting> {
    let p2p = setting(process, "NCCL_P2P_DISABLE", is_on).or_else(|| setting(process, "NCCL_P2P_LEVEL", is_short));
    let Some(p2p) = p2p else {
        let shm = setting(process, "NCCL_SHM_DISABLE", is_on);
        return shm.filter(|_| of.transport == Transport::Network).into_iter().collect();
    };
    let mut all = vec![p2p];
    if of.transport == Transport::Network {
        all.extend(setting(process, "NCCL_SHM_DISABLE", is_on));
        all.extend(forced(process).filter(|_| is_socket(&of.route)));
    }
    all
}

/// Hosts that are kept of a pair.
const MAX_HOSTS: usize = 16;

/// Better ways between like GPUs.
struct Better<'a> {
    /// By communicator and host: the GPUs of its ranks.
    gpus: FxHashMap<(usize, &'a str), BTreeSet<u32>>,
    /// By communicator and two GPUs: hosts where these use peer-to-peer access.
    peers: FxHashMap<(usize, u32, u32), Vec<&'a str>>,
}

impl<'a> Better<'a> {
    fn new(scene: &Scene<'a>) -> Self {
        let mut gpus: FxHashMap<_, BTreeSet<u32>> = FxHashMap::default();
        for rank in &scene.log.ranks {
            if let Some(process) = scene.log.processes.get(rank.process) {
                gpus.entry((rank.communicator, &*process.host)).or_default().insert(rank.gpu);
            }
        }
        let mut peers: FxHashMap<_, Vec<&'a str>> = FxHashMap::default();
        let is_peer =
            |placed: &&Placed<'_>| placed.of.transport == Transport::PeerToPeer && placed.is_inside == Some(true);
        for Placed { of, process, rank, .. } in scene.sent().filter(is_peer) {
            let Some(rank) = rank else { continue };
            let hosts = peers.entry((rank.communicator, of.own[1], of.peer[1])).or_default();
            let is_new = hosts.len() < MAX_HOSTS && !hosts.contains(&&*process.host);
            hosts.extend(is_new.then_some(&*process.host));
        }
        Self { gpus, peers }
    }

    /// Returns a host whose same GPUs use peer-to-peer access in this connection's communicator.
    fn host(&self, placed: &Placed<'a>) -> Option<String> {
        let (of, rank, own) = (placed.of, placed.rank?, &*placed.process.host);
        let is_like = |host: &&&str| {
            let [here, there] = [own, host].map(|host| self.gpus.get(&(rank.communicator, host)));
            **host != own && here.is_some() && here == there
        };
        let hosts = self.peers.get(&(rank.communicator, of.own[1], of.peer[1]));
        hosts.and_then(|hosts| hosts.iter().find(is_like)).map(|host| (*host).to_owned())
    }
}
