//! Sentences about NCCL's own choices: who, the fallback, the proof, and the cure last.

use super::super::names::ReportNames;
use super::super::units::{counted, time};
use report::answer::{AdapterProof, LoggedSetting, NcclChoices, NcclFinding, Report, SocketsCause};

/// Returns how many fallbacks there are, with the one that costs most, or else the first warning; `None` if there is
/// neither.
pub fn choices(report: &Report) -> Option<String> {
    let choices = report.choices.known()?;
    let first = choices.findings.iter().find(|it| !is_warning(it)).or(choices.findings.first())?;
    let number = choices.findings.iter().filter(|it| !is_warning(it)).count() as u64;
    let source = if choices.processes > 0 { "NCCL's log" } else { "The recording" };
    let names = if number == 0 { "no fallback.".into() } else { counted(number, "fallback") + ":" };
    Some(format!("{source} names {names} {} --part nccl has all.", fallback(first, &ReportNames::of(report))))
}

/// NCCL warns of much that changes nothing, as of a transport that it does not use.
fn is_warning(finding: &NcclFinding) -> bool {
    matches!(finding, NcclFinding::Warning { .. })
}

/// Returns what the log has, and how much of it was read.
pub(crate) fn about_log(choices: &NcclChoices) -> String {
    if choices.processes == 0 && choices.of_nccl == 0 && choices.lines == 0 {
        return "From the recording's events; --nccl-log FILE adds NCCL's log of a run with NCCL_DEBUG=INFO.".into();
    }
    if choices.of_nccl == 0 {
        return format!(
            "The log has {}, and none is NCCL's: run the job with NCCL_DEBUG=INFO.",
            counted(choices.lines, "line")
        );
    }
    let mut text = format!(
        "The log has {} of {} on {}",
        counted(choices.of_nccl, "line"),
        processes(choices.processes),
        counted(choices.hosts, "machine")
    );
    if choices.unread > 0 {
        text += &format!(
            "; {} of these could not be read: cut, mixed, or of a communicator without a begin",
            counted(choices.unread, "line")
        );
    }
    if choices.passed_over > 0 {
        text += &format!("; {} passed over, too long or too many", counted(choices.passed_over, "line"));
    }
    if choices.unplaced > 0 {
        let connections = counted(choices.unplaced, "connection");
        text += &format!("; {connections} may be of several communicators and {} in no row", are(choices.unplaced));
    }
    text += ".";
    if choices.findings.iter().all(is_warning) {
        text += " NCCL's log names no fallback.";
    }
    text
}

fn are(number: u64) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

fn processes(number: u64) -> String {
    counted(number, if number == 1 { "process" } else { "processe" })
}

/// Returns a fallback with its proof.
pub(crate) fn fallback(finding: &NcclFinding, names: &ReportNames<'_>) -> String {
    match finding {
        NcclFinding::Sockets { hosts, host_count, connections, cause, adapters } => {
            let over = match connections {
                0 => "Communicators of several nodes use".into(),
                _ => format!("{} between nodes {} over", counted(*connections, "connection"), are(*connections)),
            };
            format!(
                "{over} sockets, on {}{}.{}",
                on(hosts, *host_count),
                although(adapters.as_ref()),
                cause_of_sockets(cause.as_ref(), adapters.is_some())
            )
        }
        NcclFinding::InsideNode { route, pairs, hosts, host_count, settings, alike } => {
            let because = match alike {
                Some(host) => format!(", although the same GPUs of {host} use peer-to-peer access"),
                None => String::new(),
            };
            let settings = match settings.len() {
                0 => " The log names no setting for it.".into(),
                1 => format!(" {} is set by environment.", all(settings)),
                _ => format!(" {} are set by environment.", all(settings)),
            };
            format!(
                "{} of one node {} connected by {route}, on {}{because}.{settings}",
                counted(*pairs, "GPU pair"),
                are(*pairs),
                on(hosts, *host_count)
            )
        }
        NcclFinding::ProxyInsideNode { comm, pairs, transfers, other } => format!(
            "Communicator {} has {} over a network between {} of one node, and communicator {} of the same GPUs of \
             another node has none: NCCL uses no peer-to-peer access in the first one. --nccl-log says why.",
            names.communicator(comm),
            counted(*transfers, "transfer"),
            counted(*pairs, "rank pair"),
            names.communicator(other)
        ),
        NcclFinding::NoGpuDirect { route, connections, hosts, host_count, alike, setting, adapter } => {
            let although =
                alike.as_ref().map_or_else(String::new, |host| format!(", although the same GPU of {host} uses it"));
            let cause = match (setting, adapter) {
                (Some(setting), _) => format!(" {} is set by environment.", one(setting)),
                (None, Some(adapter)) => format!(
                    " NCCL says that it is disabled for adapter {adapter}: neither nvidia_peermem nor DMA-BUF works there."
                ),
                (None, None) => " The log names no cause; NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH logs more.".into(),
            };
            format!(
                "{} by {route} {} without GPUDirect RDMA, on {}{although}.{cause}",
                counted(*connections, "connection"),
                are(*connections),
                on(hosts, *host_count)
            )
        }
        NcclFinding::PluginMissing { files, processes } => format!(
            "{} did not find the network plugin that NCCL_NET_PLUGIN names ({files}): NCCL's own network is used.",
            self::processes(*processes)
        ),
        NcclFinding::LimitedChannels { setting, communicators } => format!(
            "{} is set by environment: {} {} as many channels as it allows.",
            one(setting),
            counted(*communicators, "communicator"),
            if *communicators == 1 { "has" } else { "have" }
        ),
        NcclFinding::FewerChannels { name, hosts, channels, other, other_channels } => format!(
            "Communicator {name} on {} has {}, and {other} of the same shape {other_channels}. Unless the \
             program limits it, look at these machines.",
            hosts.join(", "),
            counted(u64::from(*channels), "channel")
        ),
        NcclFinding::Releases { name, releases } => {
            format!("Ranks of communicator {name} have different releases of NCCL: {}.", releases.join(", "))
        }
        NcclFinding::Settings { name, setting, values } => {
            let values: Vec<String> = values.iter().map(|(value, rank)| format!("{value} on rank {rank}")).collect();
            format!("Ranks of communicator {name} have different values of {setting}: {}.", values.join(", "))
        }
        NcclFinding::SlowInit { name, rank, host, phase, seconds, median_s, ranks } => {
            let more = match ranks {
                0 | 1 => String::new(),
                ranks => format!(" {} of the communicator take longer than the others.", counted(*ranks, "rank")),
            };
            let [long, usual] = [seconds, median_s].map(|seconds| time(seconds * 1e6));
            format!(
                "The init of communicator {name} on rank {rank} ({host}) takes {long} in the phase {phase}, and {usual} on \
                 most ranks.{more}"
            )
        }
        NcclFinding::UnusedSockets { cause } => {
            let because = cause_of_sockets(Some(cause), true);
            format!("NCCL would use sockets between nodes; the log has no connection over a network.{because}")
        }
        NcclFinding::Warning { text, count, host, is_of_several } => {
            let others = if *is_of_several { " and other processes" } else { "" };
            format!("NCCL warned {} on {host}{others}: {text}", counted(*count, "time"))
        }
    }
}

fn on(hosts: &[String], count: u64) -> String {
    let more = count.saturating_sub(hosts.len() as u64);
    let rest = if more > 0 { format!(" and {}", counted(more, "other machine")) } else { String::new() };
    hosts.join(", ") + &rest
}

fn although(proof: Option<&AdapterProof>) -> String {
    match proof {
        None => String::new(),
        Some(AdapterProof::SameHost { host, adapters }) => format!(", although NCCL found {adapters} on {host}"),
        Some(AdapterProof::OtherHost { host, adapters }) => {
            format!(", although NCCL found {adapters} on another machine, {host}")
        }
        Some(AdapterProof::Recording { host, adapters }) => {
            format!(", although {host} has the adapters {adapters}, by the recording")
        }
    }
}

fn cause_of_sockets(cause: Option<&SocketsCause>, has_adapters: bool) -> String {
    let because = match cause {
        Some(SocketsCause::Setting(setting)) => format!(" {} is set by environment", one(setting)),
        Some(SocketsCause::ByName) => {
            " NCCL took them by their name: NCCL_NET=Socket is set, or the program has netName in ncclConfig_t".into()
        }
        None => {
            return " The log names no cause: check drivers, libibverbs and NCCL_IB_HCA on these machines.".into();
        }
    };
    let unknown = "; the log does not say whether there are other adapters";
    because + if has_adapters { "." } else { unknown } + if has_adapters { "" } else { "." }
}

fn one(setting: &LoggedSetting) -> String {
    format!("{}={}", setting.name, setting.value)
}

fn all(settings: &[LoggedSetting]) -> String {
    let texts: Vec<String> = settings.iter().map(one).collect();
    texts.join(", ")
}
