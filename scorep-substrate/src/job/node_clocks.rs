//! Compares the clocks of the nodes over Score-P's communication, at the begin and at the end of the run.
//!
//! Processes of one node read the same clock, so one process per node takes part, along a binomial tree. A parent asks
//! each child for its time, many times, and uses the answer that took the shortest time.

use crate::job::ipc::{Ipc, IpcError};
use common::clock::CLOCK;
use common::clock_tree::{ClockOffset, ParentLink, binomial};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Number of questions to a child; the first few warm the connection up.
const ROUNDS: usize = 50;

/// The nodes of the run, and this process's place among them.
#[derive(Debug)]
pub(crate) struct Nodes {
    /// The first process of each node, in the order of ranks.
    leaders: Vec<usize>,
    /// Number of this process's node.
    node: usize,
    rank: usize,
    /// Offset to the parent's clock at the begin, in the first process of a node.
    begin: Option<ClockOffset>,
}

/// Returns a hash that tells nodes apart: of NCCL's host id or else the kernel's boot id, and of the clock that the
/// process reads.
fn identity() -> [u8; 8] {
    let told = std::env::var_os("NCCL_HOSTID").filter(|id| !id.is_empty()).map(|id| id.to_string_lossy().into_owned());
    let boot = || std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    told.unwrap_or_else(boot).trim().hash(&mut hasher);
    (CLOCK.source(), std::env::var_os("SCOREP_TIMER")).hash(&mut hasher);
    hasher.finish().to_ne_bytes()
}

impl Nodes {
    /// Finds the nodes and compares their clocks for the first time.
    ///
    /// # Errors
    /// If Score-P's communication fails.
    pub(crate) fn meet(ipc: Ipc<'_>) -> Result<Self, IpcError> {
        let identities = ipc.all_gather(identity())?;
        let rank = ipc.rank();
        // the nodes are numbered in the order of their first processes
        let mut numbers: HashMap<[u8; 8], usize> = HashMap::new();
        let mut leaders = Vec::new();
        for (rank, identity) in identities.iter().enumerate() {
            numbers.entry(*identity).or_insert_with(|| {
                leaders.push(rank);
                leaders.len() - 1
            });
        }
        let node = identities.get(rank).and_then(|own| numbers.get(own)).copied().unwrap_or(0);
        let mut nodes = Self { leaders, node, rank, begin: None };
        nodes.begin = nodes.compare(ipc)?;
        Ok(nodes)
    }

    /// Compares the clocks again, and returns the offsets of this process's clock to its parent's.
    ///
    /// # Errors
    /// If Score-P's communication fails.
    pub(crate) fn part(&self, ipc: Ipc<'_>) -> Result<ParentLink, IpcError> {
        let end = self.compare(ipc)?;
        let leader = self.leaders.get(self.node).copied().unwrap_or(0);
        let parent = if self.rank == leader { self.family().0.unwrap_or(leader) } else { leader };
        let now = CLOCK.now();
        let same = ClockOffset { own: now, parents: now, error: 0 };
        Ok(ParentLink { parent: parent as u32, begin: self.begin, end: end.unwrap_or(same) })
    }

    /// Returns the parent and the children of this process's node, as the ranks of their first processes.
    fn family(&self) -> (Option<usize>, Vec<usize>) {
        let (parent, children) = binomial(self.node, self.leaders.len());
        let rank = |node: usize| self.leaders.get(node).copied();
        (parent.and_then(rank), children.into_iter().filter_map(rank).collect())
    }

    /// Compares the clocks; all processes call this together. Returns the offset to the parent's clock in the first
    /// process of a node with a parent.
    fn compare(&self, ipc: Ipc<'_>) -> Result<Option<ClockOffset>, IpcError> {
        if self.leaders.get(self.node) != Some(&self.rank) {
            return Ok(None);
        }
        let (parent, children) = self.family();
        let met = parent.map(|parent| tell(ipc, parent)).transpose()?;
        children.into_iter().try_for_each(|child| ask(ipc, child))?;
        Ok(met)
    }
}

/// Asks a child for its time and sends it the offset.
fn ask(ipc: Ipc<'_>, child: usize) -> Result<(), IpcError> {
    let mut rounds = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let sent = CLOCK.now();
        ipc.send(&[0], child)?;
        let mut theirs = [0; 8];
        ipc.receive(&mut theirs, child)?;
        rounds.push((sent, u64::from_ne_bytes(theirs), CLOCK.now()));
    }
    let met = ClockOffset::measured_by_parent(rounds).unwrap_or(ClockOffset { own: 0, parents: 0, error: u64::MAX });
    let words = [met.own, met.parents, met.error].map(u64::to_ne_bytes);
    ipc.send(words.as_flattened(), child)
}

/// Answers the parent's questions for the time and returns the offset that the parent sends.
fn tell(ipc: Ipc<'_>, parent: usize) -> Result<ClockOffset, IpcError> {
    for _ in 0..ROUNDS {
        ipc.receive(&mut [0], parent)?;
        ipc.send(&CLOCK.now().to_ne_bytes(), parent)?;
    }
    let mut words = [[0; 8]; 3];
    ipc.receive(words.as_flattened_mut(), parent)?;
    let [own, parents, error] = words.map(u64::from_ne_bytes);
    Ok(ClockOffset { own, parents, error })
}
