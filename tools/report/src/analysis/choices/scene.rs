//! A log with what is asked of it again and again: which ranks are on one node, and which communicator of the job one
//! is.

use crate::answer::LoggedSetting;
use crate::job::Job;
use crate::nccl_log::{Connection, LoggedCommunicator, LoggedProcess, LoggedRank, NcclLog, Origin, Side};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Communicators in which a process has one rank on one GPU, of which more are not compared.
const MAX_ALIKE: usize = 64;
const MAX_HOSTS_NAMED: usize = 3;

/// A connection, and what the log proves of it.
pub(super) struct Placed<'a> {
    pub(super) of: &'a Connection,
    pub(super) channels: u64,
    /// The process that logs it.
    pub(super) process: &'a LoggedProcess,
    /// The rank that logs it; `None` where it may be one of several communicators.
    pub(super) rank: Option<&'a LoggedRank>,
    /// Whether both ends are on one node, by NCCL.
    pub(super) is_inside: Option<bool>,
}

/// A log, and the job that it is of.
pub(super) struct Scene<'a> {
    pub(super) log: &'a NcclLog,
    pub(super) job: Option<&'a Job>,
    members: FxHashMap<(usize, u32), usize>,
    alike: FxHashMap<(usize, u32, u32), Vec<usize>>,
    /// By communicator: whether each host is a node.
    hosts_are_nodes: Vec<bool>,
    pub(super) connections: Vec<Placed<'a>>,
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
        let mut scene = Self { log, job, members, alike, hosts_are_nodes, connections: vec![] };
        let placed = log.connections.iter().filter_map(|(of, channels)| scene.placed(of, *channels));
        scene.connections = placed.collect();
        scene
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
    pub(super) fn sent(&self) -> impl Iterator<Item = &Placed<'a>> {
        self.connections.iter().filter(|placed| placed.of.side == Side::Sends)
    }

    /// Places a connection. What holds for each communicator that it may be of, holds for it.
    fn placed(&self, of: &'a Connection, channels: u64) -> Option<Placed<'a>> {
        let process = self.log.processes.get(of.process)?;
        let mut maybe = match of.of {
            Some(rank) => vec![rank],
            // a log that lacks the process' begin may lack communicators
            None if process.has_begin => {
                self.alike.get(&(of.process, of.own[0], of.own[1])).filter(|it| it.len() <= MAX_ALIKE)?.clone()
            }
            None => vec![],
        };
        maybe.retain(|at| self.may_be(*at, of));
        let rank = maybe.first().filter(|_| maybe.len() == 1).and_then(|at| self.log.ranks.get(*at));
        let mut inside = maybe.iter().map(|at| self.is_inside(*at, of.peer[0]));
        let first = inside.next().flatten();
        let is_inside = first.filter(|_| inside.all(|answer| answer == first));
        Some(Placed { of, channels, process, rank, is_inside })
    }

    /// Returns whether a connection may be of this rank's communicator: its peer has this GPU there.
    fn may_be(&self, rank: usize, of: &Connection) -> bool {
        let Some(communicator) = self.log.ranks.get(rank).map(|rank| rank.communicator) else { return false };
        let nranks = self.log.communicators.get(communicator).map_or(0, |it| it.nranks);
        let peer = self.members.get(&(communicator, of.peer[0])).and_then(|at| self.log.ranks.get(*at));
        of.peer[0] < nranks && peer.is_none_or(|peer| peer.gpu == of.peer[1])
    }

    /// Returns whether both ends of a connection are on one node, by NCCL; `None` where the log does not prove it.
    fn is_inside(&self, rank: usize, peer: u32) -> Option<bool> {
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
    (all.iter().take(MAX_HOSTS_NAMED).map(|host| (*host).to_owned()).collect(), all.len() as u64)
}

/// Returns a setting of a process, if it has one of the values that `is` accepts.
pub(super) fn setting(process: &LoggedProcess, name: &str, is: impl Fn(&str) -> bool) -> Option<LoggedSetting> {
    let value = process.setting(name).filter(|value| is(value))?;
    Some(LoggedSetting { name: name.to_owned(), value: value.to_owned() })
}

/// Returns whether a value switches something on, as NCCL reads it.
pub(in crate::analysis) fn is_on(value: &str) -> bool {
    value.parse::<i64>().is_ok_and(|number| number != 0)
}
