//! Ranks of one communicator with different releases of NCCL or different settings, and plugins that were not found.

use super::scene::Scene;
use crate::answer::NcclFinding;
use crate::nccl_log::NcclLog;
use std::collections::{BTreeMap, BTreeSet};

/// Settings that all ranks need alike: NCCL's ranks choose algorithms, protocols and channels each by themselves.
const EQUAL_SETTINGS: [&str; 22] = [
    "NCCL_ALGO",
    "NCCL_ALLOC_P2P_NET_LL_BUFFERS",
    "NCCL_BUFFSIZE",
    "NCCL_COLLNET_ENABLE",
    "NCCL_CROSS_NIC",
    "NCCL_CUMEM_ENABLE",
    "NCCL_IB_DISABLE",
    "NCCL_LL128_BUFFSIZE",
    "NCCL_LL_BUFFSIZE",
    "NCCL_MAX_CTAS",
    "NCCL_MAX_NCHANNELS",
    "NCCL_MIN_CTAS",
    "NCCL_MIN_NCHANNELS",
    "NCCL_NET",
    "NCCL_NET_GDR_LEVEL",
    "NCCL_NVLS_ENABLE",
    "NCCL_P2P_DISABLE",
    "NCCL_P2P_LEVEL",
    "NCCL_P2P_NET_CHUNKSIZE",
    "NCCL_PROTO",
    "NCCL_PXN_DISABLE",
    "NCCL_SHM_DISABLE",
];

/// Returns the findings: one for each combination of releases, and one for each setting.
pub(super) fn findings(scene: &Scene<'_>) -> Vec<NcclFinding> {
    let mut releases: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    let mut settings: BTreeMap<&str, NcclFinding> = BTreeMap::new();
    for (place, of) in scene.log.communicators.iter().enumerate() {
        let distinct: BTreeSet<_> = scene.processes(of).filter_map(|(_, it)| it.version.as_deref()).collect();
        if distinct.len() > 1 {
            releases.entry(distinct.into_iter().map(str::to_owned).collect()).or_insert(place);
        }
        for name in EQUAL_SETTINGS {
            if settings.contains_key(name) {
                continue;
            }
            let mut values: BTreeMap<&str, u32> = BTreeMap::new();
            for (rank, process) in scene.processes(of) {
                // a rank that logs none may not have read it yet
                let Some(value) = process.setting(name) else { continue };
                let first = values.entry(value).or_insert(rank);
                *first = rank.min(*first);
            }
            if values.len() > 1 {
                let values = values.into_iter().map(|(value, rank)| (value.to_owned(), rank)).collect();
                settings.insert(name, NcclFinding::Settings { name: scene.name(place), setting: name.into(), values });
            }
        }
    }
    let releases = releases.into_iter().map(|(releases, at)| NcclFinding::Releases { name: scene.name(at), releases });
    releases.chain(settings.into_values()).collect()
}

/// Returns the plugins that `NCCL_NET_PLUGIN` names and that NCCL did not find: without it, NCCL looks for one file
/// alone. Of several plugins, NCCL needs one.
pub(super) fn missing_plugins(log: &NcclLog) -> Vec<NcclFinding> {
    let own = |network: &str| matches!(network, "IB" | "Socket");
    let users: BTreeSet<usize> =
        log.ranks.iter().filter(|rank| rank.network.as_deref().is_some_and(own)).map(|rank| rank.process).collect();
    let mut missing: BTreeMap<&str, u64> = BTreeMap::new();
    for files in users.iter().filter_map(|at| log.processes.get(*at)?.missing_plugin.as_deref()) {
        if !matches!(files.split(' ').next(), Some("libnccl-net.so" | "none") | None) {
            *missing.entry(files).or_default() += 1;
        }
    }
    let finding = |(files, processes): (&str, u64)| NcclFinding::PluginMissing { files: files.to_owned(), processes };
    missing.into_iter().map(finding).collect()
}
