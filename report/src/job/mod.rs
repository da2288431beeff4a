//! A job as its inputs describe it: processes, their GPUs, communicators, and the operations of each.

mod communicator;
mod gpu;
mod operation;
mod options;
mod ranks;
mod spans;
mod table;

pub use communicator::{Communicator, Member};
pub use gpu::{Gpu, Process};
pub use operation::{Operation, Source, Time};
pub use options::{DimensionRule, Links, Options};
pub use spans::{Kernels, StepRegions};
pub use table::{Operations, Table, Unreadable};

use std::collections::BTreeMap;

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
    /// Returns the communicator with this id.
    pub fn communicator(&self, comm: u64) -> Option<&Communicator> {
        self.communicators.get(*self.places.get(&comm)?)
    }

    /// Returns the name of each GPU's machine.
    pub fn node_names(&self) -> Vec<String> {
        let host = |gpu: &Gpu| self.processes.get(gpu.process).and_then(|process| process.host.clone());
        self.gpus.iter().map(|gpu| host(gpu).unwrap_or_else(|| format!("node {}", gpu.node))).collect()
    }

    /// Returns the GPU that is this rank of a communicator.
    pub fn gpu(&self, comm: u64, rank: i32) -> Option<usize> {
        let members = &self.communicator(comm)?.members;
        let place = members.binary_search_by_key(&rank, |member| member.rank).ok()?;
        members.get(place).map(|member| member.gpu)
    }
}
