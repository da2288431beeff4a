//! NCCL's own choices, by its log, and its fallbacks.
//!
//! A finding needs a proof: a setting that NCCL says it took, a line about adapters, or a better choice of the same
//! communicator on like nodes. A way alone proves nothing: shared memory is ordinary between PCIe GPUs, and sockets on
//! machines without other adapters.
//!
//! | file | findings |
//! |---|---|
//! | `sockets.rs` | sockets between nodes |
//! | `inside.rs` | ways inside a node |
//! | `gpu_direct.rs` | adapters that do not reach the GPUs' memory |
//! | `channels.rs` | few channels |
//! | `unequal.rs` | releases and settings that differ between ranks, plugins that are missing |
//! | `slow_init.rs` | ranks whose init takes long |
//! | `events.rs` | without a log: transfers inside a node |
//! | `communicators.rs` | no findings: the communicators |
//! | `scene.rs` | no findings: what is asked of the log again and again |

mod channels;
mod communicators;
mod events;
mod gpu_direct;
mod inside;
pub(super) mod scene;
mod slow_init;
mod sockets;
mod unequal;

use crate::answer::{Communicators, NcclChoices, NcclFinding, Pairs, Part};
use crate::job::Job;
use crate::nccl_log::{NcclLog, Warning};
use scene::Scene;
use std::collections::BTreeSet;

/// Returns the choices of a job's log, and the findings of its events.
pub fn choices(
    log: Option<&NcclLog>,
    job: Option<&Job>,
    (pairs, communicators): (&Part<Pairs>, &Part<Communicators>),
) -> Part<NcclChoices> {
    let of_events = job.map(|job| events::findings(job, pairs, communicators)).unwrap_or_default();
    let Some(log) = log else {
        return match of_events.is_empty() {
            true => Part::Absent(NcclChoices::NO_LOG.into()),
            false => Part::Known(NcclChoices { findings: of_events, ..NcclChoices::default() }),
        };
    };
    let scene = &Scene::new(log, job);
    let mut findings = sockets::findings(scene);
    findings.extend(inside::findings(scene));
    findings.extend(of_events);
    findings.extend(gpu_direct::findings(scene));
    findings.extend(unequal::missing_plugins(log));
    findings.extend(channels::findings(scene));
    findings.extend(unequal::findings(scene));
    findings.extend(slow_init::findings(scene));
    findings.extend(log.warnings.iter().map(|warning| of_warning(log, warning)));
    findings.sort_by_key(rank);
    let hosts: BTreeSet<&str> = log.processes.iter().map(|process| &*process.host).collect();
    Part::Known(NcclChoices {
        communicators: communicators::rows(scene),
        findings,
        processes: log.processes.len() as u64,
        hosts: hosts.len() as u64,
        unplaced: scene.sent().filter(|placed| placed.rank.is_none()).map(|placed| placed.channels).sum(),
        lines: log.lines.all,
        of_nccl: log.lines.nccl,
        unread: log.lines.broken,
        passed_over: log.lines.too_long + log.lines.left_out,
    })
}

/// Returns the place of a finding by what it costs: first what slows each operation most.
fn rank(finding: &NcclFinding) -> u8 {
    match finding {
        NcclFinding::Sockets { .. } => 0,
        NcclFinding::InsideNode { .. } | NcclFinding::ProxyInsideNode { .. } => 1,
        NcclFinding::PluginMissing { .. } => 2,
        NcclFinding::NoGpuDirect { .. } => 3,
        NcclFinding::LimitedChannels { .. } | NcclFinding::FewerChannels { .. } => 4,
        NcclFinding::Releases { .. } | NcclFinding::Settings { .. } => 5,
        NcclFinding::Warning { .. } => 6,
        NcclFinding::SlowInit { .. } => 7,
        NcclFinding::UnusedSockets { .. } => 8,
    }
}

fn of_warning(log: &NcclLog, warning: &Warning) -> NcclFinding {
    let host = log.processes.get(warning.process).map_or("", |process| &*process.host);
    NcclFinding::Warning {
        text: warning.text.clone(),
        count: warning.count,
        host: host.to_owned(),
        is_of_several: warning.is_of_several,
    }
}

#[cfg(test)]
mod tests;
