//! The communicators that NCCL introduced.

use crate::event::InitCommunicator;
use crate::sums::run_sums::CommunicatorRank;
use std::collections::{BTreeMap, BTreeSet};

/// The introduced communicators by id, each with its ranks in this process.
#[derive(Debug, Default)]
pub(crate) struct Introductions(pub(crate) BTreeMap<u64, (InitCommunicator, BTreeSet<i32>)>);

impl Introductions {
    /// Adds a communicator and its rank.
    pub(crate) fn add(&mut self, communicator: &InitCommunicator) {
        let entry = self.0.entry(communicator.id).or_insert_with(|| (communicator.clone(), BTreeSet::new()));
        entry.1.insert(communicator.rank);
    }

    /// Returns the number of ranks of each communicator for which NCCL reported it.
    #[cfg(feature = "otel")]
    pub(crate) fn sizes(&self) -> BTreeMap<u64, i32> {
        self.0
            .iter()
            .map(|(&id, (introduction, _))| (id, introduction.nranks))
            .filter(|&(_, nranks)| nranks > 0)
            .collect()
    }

    /// Forgets ranks whose communicators no longer have figures of their own.
    pub(crate) fn forget(&mut self, ranks: Vec<CommunicatorRank>) {
        for CommunicatorRank { comm, rank } in ranks {
            if let Some((_, known)) = self.0.get_mut(&comm) {
                known.remove(&rank);
                if known.is_empty() {
                    self.0.remove(&comm);
                }
            }
        }
    }
}
