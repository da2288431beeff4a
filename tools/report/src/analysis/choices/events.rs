//! Without a log: transfers inside a node, where a communicator of the same GPUs of another node has none.
//!
//! Peer-to-peer access and memory of the host need no proxy, so operations with transfers between ranks of one node use
//! a network there. NVLinks prove nothing, since bridges join some GPUs of a machine alone; a like machine does. That
//! the ranks are on one node is NCCL's own word: the communicator has one. GPUs are like by their places on the PCI
//! bus.

use crate::answer::{Communicators, NcclFinding, Pairs, Part};
use crate::job::{Communicator, Job};
use std::collections::BTreeMap;

/// A communicator of one node.
struct OfNode<'a> {
    comm: &'a str,
    node: usize,
    pairs: u64,
    transfers: u64,
}

/// Returns the findings: one for each communicator with transfers.
pub(super) fn findings(job: &Job, pairs: &Part<Pairs>, communicators: &Part<Communicators>) -> Vec<NcclFinding> {
    let mut transfers: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for pair in pairs.known().iter().flat_map(|pairs| &pairs.rows).filter(|pair| pair.transfers > 0) {
        let of = transfers.entry(&pair.comm).or_default();
        *of = (of.0 + 1, of.1.saturating_add(pair.transfers));
    }
    if transfers.is_empty() {
        return vec![];
    }
    let mut like: BTreeMap<Vec<&str>, Vec<OfNode<'_>>> = BTreeMap::new();
    for row in communicators.known().iter().flat_map(|part| &part.rows).filter(|row| row.operations > 0) {
        let of = job.communicator_named(&row.comm);
        let Some((places, node)) = of.and_then(|of| places(job, of)) else { continue };
        let (pairs, transfers) = transfers.get(row.comm.as_str()).copied().unwrap_or_default();
        like.entry(places).or_default().push(OfNode { comm: &row.comm, node, pairs, transfers });
    }
    let finding = |like: &Vec<OfNode<'_>>, of: &OfNode<'_>| {
        let other = like.iter().find(|other| other.transfers == 0 && other.node != of.node)?;
        let (comm, other) = (of.comm.to_owned(), other.comm.to_owned());
        (of.transfers > 0).then_some(NcclFinding::ProxyInsideNode {
            comm,
            pairs: of.pairs,
            transfers: of.transfers,
            other,
        })
    };
    like.values().flat_map(|like| like.iter().filter_map(move |of| finding(like, of))).collect()
}

/// Returns the places on the PCI bus of a whole communicator of one node, by rank, and the node.
fn places<'a>(job: &'a Job, of: &Communicator) -> Option<(Vec<&'a str>, usize)> {
    (of.nnodes == 1 && of.nranks > 1 && of.is_whole()).then_some(())?;
    let place = |gpu: usize| {
        let gpu = job.gpus.get(gpu)?;
        let links = job.processes.get(gpu.process)?.links.as_ref()?;
        Some((links.gpus.get(gpu.index)?.gpu.as_str(), gpu.node))
    };
    let places: Vec<(&str, usize)> = of.members.iter().map(|member| place(member.gpu)).collect::<Option<_>>()?;
    let node = places.first()?.1;
    places.iter().all(|(_, other)| *other == node).then(|| (places.into_iter().map(|(place, _)| place).collect(), node))
}
