//! A job as its inputs describe it: processes, their GPUs, communicators, and the operations of each.

mod gpu;
mod links;
mod operation;
mod options;
mod table;

pub use gpu::{Communicator, Gpu, Member, Process};
pub use links::{Links, OfMachine, reduces_in_network};
pub use operation::{CallKind, RankOperation, Time, TimedBy};
pub use options::{DimensionRule, Kernels, Options, StepRegions};
pub use table::{OperationTables, ProcessOperations, RowListener, Unreadable, read_all};

use common::lateness::BootClocks;
use std::collections::{BTreeMap, BTreeSet};

/// Processes, GPUs and communicators of a job. All lists are referred to by place.
#[derive(Debug, Clone, Default)]
pub struct Job {
    /// The processes that were found.
    pub processes: Vec<Process>,
    /// The GPUs of these processes, in the order of processes, which is that of the job's ranks where they are known.
    pub gpus: Vec<Gpu>,
    /// The communicators of these processes, in the order in which they were first made.
    pub communicators: Vec<Communicator>,
    /// Places of the communicators by id.
    pub places: BTreeMap<u64, usize>,
}

impl Job {
    /// Returns the clocks of the processes by their machines' boots.
    pub fn boot_clocks(&self) -> BootClocks {
        BootClocks::of(&self.processes.iter().map(Process::boot).collect::<Vec<_>>())
    }

    /// Returns the place of the communicator with this id, 16 hexadecimal digits.
    pub fn place(&self, comm: &str) -> Option<usize> {
        self.places.get(&u64::from_str_radix(comm, 16).ok()?).copied()
    }

    /// Returns the communicator with this id, 16 hexadecimal digits.
    pub fn communicator_named(&self, comm: &str) -> Option<&Communicator> {
        self.communicators.get(self.place(comm)?)
    }

    /// Returns the communicator with this id.
    pub fn communicator(&self, comm: u64) -> Option<&Communicator> {
        self.communicators.get(*self.places.get(&comm)?)
    }

    /// Returns the name of each GPU's machine.
    pub fn node_names(&self) -> Vec<String> {
        let host = |gpu: &Gpu| self.processes.get(gpu.process).and_then(|process| process.host.clone());
        self.gpus.iter().map(|gpu| host(gpu).unwrap_or_else(|| format!("node {}", gpu.node))).collect()
    }

    /// Returns the number of a communicator's nodes: NCCL's, else that of its ranks if all were found; 0 where it is
    /// not known.
    pub fn nodes_of(&self, communicator: &Communicator) -> i32 {
        if communicator.nnodes > 0 || !communicator.is_whole() {
            return communicator.nnodes;
        }
        let nodes: BTreeSet<usize> =
            communicator.members.iter().filter_map(|member| Some(self.gpus.get(member.gpu)?.node)).collect();
        i32::try_from(nodes.len()).unwrap_or(0)
    }

    /// Returns the name of a machine: its host, where that is known.
    pub fn node_name(&self, node: usize) -> String {
        let process = self.gpus.iter().find(|gpu| gpu.node == node).and_then(|gpu| self.processes.get(gpu.process));
        process.and_then(|process| process.host.clone()).unwrap_or_else(|| format!("node {node}"))
    }

    /// Returns the rates of a machine's network adapters for people: `8 x 400 Gbit/s`; empty where they are not known.
    pub fn adapters(&self, node: usize) -> String {
        let of_node = self.gpus.iter().filter(|gpu| gpu.node == node).filter_map(|gpu| self.processes.get(gpu.process));
        let Some(links) = of_node.filter_map(|process| process.links.as_ref()).next() else { return String::new() };
        let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
        links.adapters.iter().for_each(|adapter| *counts.entry(adapter.mbit_s).or_default() += 1);
        let text = |(mbit_s, count): (u64, usize)| format!("{count} x {} Gbit/s", mbit_s as f64 / 1e3);
        counts.into_iter().rev().map(text).collect::<Vec<_>>().join(", ")
    }

    /// Returns NCCL's releases, as far as they are known, each once.
    pub fn releases(&self) -> Vec<String> {
        let known = self.processes.iter().filter_map(|process| process.nccl.as_deref());
        let distinct: BTreeSet<&str> = known.flat_map(|releases| releases.split(", ")).collect();
        distinct.into_iter().map(str::to_owned).collect()
    }

    /// Returns the GPU that is this rank of a communicator.
    pub fn gpu(&self, comm: u64, rank: i32) -> Option<usize> {
        let members = &self.communicator(comm)?.members;
        let place = members.binary_search_by_key(&rank, |member| member.rank).ok()?;
        members.get(place).map(|member| member.gpu)
    }
}
