//! Tables about NCCL's own choices.

use super::super::Chapter;
use super::super::names::ReportNames;
use super::super::sentences::fallback;
use super::super::sheet::ReportTable;
use super::super::units::{UNKNOWN, count, time};
use crate::answer::{LoggedChoices, LoggedRoute, NcclChoices, NcclFinding};
use crate::nccl_log::InitPhases;

/// The communicators of NCCL's log.
pub(in crate::output) fn choices<'a>(
    choices: &'a NcclChoices,
    names: &'a ReportNames<'a>,
) -> ReportTable<'a, &'a LoggedChoices> {
    fn init(of: fn(&InitPhases) -> f64) -> impl Fn(&LoggedChoices) -> Option<f64> + Copy {
        move |row| row.slowest_init.as_ref().map(of)
    }
    fn mean(of: fn(&InitPhases) -> f64) -> impl Fn(&LoggedChoices) -> Option<f64> + Copy {
        move |row| row.mean_init.as_ref().map(of)
    }
    fn routes(of: fn(&LoggedRoute) -> u64) -> impl Fn(&LoggedChoices) -> String + Copy {
        move |row| {
            let used = row.routes.iter().filter(|route| of(route) > 0);
            used.map(|route| format!("{} {}", count(of(route)), route.route)).collect::<Vec<_>>().join(", ")
        }
    }
    let seconds = |seconds: f64| time(seconds * 1e6);
    let own = |text: String| if text.is_empty() { UNKNOWN.into() } else { text };
    let number = |value: Option<u32>| value.map(i64::from);
    ReportTable::new(Chapter::Nccl.name(), &choices.communicators)
        .names("communicator", |row| {
            row.comm.as_ref().map_or_else(|| row.name.clone(), |comm| names.communicator(comm))
        })
        .value("communicator", |row| row.comm.as_deref())
        .value("name", |row| row.name.as_str())
        .figures("ranks", |row| match row.here == u64::from(row.nranks) {
            true => count(row.here),
            false => format!("{} of {}", count(row.here), row.nranks),
        })
        .value("ranks", |row| i64::from(row.nranks))
        .value("found", |row| row.here)
        .column("nodes", "nodes", move |row| number(row.nodes), |nodes| nodes.to_string())
        .column("release", "releases", |row| row.releases.join(" "), own)
        .column("network", "networks", |row| row.networks.join(" "), own)
        .column("interface", "interfaces", |row| row.interfaces.join(" "), own)
        .column("inside nodes", "connections_inside", routes(|route| route.within), own)
        .column("between nodes", "connections_between", routes(|route| route.between), own)
        .column("not known where", "connections_unknown", routes(|route| route.unknown), own)
        .column("channels", "channels", move |row| number(row.channels), |it| it.to_string())
        .column("NVLS", "nvls_channels", move |row| number(row.nvls_channels), |it| it.to_string())
        .column("p2p", "p2p_channels", move |row| number(row.p2p_channels), |it| it.to_string())
        .column("mean init", "mean_init_s", mean(|it| it.total), seconds)
        .value("mean_kernels_s", mean(|it| it.kernels))
        .value("mean_alloc_s", mean(|it| it.alloc))
        .value("mean_bootstrap_s", mean(|it| it.bootstrap))
        .value("mean_allgathers_s", mean(|it| it.allgathers))
        .value("mean_topo_s", mean(|it| it.topo))
        .value("mean_graphs_s", mean(|it| it.graphs))
        .value("mean_connections_s", mean(|it| it.connections))
        .value("mean_rest_s", mean(|it| it.rest))
        .column("slowest rank", "slowest_rank", move |row| number(row.slowest), |it| it.to_string())
        .column("its init", "slowest_init_s", init(|it| it.total), seconds)
        .column("kernels", "slowest_kernels_s", init(|it| it.kernels), seconds)
        .column("alloc", "slowest_alloc_s", init(|it| it.alloc), seconds)
        .column("bootstrap", "slowest_bootstrap_s", init(|it| it.bootstrap), seconds)
        .column("allgathers", "slowest_allgathers_s", init(|it| it.allgathers), seconds)
        .column("topo", "slowest_topo_s", init(|it| it.topo), seconds)
        .column("graphs", "slowest_graphs_s", init(|it| it.graphs), seconds)
        .column("connections", "slowest_connections_s", init(|it| it.connections), seconds)
        .value("slowest_rest_s", init(|it| it.rest))
        .without([
            "alloc",
            "allgathers",
            "graphs",
            "connections",
            "kernels",
            "topo",
            "bootstrap",
            "interface",
            "not known where",
            "release",
            "NVLS",
            "p2p",
            "slowest rank",
            "its init",
            "network",
            "mean init",
            "nodes",
            "channels",
        ])
}

/// The fallbacks, the one that costs most first.
pub(in crate::output) fn fallbacks<'a>(
    choices: &'a NcclChoices,
    names: &'a ReportNames<'a>,
) -> ReportTable<'a, &'a NcclFinding> {
    ReportTable::new("nccl_fallbacks", &choices.findings).column(
        "fallback",
        "fallback",
        |row| fallback(row, names),
        |text| text,
    )
}
