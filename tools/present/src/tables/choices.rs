//! Tables of logs: NCCL's own choices, and a watch's findings.

use super::super::Chapter;
use super::super::names::ReportNames;
use super::super::sentences::fallback;
use super::super::sheet::ReportTable;
use super::super::units::{UNKNOWN, count, gb_s, known, share, time};
use report::answer::{LoggedChoices, LoggedRoute, NcclChoices, NcclFinding, ReportedFinding, WatchFindings};
use report::nccl_log::InitPhases;

/// The communicators of NCCL's log.
pub(crate) fn choices<'a>(choices: &'a NcclChoices, names: &'a ReportNames<'a>) -> ReportTable<'a, &'a LoggedChoices> {
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
pub(crate) fn fallbacks<'a>(choices: &'a NcclChoices, names: &'a ReportNames<'a>) -> ReportTable<'a, &'a NcclFinding> {
    ReportTable::new("nccl_fallbacks", &choices.findings).column(
        "fallback",
        "fallback",
        |row| fallback(row, names),
        |text| text,
    )
}

/// Characters of a time up to its seconds.
const TO_SECONDS: usize = "2026-11-28T02:46:24".len();

/// The findings, in the order of their times.
pub(crate) fn findings(findings: &WatchFindings) -> ReportTable<'_, &ReportedFinding> {
    let own = |text: &str| if text.is_empty() { UNKNOWN.into() } else { text.to_owned() };
    ReportTable::new(Chapter::Findings.name(), &findings.rows)
        .names("since (UTC)", |row| known(row.begin(), moment))
        .value("since", |row| row.since.as_deref())
        .column("found", "found", |row| row.found.as_deref(), moment)
        .column("until", "until", |row| row.until.as_deref(), moment)
        .column("kind", "kind", |row| row.kind.as_str(), str::to_owned)
        .column("ranks", "ranks", |row| row.who.as_str(), own)
        .column("hosts", "hosts", |row| row.hosts.as_str(), own)
        .value("lasts", |row| row.lasts)
        .value("job", |row| row.job.as_deref())
        .value("communicator", |row| row.communicator.as_deref())
        .value("collective", |row| row.collective)
        .column("excess", "excess_us", |row| row.excess_us, time)
        .column("of window", "share", |row| row.share, share)
        .value("window_us", |row| row.window_us)
        .column("gain at most", "gain_at_most", |row| row.gain_at_most, share)
        .column("z", "z", |row| row.z, |z| format!("{z:.1}"))
        .column("GB/s", "rate_gb_s", |row| row.rate_gb_s, gb_s)
        .column("usual GB/s", "usual_gb_s", |row| row.usual_gb_s, gb_s)
        .value("lines", |row| row.lines)
        .value("text", |row| row.text.as_str())
        .without(["found", "z", "gain at most", "usual GB/s", "GB/s", "hosts", "of window", "until"])
}

/// Returns a time to its second.
fn moment(time: &str) -> String {
    let seconds = time.get(..TO_SECONDS).filter(|_| time.is_ascii());
    seconds.map_or_else(|| time.to_owned(), |seconds| seconds.replacen('T', " ", 1))
}
