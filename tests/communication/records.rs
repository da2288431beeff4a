//! Records of communication: those that otf2-print shows on the lanes of an archive, and those that there must be.

use crate::support::reference::operations::Operation;
use crate::support::tool;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Records, as texts, with how often they are there.
pub(crate) type Records = BTreeMap<String, usize>;

/// What otf2-print shows of an archive: definitions (`-G`), the anchor file (`-A`) or events.
pub(crate) fn printed(directory: &Path, flags: &[&str]) -> String {
    tool::succeed(Command::new("otf2-print").args(flags).arg(directory.join("traces.otf2")))
}

/// The quoted name behind a label.
fn name<'a>(line: &'a str, label: &str) -> &'a str {
    line.split_once(label).unwrap().1.split('"').nth(1).unwrap()
}

/// The word behind a label.
fn word<'a>(line: &'a str, label: &str) -> &'a str {
    line.split_once(label).unwrap().1.split([',', ' ']).next().unwrap()
}

/// Names of the locations, by number.
pub(crate) fn locations(definitions: &str) -> BTreeMap<String, String> {
    let lines = definitions.lines().filter(|line| line.starts_with("LOCATION "));
    lines.map(|line| (line.split_whitespace().nth(1).unwrap().to_owned(), name(line, "Name: ").to_owned())).collect()
}

/// The communicator and the rank of a lane of this name, also of a further one.
fn rank(lane: &str) -> (&str, &str) {
    let mut words = lane.split(' ');
    (words.nth(1).unwrap(), words.nth(1).unwrap())
}

/// The ids of the communicators by number, which are in the names of their lanes.
fn communicators(definitions: &str) -> BTreeMap<&str, String> {
    let of = |kind| definitions.lines().filter(move |line| line.starts_with(kind));
    let of_group = |line: &str| {
        let ids: BTreeSet<&str> = line.split("(\"NCCL ").skip(1).map(|lane| &lane[..16]).collect();
        (line.split_whitespace().nth(1).unwrap().to_owned(), Vec::from_iter(ids).concat())
    };
    let groups: BTreeMap<String, String> = of("GROUP ").map(of_group).collect();
    let group = |line: &str| groups[line.split_once("Group: ").unwrap().1.split(['<', '>']).nth(1).unwrap()].clone();
    of("COMM ").map(|line| (line.split_whitespace().nth(1).unwrap(), group(line))).collect()
}

pub(crate) fn count(records: impl Iterator<Item = String>) -> Records {
    let mut counted = Records::new();
    records.for_each(|record| *counted.entry(record).or_default() += 1);
    counted
}

/// The records of communication on lanes, in the order in which a reader of the whole archive sees them. All of a rank
/// are on its first lane.
pub(crate) fn in_order(directory: &Path) -> Vec<String> {
    let definitions = printed(directory, &["-G"]);
    let (names, communicators) = (locations(&definitions), communicators(&definitions));
    let of_lane = |line: &str| {
        let mut words = line.split_whitespace();
        let (kind, location) = (words.next()?, words.next()?);
        let lane = names.get(location).filter(|name| name.starts_with("NCCL "))?;
        let (comm, own) = rank(lane);
        assert!(!kind.starts_with("MPI_") || !lane.ends_with(')'), "whose is it? {line}");
        let other = |label| {
            let (of, other) = rank(name(line, label));
            assert_eq!(of, comm, "{line}");
            other.to_owned()
        };
        let is_own = || {
            let number = line.split_once("Communicator: ").unwrap().1.split(['<', '>']).nth(1).unwrap();
            assert_eq!(communicators[number], comm, "{lane}: {line}");
        };
        match kind {
            "MPI_SEND" => {
                is_own();
                Some(format!("{comm} {own} sends {} to {}", word(line, "Length: "), other("Receiver: ")))
            }
            "MPI_RECV" => {
                is_own();
                Some(format!("{comm} {own} receives {} of {}", word(line, "Length: "), other("Sender: ")))
            }
            "MPI_COLLECTIVE_BEGIN" => Some(format!("{comm} {own} begins")),
            "MPI_COLLECTIVE_END" => {
                is_own();
                let root = if line.contains("Root: NONE") { "none".to_owned() } else { other("Root: ") };
                let [operation, sent, received] =
                    ["Operation: ", "Sent: ", "Received: "].map(|label| word(line, label));
                Some(format!("{comm} {own} {operation} root {root} sent {sent} received {received}"))
            }
            _ => None,
        }
    };
    printed(directory, &[]).lines().filter_map(of_lane).collect()
}

/// The records of communication on lanes.
pub(crate) fn found(directory: &Path) -> Records {
    count(in_order(directory).into_iter())
}

/// Where a reader that matches records by their order would match other operations: the k-th collective of each rank of
/// a communicator, and the k-th send with the k-th receive of two ranks.
pub(crate) fn disorder(directory: &Path) -> Vec<String> {
    let mut collectives: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    let mut messages: BTreeMap<[String; 3], [Vec<String>; 2]> = BTreeMap::new();
    for record in in_order(directory) {
        let words: Vec<&str> = record.split(' ').collect();
        match words[..] {
            [comm, own, "sends", bytes, "to", other] => {
                messages.entry([comm, own, other].map(str::to_owned)).or_default()[0].push(bytes.to_owned());
            }
            [comm, own, "receives", bytes, "of", other] => {
                messages.entry([comm, other, own].map(str::to_owned)).or_default()[1].push(bytes.to_owned());
            }
            [comm, own, operation, "root", root, "sent", sent, "received", received] => {
                // what is the same on all ranks
                let bytes = if ["BCAST", "SCATTER"].contains(&operation) { received } else { sent };
                let of_rank = collectives.entry(comm.to_owned()).or_default().entry(own.to_owned()).or_default();
                of_rank.push(format!("{operation} {root} {bytes}"));
            }
            _ => {}
        }
    }
    let mut wrong = Vec::new();
    for (comm, ranks) in collectives {
        let first = ranks.values().next().unwrap();
        wrong.extend(ranks.iter().filter(|(_, own)| *own != first).map(|(rank, _)| format!("{comm}: rank {rank}")));
    }
    wrong.extend(messages.iter().filter(|(_, [sent, received])| sent != received).map(|(pair, _)| format!("{pair:?}")));
    wrong
}

/// The records that an operation must have, by the semantics of NCCL's function and the way MPI's adapter counts.
pub(crate) fn expected(operation: &Operation, ranks: i64) -> Vec<String> {
    let Operation { comm, rank, func, peer, root, bytes, .. } = operation;
    let prefix = format!("{comm} {rank}");
    if let Some(peer) = peer {
        return vec![match func.as_str() {
            "Send" => format!("{prefix} sends {bytes} to {peer}"),
            _ => format!("{prefix} receives {bytes} of {peer}"),
        }];
    }
    let is_root = *root == Some(*rank);
    let if_root = |bytes: i64| if is_root { bytes } else { 0 };
    let all = bytes * ranks;
    let (operation, has_root, sent, received) = match func.as_str() {
        "AllReduce" => ("ALLREDUCE", false, all, all),
        "AllGather" => ("ALLGATHER", false, all, all),
        "ReduceScatter" => ("REDUCE_SCATTER_BLOCK", false, all, all),
        "AlltoAll" => ("ALLTOALL", false, all, all),
        "Broadcast" => ("BCAST", true, if_root(all), *bytes),
        "Scatter" => ("SCATTER", true, if_root(all), *bytes),
        "Reduce" => ("REDUCE", true, *bytes, if_root(all)),
        "Gather" => ("GATHER", true, *bytes, if_root(all)),
        _ => return vec![],
    };
    let root = if has_root { root.unwrap().to_string() } else { "none".to_owned() };
    vec![format!("{prefix} begins"), format!("{prefix} {operation} root {root} sent {sent} received {received}")]
}
