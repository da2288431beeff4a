//! The communicators of a log.

use super::scene::Scene;
use crate::answer::{LoggedChoices, LoggedRoute};
use crate::nccl_log::{LoggedCommunicator, LoggedRank};
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
    let timed: Vec<(f64, &LoggedRank)> = ranks().filter_map(|rank| Some((rank.init?.total, rank))).collect();
    let slowest = timed.iter().max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.rank.cmp(&a.1.rank))).map(|(_, rank)| *rank);
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
        init_s: (!timed.is_empty()).then(|| timed.iter().map(|(total, _)| total).sum::<f64>() / timed.len() as f64),
        slowest: slowest.map(|rank| rank.rank),
        slowest_init: slowest.and_then(|rank| rank.init),
    }
}
