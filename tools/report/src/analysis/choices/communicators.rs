//! The communicators of a log.

use super::scene::Scene;
use super::sockets::SOCKET;
use crate::answer::{LoggedChoices, LoggedRoute};
use crate::nccl_log::{InitPhases, LoggedCommunicator, LoggedRank};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the communicators, those of most ranks first.
pub(super) fn rows(scene: &Scene<'_>) -> Vec<LoggedChoices> {
    let mut routes: BTreeMap<usize, BTreeMap<&str, LoggedRoute>> = BTreeMap::new();
    for placed in scene.sent() {
        let Some(rank) = placed.rank else { continue };
        let row = routes.entry(rank.communicator).or_default().entry(&placed.of.route).or_default();
        *match placed.is_inside {
            Some(true) => &mut row.within,
            Some(false) => &mut row.between,
            None => &mut row.unknown,
        } += placed.channels;
    }
    let row = |(place, of): (usize, &LoggedCommunicator)| {
        let routes = routes.remove(&place).unwrap_or_default();
        let named = |(route, row): (&str, LoggedRoute)| LoggedRoute { route: route.to_owned(), ..row };
        row(scene, place, of, routes.into_iter().map(named).collect())
    };
    let mut rows: Vec<LoggedChoices> = scene.log.communicators.iter().enumerate().map(row).collect();
    // communicators of a rank alone communicate nothing
    rows.sort_by_key(|row| std::cmp::Reverse(row.nranks));
    rows
}

fn row(scene: &Scene<'_>, place: usize, of: &LoggedCommunicator, routes: Vec<LoggedRoute>) -> LoggedChoices {
    let ranks = || scene.ranks(of);
    let distinct = |texts: BTreeSet<&str>| texts.into_iter().map(str::to_owned).collect();
    let timed: Vec<(&LoggedRank, InitPhases)> = ranks().filter_map(|rank| Some((rank, rank.init?))).collect();
    // the first one of the slowest
    let slowest = timed.iter().max_by(|a, b| a.1.total.total_cmp(&b.1.total).then(b.0.rank.cmp(&a.0.rank)));
    let inits: Vec<InitPhases> = timed.iter().map(|(_, phases)| *phases).collect();
    // NCCL gives all ranks the same numbers
    let channels = ranks().find_map(|rank| rank.channels);
    LoggedChoices {
        name: scene.name(place),
        comm: scene.id(of).map(|id| format!("{id:016x}")),
        nranks: of.nranks,
        here: of.ranks.len() as u64,
        nodes: of.nodes,
        releases: distinct(scene.processes(of).filter_map(|(_, process)| process.version.as_deref()).collect()),
        networks: distinct(ranks().filter_map(|rank| rank.network.as_deref()).collect()),
        routes,
        channels: channels.map(|channels| channels.collective),
        nvls_channels: channels.map(|channels| channels.nvls),
        p2p_channels: channels.map(|channels| channels.p2p),
        interfaces: interfaces(scene, of),
        mean_init: InitPhases::mean(&inits),
        slowest: slowest.map(|(rank, _)| rank.rank),
        slowest_init: slowest.map(|(_, phases)| *phases),
    }
}

/// Most interfaces that are named.
const MAX_INTERFACES: usize = 16;

/// Returns the adapters or interfaces of a communicator's network, in the order of their names.
fn interfaces(scene: &Scene<'_>, of: &LoggedCommunicator) -> Vec<String> {
    let mut all = BTreeSet::new();
    for rank in scene.ranks(of) {
        let Some(process) = scene.log.processes.get(rank.process) else { continue };
        let is_socket = rank.network.as_deref() == Some(SOCKET);
        // `[0]eth0:10.1.0.2<0>`, `[0]mlx5_0:1/IB`
        let (used, end) = if is_socket { (&process.sockets, ':') } else { (&process.infiniband, '/') };
        let words = used.iter().flat_map(|used| used.split(' '));
        let named = words.filter_map(|word| word.split(']').nth(1)?.split(end).next());
        all.extend(named.filter(|name| !name.is_empty()));
    }
    all.into_iter().take(MAX_INTERFACES).map(str::to_owned).collect()
}
