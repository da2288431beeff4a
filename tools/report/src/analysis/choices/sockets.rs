//! Sockets between nodes, although there are other adapters, or because a setting asks for them.

use super::scene::{Scene, is_on, named, setting};
use crate::answer::{AdapterProof, LoggedSetting, NcclFinding, SocketsCause};
use crate::nccl_log::{LoggedProcess, NcclLog, Transport};
use std::collections::BTreeSet;

/// The name of the sockets' network.
pub(super) const SOCKET: &str = "Socket";

/// Returns the findings: at most one.
pub(super) fn findings(scene: &Scene<'_>) -> Vec<NcclFinding> {
    let log = scene.log;
    let mut users = BTreeSet::new();
    let mut connections = 0;
    for placed in scene.sent() {
        if is_socket(&placed.of.route) && placed.is_inside == Some(false) {
            users.insert(placed.of.process);
            connections += placed.channels;
        }
    }
    for rank in log.ranks.iter().filter(|rank| rank.network.as_deref() == Some(SOCKET)) {
        if log.communicators.get(rank.communicator).and_then(|of| of.nodes).is_some_and(|nodes| nodes > 1) {
            users.insert(rank.process);
        }
    }
    let using = || users.iter().filter_map(|at| log.processes.get(*at));
    let asked = using().find_map(cause);
    let hosts: BTreeSet<&str> = using().map(|process| &*process.host).collect();
    let adapters = proof(scene, &hosts).filter(|_| !hosts.is_empty());
    if hosts.is_empty() {
        return unused(log).into_iter().collect();
    }
    if asked.is_none() && adapters.is_none() {
        return vec![];
    }
    let (hosts, host_count) = named(hosts);
    vec![NcclFinding::Sockets { hosts, host_count, connections, cause: asked, adapters }]
}

/// Returns whether a way is of the sockets' network.
pub(super) fn is_socket(route: &str) -> bool {
    route.strip_prefix("NET/").is_some_and(|name| name.split('/').next() == Some(SOCKET))
}

/// Returns why a process takes sockets, if its log proves a cause.
fn cause(process: &LoggedProcess) -> Option<SocketsCause> {
    if let Some(setting) = forced(process) {
        return Some(SocketsCause::Setting(setting));
    }
    // NCCL tries InfiniBand first, and says what it finds; up to release 2.27 also where it takes sockets by their name
    let is_tried = process.infiniband.is_some() || process.has_no_infiniband;
    let is_by_name = process.infiniband.is_some() || (process.has_begin && process.sockets.is_some() && !is_tried);
    is_by_name.then_some(SocketsCause::ByName)
}

/// Returns the setting by which a process takes sockets. NCCL logs `NCCL_NET` only where the program has a choice, too.
pub(super) fn forced(process: &LoggedProcess) -> Option<LoggedSetting> {
    setting(process, "NCCL_NET", |value| value.eq_ignore_ascii_case(SOCKET))
        .or_else(|| setting(process, "NCCL_IB_DISABLE", is_on))
}

/// Returns who proves that there are adapters of InfiniBand or RoCE.
fn proof(scene: &Scene<'_>, hosts: &BTreeSet<&str>) -> Option<AdapterProof> {
    let found = |is: &dyn Fn(&str) -> bool| {
        let mut with =
            scene.log.processes.iter().filter_map(|process| Some((&*process.host, process.infiniband.as_deref()?)));
        with.find(|(host, _)| is(host)).map(|(host, adapters)| (host.to_owned(), adapters.to_owned()))
    };
    if let Some((host, adapters)) = found(&|host| hosts.contains(host)) {
        return Some(AdapterProof::SameHost { host, adapters });
    }
    let recorded = scene.job.iter().flat_map(|job| &job.processes).find_map(|process| {
        // NCCL logs the name up to its first dot
        let host = process.host.as_deref()?.split('.').next()?;
        let names = process.ports();
        let is_here = hosts.contains(host) && !names.is_empty();
        is_here.then(|| AdapterProof::Recording { host: host.to_owned(), adapters: names.join(" ") })
    });
    recorded.or_else(|| {
        let (host, adapters) = found(&|_| true)?;
        Some(AdapterProof::OtherHost { host, adapters })
    })
}

/// Returns that sockets are asked for by name, where no connection and no communicator of several nodes uses a network.
fn unused(log: &NcclLog) -> Option<NcclFinding> {
    let is_used = log.connections.iter().any(|(of, _)| of.transport == Transport::Network);
    let taken = log.ranks.iter().filter(|rank| rank.network.as_deref() == Some(SOCKET));
    let by_name = |cause: &SocketsCause| match cause {
        SocketsCause::Setting(setting) => setting.name == "NCCL_NET",
        SocketsCause::ByName => true,
    };
    let mut causes = taken.filter_map(|rank| cause(log.processes.get(rank.process)?)).filter(by_name);
    causes.next().filter(|_| !is_used).map(|cause| NcclFinding::UnusedSockets { cause })
}
