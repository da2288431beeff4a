//! Without a log: transfers of a network between ranks of one node whose GPUs have NVLinks.
//!
//! Peer-to-peer access and memory of the host need no proxy, except with `NCCL_P2P_USE_CUDA_MEMCPY` or
//! `NCCL_SHM_USE_CUDA_MEMCPY`, which nobody sets by accident. So operations with proxy steps between two ranks of one node
//! use a network there. That the ranks are on one node is NCCL's own word: the communicator has one.

use super::inside::nvlinks;
use crate::answer::{NcclFinding, Pairs, Part};
use crate::job::Job;
use std::collections::BTreeMap;

/// Returns the findings: one for each communicator.
pub(super) fn findings(job: &Job, pairs: &Part<Pairs>) -> Vec<NcclFinding> {
    let mut found: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for pair in pairs.known().iter().flat_map(|pairs| &pairs.rows).filter(|pair| pair.transfers > 0) {
        let id = u64::from_str_radix(&pair.comm, 16).ok();
        let is_one_node = id.and_then(|id| job.communicator(id)).is_some_and(|of| of.nnodes == 1);
        let has_nvlinks = |gpu: Option<usize>| gpu.and_then(|gpu| nvlinks(job, gpu)).is_some_and(|links| links > 0);
        if is_one_node && has_nvlinks(pair.from) && has_nvlinks(pair.to) {
            let of = found.entry(&pair.comm).or_default();
            *of = (of.0 + 1, of.1.saturating_add(pair.transfers));
        }
    }
    let finding = |(comm, (pairs, transfers)): (&str, (u64, u64))| NcclFinding::ProxyInsideNode {
        comm: comm.to_owned(),
        pairs,
        transfers,
    };
    found.into_iter().map(finding).collect()
}
