//! What was kept of a log, and NCCL's warnings, counted.

use super::connection::{Side, Transport};
use super::message::Channels;
use super::process::{InitPhases, LoggedProcess};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A rank of a communicator, by its log.
#[derive(Debug, Default)]
pub struct LoggedRank {
    /// Place of its process.
    pub process: usize,
    /// Place of its communicator.
    pub communicator: usize,
    /// The rank.
    pub rank: u32,
    /// The CUDA device of its process.
    pub cuda_device: i32,
    /// The number of its GPU on the machine, by NVML.
    pub gpu: u32,
    /// The network that NCCL chose for it: `IB`, `Socket`, or a plugin's name.
    pub network: Option<Rc<str>>,
    /// Channels.
    pub channels: Option<Channels>,
    /// Phases of its init.
    pub init: Option<InitPhases>,
    /// Whether its init is over.
    pub is_complete: bool,
    /// Communicators that were split from it, where NCCL does not number them.
    pub(super) splits: u32,
}

/// Where a communicator is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// It has an id, which is that of the profiler's interface from release 2.26 on.
    Id(u64),
    /// It is split from another one.
    Split {
        /// Place of the communicator.
        parent: usize,
        /// Which split of that communicator it is.
        number: u32,
        /// Its ranks' color.
        color: i64,
    },
    /// It is split from one that the log does not have; known by one of its ranks.
    Unknown {
        /// Place of the rank.
        rank: usize,
    },
}

/// A communicator.
#[derive(Debug)]
pub struct LoggedCommunicator {
    /// Where it is from.
    pub origin: Origin,
    /// Number of its ranks.
    pub nranks: u32,
    /// Number of its nodes, by NCCL.
    pub nodes: Option<u32>,
    /// Places of its ranks in the log.
    pub ranks: Vec<usize>,
}

/// Connections of a rank to a peer that take one way, over all channels.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Connection {
    /// Place of the process that logs it.
    pub process: usize,
    /// Place of the rank that logs it; `None` where several communicators of the process have this rank.
    pub of: Option<usize>,
    /// Rank and GPU of the process that logs it.
    pub own: [u32; 2],
    /// Rank and GPU of the peer.
    pub peer: [u32; 2],
    /// Which end logs it.
    pub side: Side,
    /// Kind of its transport.
    pub transport: Transport,
    /// `P2P/CUMEM`, `SHM/direct`, `NET/IB/GDRDMA`.
    pub route: Rc<str>,
    /// Whether a network's adapter reads and writes the GPU's memory.
    pub is_gpu_direct: bool,
}

/// A warning of NCCL's.
#[derive(Debug, Default)]
pub struct Warning {
    /// How often it was logged.
    pub count: u64,
    /// Text of the first one.
    pub text: String,
    /// Place of the process that logged the first one.
    pub process: usize,
    /// Place of the process that logged the last one.
    pub(super) last: usize,
    /// Whether another process logged it, too.
    pub is_of_several: bool,
}

/// Numbers of lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// All.
    pub all: u64,
    /// Of NCCL's.
    pub nccl: u64,
    /// Of NCCL's, but cut, mixed with another one, or about a communicator that is not known.
    pub broken: u64,
    /// Longer than 8 KiB: passed over.
    pub too_long: u64,
    /// For which there was no room.
    pub left_out: u64,
}

/// A log.
#[derive(Debug, Default)]
pub struct NcclLog {
    /// Processes.
    pub processes: Vec<LoggedProcess>,
    /// Communicators, in the order of their first line.
    pub communicators: Vec<LoggedCommunicator>,
    /// Their ranks.
    pub ranks: Vec<LoggedRank>,
    /// Connections, with the number of their channels.
    pub connections: Vec<(Connection, u64)>,
    /// Warnings, the same text without its numbers counted as one.
    pub warnings: Vec<Warning>,
    /// Numbers of lines.
    pub lines: LineCounts,
}

impl NcclLog {
    /// Returns the name of a rank's machine.
    pub fn host(&self, rank: usize) -> Option<&str> {
        Some(&self.processes.get(self.ranks.get(rank)?.process)?.host)
    }
}

/// Most different warnings that are kept.
const MAX_WARNINGS: usize = 64;
/// Longest text, letters.
const MAX_WARNING_LETTERS: usize = 200;

/// The warnings of a log.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    all: Vec<Warning>,
    places: FxHashMap<String, usize>,
}

impl Warnings {
    /// Counts a warning of a process; texts that differ in numbers are one. Returns whether there was room.
    pub(super) fn count(&mut self, process: usize, text: &str) -> bool {
        let text: String = text.chars().take(MAX_WARNING_LETTERS).collect();
        let key: String = text.chars().filter(|letter| !letter.is_ascii_hexdigit()).collect();
        let at = match self.places.get(&key) {
            Some(at) => *at,
            None if self.all.len() >= MAX_WARNINGS => return false,
            None => {
                self.places.insert(key, self.all.len());
                self.all.push(Warning { text, process, last: process, ..Warning::default() });
                self.all.len() - 1
            }
        };
        if let Some(warning) = self.all.get_mut(at) {
            warning.count += 1;
            warning.is_of_several |= warning.last != process;
            warning.last = process;
        }
        true
    }

    /// Returns the warnings, the most frequent one first.
    pub(super) fn finish(mut self) -> Vec<Warning> {
        self.all.sort_by_key(|warning| std::cmp::Reverse(warning.count));
        self.all
    }
}
