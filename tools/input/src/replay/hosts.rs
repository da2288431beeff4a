//! The machines of recorded processes, for the archive's system tree.

use crate::trace::{ProcessTrace, TraceMember};
use recording::Meta;
use recording::process_name;
use std::collections::BTreeMap;
use std::path::Path;

/// A recording's machine: its host name, where that is known, and a number for its clock.
pub(crate) type RecordingMachine = (Option<String>, usize);

/// Returns the host of a recording. Older recordings have it in their file name only.
pub(crate) fn of_recording(recording: &Path, meta: &Meta) -> Option<String> {
    meta.origin.host.clone().or_else(|| in_name(recording, meta.pid))
}

/// Returns the host in a file name: the part before the process id, as in `<host>.<pid>.jsonl.gz`.
fn in_name(recording: &Path, pid: i32) -> Option<String> {
    let name = process_name(recording);
    let pid = format!(".{pid}");
    let (place, _) = name
        .match_indices(&pid)
        .find(|(place, _)| matches!(name.as_bytes().get(place + pid.len()), None | Some(b'.')))?;
    name.get(..place).filter(|host| !host.is_empty()).map(str::to_owned)
}

/// Names the machine of each process: by its host, where that is known, otherwise by a number for each of NCCL's nodes.
pub(crate) fn place(traces: &mut [ProcessTrace], machines: &[RecordingMachine]) {
    let nodes = nodes(traces);
    // machines of the same name are told apart by their clocks
    let mut names: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut numbers = Vec::new();
    for ((trace, node), (host, clock)) in traces.iter_mut().zip(nodes).zip(machines) {
        trace.node = match host {
            Some(host) => {
                let clocks = names.entry(host).or_default();
                let number = position(clocks, *clock);
                if number == 0 { host.clone() } else { format!("{host} ({})", number + 1) }
            }
            None => format!("node {}", position(&mut numbers, (node, *clock))),
        };
    }
}

/// Returns the place of an item in a list; adds a new item to the list.
fn position<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|other| *other == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

/// Returns a number for the node of each process, derived from the number of nodes that NCCL gives for each
/// communicator.
///
/// Launchers fill one node after the other, so the ranks of a communicator are assumed to be spread evenly over its
/// nodes, in their order. Where a communicator contradicts that, processes share a node only if they share a
/// communicator of one node. Processes without a communicator that has a number of nodes are assumed to share one node.
fn nodes(traces: &[ProcessTrace]) -> Vec<usize> {
    let mut communicators: BTreeMap<u64, Vec<(usize, TraceMember)>> = BTreeMap::new();
    for (process, trace) in traces.iter().enumerate() {
        for &member in trace.members.iter().filter(|member| member.nnodes > 0 && member.rank >= 0) {
            communicators.entry(member.comm).or_default().push((process, member));
        }
    }
    let joined = |node_of: &dyn Fn(&TraceMember) -> Option<i32>| {
        let is_known = |process: &usize| communicators.values().flatten().any(|(other, _)| other == process);
        let mut nodes: Vec<usize> =
            (0..traces.len()).map(|process| if is_known(&process) { process } else { traces.len() }).collect();
        for members in communicators.values() {
            let mut first: BTreeMap<i32, usize> = BTreeMap::new();
            for (process, member) in members {
                let Some(node) = node_of(member) else { continue };
                let (one, other) = (nodes[*first.entry(node).or_insert(*process)], nodes[*process]);
                nodes.iter_mut().filter(|node| **node == other).for_each(|node| *node = one);
            }
        }
        nodes
    };
    let evenly = joined(&|member| {
        let each =
            member.nranks.checked_div(member.nnodes).filter(|each| *each > 0 && member.nranks % member.nnodes == 0)?;
        Some(member.rank / each)
    });
    // each rank of such a communicator has a node to itself
    let is_wrong = |members: &Vec<(usize, TraceMember)>| {
        let mut nodes: Vec<usize> =
            members.iter().filter(|(_, it)| it.nnodes == it.nranks).map(|(process, _)| evenly[*process]).collect();
        nodes.sort_unstable();
        nodes.windows(2).any(|pair| pair[0] == pair[1])
    };
    if communicators.values().any(is_wrong) { joined(&|member| (member.nnodes == 1).then_some(0)) } else { evenly }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::TraceLanes;

    /// Returns processes with these members: communicator, rank, number of ranks, number of nodes.
    fn traces(processes: &[&[(u64, i32, i32, i32)]]) -> Vec<ProcessTrace> {
        let member = |&(comm, rank, nranks, nnodes): &_| TraceMember { comm, rank, nranks, nnodes };
        let trace = |members: &&[_]| ProcessTrace {
            name: String::new(),
            job: String::new(),
            node: String::new(),
            members: members.iter().map(member).collect(),
            ticks_per_second: 1,
            begin: 0,
            end: 0,
            counters: Vec::new(),
            threads: Vec::new(),
            lanes: TraceLanes::default(),
        };
        processes.iter().map(trace).collect()
    }

    fn placed(processes: &[&[(u64, i32, i32, i32)]], machines: &[(Option<&str>, usize)]) -> Vec<String> {
        let mut traces = traces(processes);
        let machines: Vec<RecordingMachine> =
            machines.iter().map(|&(host, clock)| (host.map(str::to_owned), clock)).collect();
        place(&mut traces, &machines);
        traces.into_iter().map(|trace| trace.node).collect()
    }

    #[test]
    fn the_host_is_in_the_name_of_a_recording() {
        let host = |name: &str| in_name(Path::new(name), 77);
        assert_eq!(host("recordings/node03.cluster.77.jsonl.gz").as_deref(), Some("node03.cluster"));
        assert_eq!(host("node03.77.a8d1.jsonl.gz").as_deref(), Some("node03"));
        assert_eq!(["train.r0.jsonl.gz", "node.771.jsonl.gz", ".77.jsonl.gz"].map(host), [None, None, None]);
    }

    #[test]
    fn machines_of_one_name_have_clocks_of_their_own() {
        let machines = [(Some("a"), 0), (Some("b"), 1), (Some("a"), 0), (Some("a"), 3)];
        let unknown: [&[_]; 4] = [&[]; 4];
        assert_eq!(placed(&unknown, &machines), ["a", "b", "a", "a (2)"]);
    }

    #[test]
    fn nodes_are_those_that_nccl_tells_of() {
        let world = |rank| (1, rank, 4, 2);
        let evenly: [&[_]; 4] = [&[world(0)], &[world(1)], &[world(2)], &[world(3)]];
        assert_eq!(placed(&evenly, &[(None, 0); 4]), ["node 0", "node 0", "node 1", "node 1"]);
        assert_eq!(
            placed(&evenly, &[(None, 0), (None, 0), (None, 2), (None, 3)]),
            ["node 0", "node 0", "node 1", "node 2"]
        );
        // round robin: each pair's ranks share a node, so the world's ranks are not in blocks
        let in_turn: [&[_]; 4] = [
            &[world(0), (2, 0, 2, 1)],
            &[world(1), (3, 0, 2, 1)],
            &[world(2), (2, 1, 2, 1)],
            &[world(3), (3, 1, 2, 1)],
        ];
        let pairs = [(4, 0, 2, 2), (4, 1, 2, 2), (5, 0, 2, 2), (5, 1, 2, 2)];
        let in_turn: Vec<Vec<_>> = in_turn.iter().zip(pairs).map(|(of, pair)| [of, &[pair][..]].concat()).collect();
        let in_turn: Vec<&[_]> = in_turn.iter().map(Vec::as_slice).collect();
        assert_eq!(placed(&in_turn, &[(None, 0); 4]), ["node 0", "node 1", "node 0", "node 1"]);
    }
}
