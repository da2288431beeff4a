//! GPUs of one node that are connected by another way than peer-to-peer access.

use super::scene::{Scene, named};
use super::sockets::{forced, is_socket};
use super::{is_on, setting};
use crate::answer::{BetterWay, LoggedSetting, NcclFinding};
use crate::job::Job;
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
    let better = Better::of(scene);
    let mut found: BTreeMap<(&str, Vec<LoggedSetting>, Option<BetterWay>), Found<'_>> = BTreeMap::new();
    for (of, _) in scene.sent() {
        let Some(process) = scene.process(of).filter(|_| of.transport != Transport::PeerToPeer) else { continue };
        if scene.is_inside(of) != Some(true) {
            continue;
        }
        let settings = settings(process, of);
        let better = better.way(scene, of);
        // memory of the host is never slower than sockets inside a node
        if settings.is_empty() && better.is_none() && !is_socket(&of.route) {
            continue;
        }
        let of_cause = found.entry((&of.route, settings, better)).or_default();
        of_cause.pairs.insert((&process.host, of.own[1], of.peer[1]));
        of_cause.hosts.insert(&process.host);
    }
    let finding = |((route, settings, better), found): ((&str, Vec<LoggedSetting>, Option<BetterWay>), Found<'_>)| {
        let (hosts, host_count) = named(found.hosts);
        let pairs = found.pairs.len() as u64;
        NcclFinding::InsideNode { route: route.to_owned(), pairs, hosts, host_count, settings, better }
    };
    found.into_iter().map(finding).collect()
}

/// Returns the settings that forbid or limit ways which are better than this one.
fn settings(process: &LoggedProcess, of: &Connection) -> Vec<LoggedSetting> {
    let p2p = setting(process, "NCCL_P2P_DISABLE", is_on).or_else(|| setting(process, "NCCL_P2P_LEVEL", |_| true));
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
const HOSTS: usize = 16;

/// Better ways between like GPUs.
struct Better<'a> {
    /// By communicator and host: the GPUs of its ranks.
    gpus: FxHashMap<(usize, &'a str), BTreeSet<u32>>,
    /// By communicator and two GPUs: hosts where these use peer-to-peer access.
    peers: FxHashMap<(usize, u32, u32), Vec<&'a str>>,
}

impl<'a> Better<'a> {
    fn of(scene: &Scene<'a>) -> Self {
        let mut gpus: FxHashMap<_, BTreeSet<u32>> = FxHashMap::default();
        for rank in &scene.log.ranks {
            if let Some(process) = scene.log.processes.get(rank.process) {
                gpus.entry((rank.communicator, &*process.host)).or_default().insert(rank.gpu);
            }
        }
        let mut peers: FxHashMap<_, Vec<&'a str>> = FxHashMap::default();
        for (of, _) in scene.sent().filter(|(of, _)| of.transport == Transport::PeerToPeer) {
            let rank = of.of.and_then(|at| scene.log.ranks.get(at));
            let Some((rank, process)) = rank.zip(scene.process(of)) else { continue };
            if scene.is_inside(of) == Some(true) {
                let hosts = peers.entry((rank.communicator, of.own[1], of.peer[1])).or_default();
                let is_new = hosts.len() < HOSTS && !hosts.contains(&&*process.host);
                hosts.extend(is_new.then_some(&*process.host));
            }
        }
        Self { gpus, peers }
    }

    /// Returns why there is a better way than this connection's, if that is known.
    fn way(&self, scene: &Scene<'a>, of: &Connection) -> Option<BetterWay> {
        let rank = scene.log.ranks.get(of.of?)?;
        let own = &*scene.process(of)?.host;
        let is_like = |host: &&&str| {
            let [here, there] = [own, host].map(|host| self.gpus.get(&(rank.communicator, host)));
            **host != own && here.is_some() && here == there
        };
        let hosts = self.peers.get(&(rank.communicator, of.own[1], of.peer[1]));
        if let Some(host) = hosts.and_then(|hosts| hosts.iter().find(is_like)) {
            return Some(BetterWay::Alike { host: (*host).to_owned() });
        }
        let id = scene.id(scene.log.communicators.get(rank.communicator)?)?;
        let has_nvlinks = |rank: u32| Some(nvlinks(scene.job?, scene.job?.gpu(id, i32::try_from(rank).ok()?)?)? > 0);
        (has_nvlinks(of.own[0])? && has_nvlinks(of.peer[0])?).then_some(BetterWay::NvLink)
    }
}

/// Returns the number of NVLinks of a GPU of the job, where its process has read it.
pub(super) fn nvlinks(job: &Job, gpu: usize) -> Option<u32> {
    let gpu = job.gpus.get(gpu)?;
    job.processes.get(gpu.process)?.links.as_ref()?.gpus.get(gpu.index)?.nvlinks
}
