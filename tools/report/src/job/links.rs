//! Rates of links: the user's, and those that the processes read of their machines.
//!
//! A communicator inside one node uses the NVLinks of its GPUs: the sum of a GPU's links, the least of its GPUs. Where
//! a GPU has none, it uses PCIe. A communicator of several nodes uses the nodes' network adapters. The GPUs of the job
//! on a node share them evenly, so a communicator with m of a node's g GPUs has m/g of their sum; the least of its
//! nodes counts.
//!
//! Collectives go around rings or through trees that enter and leave a node over all of its GPUs in the communicator.
//! So their bus bandwidth may reach the communicator's share of the adapters, but no more than the NVLinks of a GPU. A
//! send goes over its own GPU's share. Of an all-to-all of n ranks, each rank sends (n-m)/(n-1) of its bytes to other
//! nodes.

use super::{CallKind, Communicator, Job};
use std::collections::BTreeMap;

/// Gbit/s of a GB/s.
const BITS: f64 = 8.0;
/// Mbit/s of a GB/s.
const MBIT: f64 = 8e3;

/// Rates of links.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Links {
    /// The user's by communicator id, Gbit/s.
    pub by_comm: BTreeMap<u64, f64>,
    /// The user's for communicators that are not in the list, Gbit/s.
    pub others: Option<f64>,
    /// By the machines, by communicator id.
    pub machine: BTreeMap<u64, OfMachine>,
}

/// Rates of a communicator's links by its machines, GB/s; `None` where it is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct OfMachine {
    /// For collectives.
    pub collective: Option<f64>,
    /// For sends and receives.
    pub exchange: Option<f64>,
    /// For all-to-alls of sends and receives.
    pub all_to_all: Option<f64>,
}

impl Links {
    /// Adds the rates that the job's processes read of their machines.
    pub fn with_machines(mut self, job: &Job) -> Self {
        let nodes = Nodes::new(job);
        let rates = job.communicators.iter().filter_map(|of| Some((of.comm, nodes.rates(job, of)?)));
        self.machine = rates.collect();
        self
    }

    /// Returns whether the user has given the rate of a communicator's links.
    pub fn is_given(&self, comm: u64) -> bool {
        self.others.is_some() || self.by_comm.contains_key(&comm)
    }

    /// Returns whether any rate is known.
    pub fn are_known(&self) -> bool {
        self.others.is_some() || !self.by_comm.is_empty() || !self.machine.is_empty()
    }

    /// Returns the rate that a communicator's links have for calls of a kind, in GB/s (10^9 bytes per second).
    pub fn rate(&self, comm: u64, kind: CallKind) -> Option<f64> {
        let given = self.by_comm.get(&comm).copied().or(self.others).map(|gbps| gbps / BITS);
        let machine = || {
            let of = self.machine.get(&comm)?;
            match kind {
                CallKind::Collective => of.collective,
                CallKind::Exchange => of.exchange,
                CallKind::AllToAll => of.all_to_all,
            }
        };
        given.or_else(machine)
    }
}

/// Returns whether the switch reduces in an algorithm, so that fewer bytes cross a link than the bus bandwidth counts.
pub fn reduces_in_network(algorithm: &str) -> bool {
    ["NVLS", "COLLNET"].iter().any(|word| algorithm.to_uppercase().starts_with(word))
}

/// A node: the GPUs of the job on it, and the sum of its adapters' rates, Mbit/s.
#[derive(Debug, Clone, Copy, Default)]
struct Node {
    gpus: usize,
    adapters: Option<u64>,
}

/// The nodes of a job.
struct Nodes {
    nodes: BTreeMap<usize, Node>,
    /// Whether all processes of the job were found, so that all GPUs of a node are known.
    are_whole: bool,
}

impl Nodes {
    fn new(job: &Job) -> Self {
        let mut nodes: BTreeMap<usize, Node> = BTreeMap::new();
        for gpu in &job.gpus {
            let node = nodes.entry(gpu.node).or_default();
            node.gpus += 1;
            let links = job.processes.get(gpu.process).and_then(|process| process.links.as_ref());
            let sum: u64 =
                links.map_or(0, |links| links.adapters.iter().fold(0, |sum: u64, it| sum.saturating_add(it.mbit_s)));
            if sum > 0 {
                // processes of one node may be allowed different adapters
                node.adapters = Some(node.adapters.map_or(sum, |least| least.min(sum)));
            }
        }
        let here = u32::try_from(job.processes.len()).unwrap_or(u32::MAX);
        let are_whole = job.processes.iter().all(|process| process.ranks.is_none_or(|ranks| ranks <= here));
        Self { nodes, are_whole }
    }

    /// Returns the rates of a communicator's links; `None` where nothing is known.
    fn rates(&self, job: &Job, of: &Communicator) -> Option<OfMachine> {
        if !of.is_whole() || of.members.len() < 2 {
            return None;
        }
        let mut members: BTreeMap<usize, usize> = BTreeMap::new();
        for member in &of.members {
            *members.entry(job.gpus.get(member.gpu)?.node).or_default() += 1;
        }
        // NCCL counts other nodes where the user has set NCCL_HOSTID
        let nodes = i32::try_from(members.len()).ok()?;
        if of.nnodes > 0 && of.nnodes != nodes {
            return None;
        }
        let inside = least(of.members.iter().map(|member| inside(job, member.gpu)));
        if members.len() == 1 {
            return Some(OfMachine { collective: inside, exchange: inside, all_to_all: inside });
        }
        // GB/s of a GPU's share, and of the communicator's share of a node
        let share = |node: &usize| {
            let node = self.nodes.get(node).filter(|_| self.are_whole)?;
            Some(node.adapters? as f64 / MBIT / node.gpus as f64)
        };
        let of_gpu = least(members.keys().map(share))?;
        let of_node = least(members.iter().map(|(node, &count)| Some(share(node)? * count as f64)))?;
        let is_alone = members.values().all(|&count| count == 1);
        let most = members.values().copied().max()? as f64;
        let ranks = of.members.len() as f64;
        Some(OfMachine {
            collective: Some(if is_alone { of_node } else { of_node.min(inside?) }),
            // of sends of which some stay in the node, nobody knows
            exchange: is_alone.then_some(of_gpu),
            all_to_all: Some(of_gpu * (ranks - 1.0) / (ranks - most)),
        })
    }
}

/// Returns the rate of a GPU's NVLinks, or of PCIe if it has none, GB/s.
fn inside(job: &Job, gpu: usize) -> Option<f64> {
    let gpu = job.gpus.get(gpu)?;
    let of = job.processes.get(gpu.process)?.links.as_ref()?.gpus.get(gpu.index)?;
    let mbit_s = if of.nvlinks? > 0 { of.nvlink_mbit_s? } else { of.pcie_mbit_s? };
    Some(mbit_s as f64 / MBIT)
}

/// Returns the least of some rates; `None` if one is not known.
fn least(mut rates: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    rates.try_fold(f64::MAX, |least, rate| Some(least.min(rate?))).filter(|&least| least < f64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Gpu, Member, Process};
    use common::hardware::nics::rates::NicRate;
    use common::links::{self, GpuLinks};

    /// A job of GPUs on these nodes, with a communicator of all. A GPU has NVLinks of 450 GB/s, unless `nvlinks` is 0;
    /// a node has two adapters of 400 Gbit/s.
    fn job(nodes: &[usize], nvlinks: u32) -> Job {
        let adapter = |name: &str| NicRate { name: name.into(), mbit_s: 400_000 };
        let gpu = GpuLinks {
            gpu: String::new(),
            nvlinks: Some(nvlinks),
            nvlink_mbit_s: (nvlinks > 0).then_some(3_600_000),
            pcie_mbit_s: Some(504_000),
        };
        let links = links::ProcessLinks { gpus: vec![gpu], adapters: vec![adapter("a:1"), adapter("b:1")] };
        let members = (0..nodes.len()).map(|gpu| Member { rank: gpu as i32, gpu, made: 0 }).collect();
        let nranks = nodes.len() as i32;
        Job {
            processes: vec![Process { links: Some(links), ..Process::default() }; nodes.len()],
            gpus: nodes.iter().enumerate().map(|(process, &node)| Gpu { process, node, ..Gpu::default() }).collect(),
            communicators: vec![Communicator { comm: 7, nranks, members, ..Communicator::default() }],
            places: BTreeMap::from([(7, 0)]),
        }
    }

    fn rates(job: &Job) -> [Option<f64>; 3] {
        let links = Links::default().with_machines(job);
        [CallKind::Collective, CallKind::Exchange, CallKind::AllToAll].map(|kind| links.rate(7, kind))
    }

    #[test]
    fn a_node_has_nvlink_or_pcie() {
        assert_eq!(rates(&job(&[0, 0], 18)), [Some(450.0); 3]);
        assert_eq!(rates(&job(&[0, 0], 0)), [Some(63.0); 3]);
        let mut unknown = job(&[0, 0], 0);
        unknown.processes[1].links.as_mut().unwrap().gpus[0].nvlinks = None;
        assert_eq!(rates(&unknown), [None; 3]);
    }

    #[test]
    fn gpus_share_their_nodes_adapters() {
        // two adapters of 50 GB/s: one GPU a node has both, two have one each
        assert_eq!(rates(&job(&[0, 1, 2], 18)), [Some(100.0); 3]);
        assert_eq!(rates(&job(&[0, 0, 1, 1], 18)), [Some(100.0), None, Some(75.0)]);
        // a GPU of the job that is not in the communicator has its share, too
        let mut part = job(&[0, 0, 1, 1], 18);
        part.communicators[0].members =
            vec![Member { gpu: 0, ..Member::default() }, Member { rank: 1, gpu: 2, made: 0 }];
        part.communicators[0].nranks = 2;
        assert_eq!(rates(&part), [Some(50.0); 3]);
    }

    #[test]
    fn what_is_missing_leaves_the_rate_unknown() {
        let mut lacking = job(&[0, 0, 1, 1], 18);
        lacking.processes[0].ranks = Some(6);
        assert_eq!(rates(&lacking), [None; 3]);
        let mut silent = job(&[0, 1], 18);
        silent.processes[1].links = None;
        assert_eq!(rates(&silent), [None; 3]);
        let mut pretended = job(&[0, 0], 18);
        pretended.communicators[0].nnodes = 2;
        assert_eq!(rates(&pretended), [None; 3]);
    }

    #[test]
    fn the_users_rate_overrules() {
        let given = Links { by_comm: BTreeMap::from([(7, 80.0)]), ..Links::default() }.with_machines(&job(&[0, 0], 18));
        assert_eq!(
            (given.rate(7, CallKind::Collective), given.is_given(7), given.is_given(8)),
            (Some(10.0), true, false)
        );
    }
}
