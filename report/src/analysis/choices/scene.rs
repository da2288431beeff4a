//! A log with what is asked of it again and again: which ranks are on one node, and which communicator of the job it is.

use crate::job::Job;
use crate::nccl_log::{Connection, LoggedCommunicator, LoggedProcess, LoggedRank, NcclLog, Origin, Side};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Communicators in which a process has one rank on one GPU, of which more are not compared.
const MOST_ALIKE: usize = 64;
/// Number of hosts that are named.
const NAMED: usize = 3;
/// A log, and the job that it is of.
pub(super) struct Scene<'a> {
    pub(super) log: &'a NcclLog,
    pub(super) job: Option<&'a Job>,
    members: FxHashMap<(usize, u32), usize>,
    alike: FxHashMap<(usize, u32, u32), Vec<usize>>,
    /// By communicator: whether each host is a node.
    hosts_are_nodes: Vec<bool>,
}

impl<'a> Scene<'a> {
    pub(super) fn new(log: &'a NcclLog, job: Option<&'a Job>) -> Self {
        let (mut members, mut alike) = (FxHashMap::default(), FxHashMap::<_, Vec<usize>>::default());
        for (place, of) in log.ranks.iter().enumerate() {
            members.insert((of.communicator, of.rank), place);
            alike.entry((of.process, of.rank, of.gpu)).or_default().push(place);
        }
        let proven = |of: &LoggedCommunicator| {
            let hosts: BTreeSet<_> = of.ranks.iter().filter_map(|rank| log.host(*rank)).collect();
            of.ranks.len() == of.nranks as usize && of.nodes.is_some_and(|nodes| nodes as usize == hosts.len())
        };
        let hosts_are_nodes = log.communicators.iter().map(proven).collect();
        Self { log, job, members, alike, hosts_are_nodes }
    }

    /// Returns the process of a connection.
    pub(super) fn process(&self, of: &Connection) -> Option<&'a LoggedProcess> {
        self.log.processes.get(of.process)
    }

    /// Returns a communicator's ranks.
    pub(super) fn ranks(&self, of: &LoggedCommunicator) -> impl Iterator<Item = &'a LoggedRank> {
        of.ranks.iter().filter_map(|at| self.log.ranks.get(*at))
    }

    /// Returns the processes of a communicator's ranks, by rank.
    pub(super) fn processes(&self, of: &LoggedCommunicator) -> impl Iterator<Item = (u32, &'a LoggedProcess)> {
        self.ranks(of).filter_map(|rank| Some((rank.rank, self.log.processes.get(rank.process)?)))
    }

    /// Returns the connections that count: each once, at the sender.
    pub(super) fn sent(&self) -> impl Iterator<Item = (&'a Connection, u64)> {
        let all = self.log.connections.iter().map(|(of, channels)| (of, *channels));
        all.filter(|(of, _)| of.side == Side::Sends)
    }

    /// Returns whether both ends of a connection are on one node, by NCCL; `None` where the log does not prove it.
    pub(super) fn is_inside(&self, of: &Connection) -> Option<bool> {
        if let Some(rank) = of.of {
            return self.is_inside_of(rank, of.peer[0]);
        }
        // of each communicator that it may be of, the same must hold
        let alike = self.alike.get(&(of.process, of.own[0], of.own[1])).filter(|alike| alike.len() <= MOST_ALIKE)?;
        let nranks = |at: usize| Some(self.log.communicators.get(self.log.ranks.get(at)?.communicator)?.nranks);
        let mut answers = alike.iter().filter(|at| nranks(**at).is_some_and(|nranks| of.peer[0] < nranks));
        let first = self.is_inside_of(*answers.next()?, of.peer[0])?;
        answers.all(|at| self.is_inside_of(*at, of.peer[0]) == Some(first)).then_some(first)
    }

    fn is_inside_of(&self, rank: usize, peer: u32) -> Option<bool> {
        let communicator = self.log.ranks.get(rank)?.communicator;
        if self.log.communicators.get(communicator)?.nodes == Some(1) {
            return Some(true);
        }
        let peer = self.members.get(&(communicator, peer)).and_then(|at| self.log.host(*at))?;
        match self.log.host(rank)? == peer {
            // NCCL's nodes of one machine may be several: containers, NCCL_HOSTID
            true => self.hosts_are_nodes.get(communicator)?.then_some(true),
            false => Some(false),
        }
    }

    /// Returns a communicator's id in recordings. From release 2.26 on, the id in the log is that of the profiler's
    /// interface (`commHash` in NCCL's `init.cc`); before, it is another hash, which no recording has.
    pub(super) fn id(&self, of: &LoggedCommunicator) -> Option<u64> {
        let Origin::Id(id) = of.origin else { return None };
        let job = self.job?.communicator(id)?;
        u32::try_from(job.nranks).is_ok_and(|nranks| nranks == of.nranks).then_some(id)
    }

    /// Returns a communicator's name in the log.
    pub(super) fn name(&self, place: usize) -> String {
        match self.log.communicators.get(place).map(|of| of.origin) {
            Some(Origin::Id(id)) => format!("{id:016x}"),
            Some(Origin::Split { parent, number, color }) => {
                // a parent was met before its children, so this ends; a chain of splits is named by its last link
                let parent = match self.log.communicators.get(parent).map(|of| of.origin) {
                    Some(Origin::Id(id)) => format!("{id:016x}"),
                    _ => "a split".into(),
                };
                format!("split {number} of {parent}, color {color}")
            }
            _ => "split of an unknown one".into(),
        }
    }
}

/// Returns the first hosts, and their number.
pub(super) fn named<'a>(hosts: impl IntoIterator<Item = &'a str>) -> (Vec<String>, u64) {
    let all: BTreeSet<&str> = hosts.into_iter().collect();
    (all.iter().take(NAMED).map(|host| (*host).to_owned()).collect(), all.len() as u64)
}
