//! Settings that force ways which NCCL itself would not take.
//!
//! A proof has two sides: a setting that a process of the communicator has in its environment, and operations that
//! ran as it demands. NCCL's own model (`src/graph/tuning.cc`, `src/enqueue.cc`, up to 2.32) decides whether NCCL
//! would take another way, by bounds that hold for each GPU and each link in its tables:
//!
//! - **Algorithm**: inside a node, a tree has no less latency than a ring with LL. It has less than half of the ring's
//!   bandwidth if the graph of the tree has no more bandwidth than that of the ring. NCCL searches for both graphs, and
//!   this is an assumption. With LL128, a tree of more than two ranks can be ahead of the ring for a few sizes below
//!   [`MIN_LONG_BYTES`]. With more than [`MAX_TREE_RANKS`] ranks, NCCL takes no ring for sums of 8-bit floats.
//! - **Protocol**: LL has at most half of SIMPLE's bandwidth. Inside a node it has 141 GB/s or less (282 on Blackwell),
//!   and saves at most 4.7 us a step of a ring (over PCI; 2.8 us over NVLink). Between nodes it has 45 GB/s or less (90
//!   on Blackwell), and saves some 17 us a step (24 before Ampere): NCCL takes the latency of SIMPLE's long all-reduces
//!   by ring 1.4 or 1.9 times. So from [`MIN_LONG_BYTES`] on SIMPLE is ahead. For few bytes LL is ahead of both LL128
//!   and SIMPLE, whatever the link: up to [`MAX_SHORT_BYTES`], over NVLink up to [`MAX_SHORT_NVLINK_BYTES`].
//! - **Channels**: NCCL doubles the channels that it finds, so there are two at least. It gives one to operations
//!   with less than 64 KiB of traffic, or less than 8 KiB a rank.
//! - **Transports**: NVLinks are of use to peer-to-peer access alone. A number of links proves no path between two
//!   GPUs: bridges join some GPUs of a machine. GPUs with [`MIN_SWITCHED_NVLINKS`] NVLinks are behind switches that
//!   join all of them. (H200 NVL has as many with a bridge of four: there, ranks of two bridges have no path.)
//!
//! NCCL chooses once for the collectives of a group that are alike, by their bytes together, and by the number of its
//! collectives. So bounds of bytes hold for collectives that are alone in their groups ([`Ran`]).
//!
//! Whatever this does not prove is not a finding: operations in groups, a ring between nodes, protocols for sizes in
//! between, channels beyond one, sockets (a process with `NCCL_NET=Socket` reads no ports of InfiniBand or RoCE;
//! NCCL's log names sockets), settings in the program's configuration, and `NCCL_IB_DISABLE`, beside which a network
//! plugin may work.

#[cfg(test)]
mod tests;

use super::shape::factor;
use crate::analysis::choices::scene::is_on;
use crate::answer::SpeedRow;
use crate::job::{Communicator, Job};
use common::operation::size_factor;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes a rank from which on LL and trees inside a node are behind, and up to which LL is ahead.
const MIN_LONG_BYTES: f64 = 4.0 * 1024.0 * 1024.0;
const MAX_SHORT_BYTES: f64 = 1024.0;
const MAX_SHORT_NVLINK_BYTES: f64 = 32.0 * 1024.0;
/// Bytes of an operation, and a rank, that have more than one channel: twice NCCL's bounds.
const MIN_BYTES_OF_CHANNELS: [f64; 2] = [128.0 * 1024.0, 16.0 * 1024.0];
/// Most ranks of which a tree is judged.
const MAX_TREE_RANKS: i32 = 8;
/// Fewest NVLinks of a GPU that is behind NVSwitches: H100 SXM, H200 and B200 have 18, bridged pairs 12 at most.
const MIN_SWITCHED_NVLINKS: u32 = 18;

/// What is known of a communicator's settings and links.
pub(in crate::analysis) struct Forcing {
    /// The settings of its processes, the first one's of each name.
    settings: BTreeMap<String, String>,
    /// Number of machines of its ranks. NCCL takes ranks of one machine for several nodes if settings leave them the
    /// network alone.
    machines: usize,
    /// Whether some of its ranks are on one machine.
    is_inside: bool,
    /// Whether all of its GPUs have [`MIN_SWITCHED_NVLINKS`] NVLinks or more.
    has_nvlinks: bool,
}

/// How a row's operations ran, beside what the row has.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::analysis) struct Ran {
    /// Most channels of an operation; 0 where they are not known.
    pub(in crate::analysis) channels: u8,
    /// Whether all of them are known to share no kernel, so that NCCL chose for each one by its own bytes.
    pub(in crate::analysis) are_alone: bool,
}

impl Forcing {
    pub(in crate::analysis) fn new(job: &Job, communicator: &Communicator) -> Self {
        let gpus = || communicator.members.iter().filter_map(|member| job.gpus.get(member.gpu));
        let processes = || gpus().filter_map(|gpu| job.processes.get(gpu.process));
        let mut settings = BTreeMap::new();
        for (name, value) in processes().flat_map(|process| &process.nccl_settings) {
            settings.entry(name.clone()).or_insert_with(|| value.clone());
        }
        let machines: BTreeSet<usize> = gpus().map(|gpu| gpu.node).collect();
        let nvlinks = |process: usize, index: usize| {
            job.processes
                .get(process)?
                .links
                .as_ref()?
                .gpus
                .get(index)?
                .nvlinks
                .filter(|&nvlinks| nvlinks >= MIN_SWITCHED_NVLINKS)
        };
        Self {
            settings,
            machines: machines.len(),
            is_inside: machines.len() < communicator.members.len(),
            has_nvlinks: gpus().all(|gpu| nvlinks(gpu.process, gpu.index).is_some()),
        }
    }

    /// Returns the settings, with their proofs, that force a row's operations.
    pub(in crate::analysis) fn of_row(&self, row: &SpeedRow, ran: Ran) -> Option<String> {
        if self.settings.is_empty() || row.nranks <= 1 {
            return None;
        }
        let mut all: Vec<String> = vec![];
        if ran.are_alone {
            all.extend(self.algorithm(row));
            all.extend(self.protocol(row));
            all.extend(self.one_channel(row, ran.channels));
        }
        all.extend(self.inside(row));
        (!all.is_empty()).then(|| all.join("; "))
    }

    fn algorithm(&self, row: &SpeedRow) -> Option<String> {
        let is_tree =
            row.function == "AllReduce" && row.algorithm == "TREE" && row.nnodes == 1 && row.nranks <= MAX_TREE_RANKS;
        let is_behind = row.protocol != "LL128" || row.nranks == 2 || each(row)[0] >= MIN_LONG_BYTES;
        let has_ll = !self.excludes("NCCL_PROTO", row, "LL");
        let is_forced = is_tree && is_behind && has_ll && self.excludes("NCCL_ALGO", row, "RING");
        is_forced.then(|| self.named("NCCL_ALGO", "inside a node, NCCL takes the ring"))?
    }

    fn protocol(&self, row: &SpeedRow) -> Option<String> {
        if !matches!(row.algorithm.as_str(), "RING" | "TREE") {
            return None;
        }
        let [least, most] = each(row);
        let is_one_node = row.nnodes == 1 && self.has_nvlinks;
        let short = if is_one_node { MAX_SHORT_NVLINK_BYTES } else { MAX_SHORT_BYTES };
        let proof = match row.protocol.as_str() {
            "LL" if least >= MIN_LONG_BYTES && self.excludes("NCCL_PROTO", row, "SIMPLE") => {
                "NCCL takes SIMPLE for so many bytes"
            }
            "LL128" | "SIMPLE" if most <= short && self.excludes("NCCL_PROTO", row, "LL") => {
                "NCCL takes LL for so few bytes"
            }
            _ => return None,
        };
        self.named("NCCL_PROTO", proof)
    }

    fn one_channel(&self, row: &SpeedRow, channels: u8) -> Option<String> {
        let ranks = f64::from(row.nranks.max(1));
        let is_long = each(row)[0] * ranks >= MIN_BYTES_OF_CHANNELS[0].max(MIN_BYTES_OF_CHANNELS[1] * ranks);
        let name =
            ["NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS"].into_iter().find(|name| self.is(name, |value| value == "1"))?;
        self.named(name, "NCCL takes two channels or more").filter(|_| channels == 1 && is_long)
    }

    /// Returns that GPUs of a node must not use their NVLinks.
    fn inside(&self, row: &SpeedRow) -> Option<String> {
        // NVLink SHARP is over NVLinks
        let is_kept = self.has_nvlinks && !row.algorithm.starts_with("NVLS");
        let is_meant = self.is_inside && is_kept && (self.machines == 1 || is_of_all(row));
        let p2p = [("NCCL_P2P_DISABLE", is_on as fn(&str) -> bool), ("NCCL_P2P_LEVEL", is_local)];
        let (name, _) = p2p.into_iter().find(|(name, is)| is_meant && self.is(name, is))?;
        let with = match self.is("NCCL_SHM_DISABLE", is_on) {
            true => "with NCCL_SHM_DISABLE; each GPU has 18 NVLinks or more",
            false => "each GPU has 18 NVLinks or more",
        };
        self.named(name, with)
    }

    /// Returns whether a setting has one of these values.
    fn is(&self, name: &str, is: impl Fn(&str) -> bool) -> bool {
        self.settings.get(name).is_some_and(|value| is(value))
    }

    fn named(&self, name: &str, proof: &str) -> Option<String> {
        self.settings.get(name).map(|value| format!("{name}={value} ({proof})"))
    }

    /// Returns whether a list takes an algorithm or a protocol away from a row's function.
    fn excludes(&self, name: &str, row: &SpeedRow, element: &str) -> bool {
        self.settings.get(name).is_some_and(|list| excludes(list, &row.function, element))
    }
}

/// Returns whether a level of distance forbids peer-to-peer access over NVLink.
fn is_local(level: &str) -> bool {
    matches!(level, "LOC" | "0")
}

/// Returns whether an operation is of all ranks of its communicator.
fn is_of_all(row: &SpeedRow) -> bool {
    !matches!(row.function.as_str(), "SendRecv" | "Exchange")
}

/// Returns the least and most bytes of an operation over the number of ranks.
fn each(row: &SpeedRow) -> [f64; 2] {
    let factor = factor(row, size_factor) / f64::from(row.nranks.max(1));
    [row.from_bytes, row.to_bytes].map(|bytes| bytes as f64 * factor)
}

/// Returns whether a list of `NCCL_ALGO` or `NCCL_PROTO` excludes an element for a function. Lists without a function
/// are for all functions, later ones replace earlier ones, and `^` stands for all others.
fn excludes(lists: &str, function: &str, element: &str) -> bool {
    let of_function = |list: &str| match list.split_once(':') {
        Some((name, elements)) => name.eq_ignore_ascii_case(function).then(|| elements.to_owned()),
        None => Some(list.to_owned()),
    };
    let Some(list) = lists.rsplit(';').find_map(of_function) else { return false };
    let others = list.strip_prefix('^');
    let has = others.unwrap_or(&list).split(',').any(|it| it.eq_ignore_ascii_case(element));
    has == others.is_some()
}
