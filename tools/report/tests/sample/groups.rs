//! The communicators of the sample, and their calls.

use super::scale::STEPS;
use report::answer::{
    Behind, Communicators, Difference, Dimension, Origin, ReportedCommunicator, Unfinished, Whereabouts,
};

/// GPUs of a node.
const NODE: usize = 8;

/// A communicator of the sample.
#[derive(Debug)]
pub(super) struct SampleCommunicator {
    /// Id.
    pub(super) comm: u64,
    /// `TP`, `DP` or `world`.
    pub(super) dimension: &'static str,
    /// Its ranks in the job.
    pub(super) members: Vec<usize>,
    /// Functions and bytes of a step, and how often.
    pub(super) functions: &'static [(&'static str, u64, u64)],
    /// Operations of a step.
    pub(super) calls: u64,
}

/// Functions of a tensor group in a step: name, bytes, number.
const TENSOR: [(&str, u64, u64); 2] = [("AllGather", 4 << 20, 8), ("ReduceScatter", 4 << 20, 8)];
const DATA: [(&str, u64, u64); 1] = [("AllReduce", 64 << 20, 2)];
const WORLD: [(&str, u64, u64); 1] = [("AllReduce", 8, 1)];

impl SampleCommunicator {
    fn new(comm: usize, dimension: &'static str, members: Vec<usize>) -> Self {
        let functions: &'static [_] = match dimension {
            "TP" => &TENSOR,
            "DP" => &DATA,
            _ => &WORLD,
        };
        let calls = functions.iter().map(|(_, _, number)| number).sum();
        Self { comm: 0x1a2b_3c4d_0000_0000 + comm as u64, dimension, members, functions, calls }
    }

    /// Returns the id as outputs write it.
    pub(super) fn id(&self) -> String {
        format!("{:016x}", self.comm)
    }

    /// Returns the dimension's name in outputs.
    pub(super) fn dimension(&self) -> String {
        if self.dimension == "world" { "unknown".to_owned() } else { self.dimension.to_owned() }
    }
}

/// The communicators of the sample.
#[derive(Debug)]
pub(super) struct Groups {
    /// Ranks of the job.
    pub(super) ranks: usize,
    /// The communicators: of all ranks, tensor groups, data groups.
    pub(super) list: Vec<SampleCommunicator>,
}

impl Groups {
    pub(super) fn of(ranks: usize) -> Self {
        let tensor = [8, 4, 2].into_iter().find(|size| ranks > *size && ranks.is_multiple_of(*size)).unwrap_or(1);
        let mut list = vec![SampleCommunicator::new(0, "world", (0..ranks).collect())];
        for first in (0..ranks).step_by(tensor) {
            list.push(SampleCommunicator::new(list.len(), "TP", (first..first + tensor).collect()));
        }
        for first in 0..tensor {
            list.push(SampleCommunicator::new(list.len(), "DP", (first..ranks).step_by(tensor).collect()));
        }
        Self { ranks, list }
    }

    /// Returns the node of a rank.
    pub(super) fn node(&self, rank: usize) -> usize {
        rank / NODE
    }

    pub(super) fn communicators(&self) -> Communicators {
        let made = |group: &SampleCommunicator| {
            let members = &group.members;
            let stride = members.get(1).map_or(1, |second| second - members[0]);
            let last = members[members.len() - 1];
            let texts = |ranks: &[usize]| ranks.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
            let bytes: u64 = group.functions.iter().map(|(_, bytes, number)| bytes * number).sum();
            ReportedCommunicator {
                comm: group.id(),
                name: if group.dimension == "world" { String::new() } else { format!("group {}", members[0]) },
                nranks: members.len() as i32,
                here: members.len() as u64,
                nnodes: (self.node(last) - self.node(members[0]) + 1).min(members.len()) as i32,
                members: if stride == 1 { format!("{}-{last}", members[0]) } else { texts(members) },
                made_us: Some(1500.0 * (group.comm & 0xffff) as f64),
                init_us: Some(800.0 + 10.0 * members.len() as f64),
                parent: (group.dimension != "world").then(|| self.list[0].id()),
                dimension: Dimension {
                    name: group.dimension(),
                    origin: if group.dimension == "world" { Origin::Unknown } else { Origin::Guessed },
                },
                operations: group.calls * (STEPS + 3) * members.len() as u64,
                bytes: bytes * (STEPS + 3) * members.len() as u64,
            }
        };
        Communicators { rows: self.list.iter().map(made).collect() }
    }

    /// Makes the last communicator one in which the last rank is an operation behind.
    pub(super) fn unfinished(&self) -> Unfinished {
        let Some(group) = self.list.last() else { return Unfinished::default() };
        let total = group.calls * (STEPS + 3);
        let whereabouts = |(rank, &gpu): (usize, &usize)| {
            let is_behind = rank + 1 == group.members.len();
            let at = |number| Some(("AllReduce".to_owned(), Some(number), 64 << 20));
            Whereabouts {
                rank: rank as i32,
                gpu,
                begun: total - u64::from(is_behind),
                ended: total - 1,
                last_begun: at(total - 1 - u64::from(is_behind)),
                last_ended: at(total - 2),
            }
        };
        let ranks: Vec<Whereabouts> = group.members.iter().enumerate().map(whereabouts).collect();
        let kept = ranks.len().saturating_sub(64);
        let last = group.members.len() as i32 - 1;
        let behind = Behind {
            comm: group.id(),
            ranks: ranks.into_iter().skip(kept).collect(),
            behind: last.to_string(),
            differs: Some(Difference {
                order: total - 1,
                one: (0, "AllReduce of 16777216 ncclFloat".to_owned()),
                other: (last, "AllReduce of 16777216 ncclBfloat16".to_owned()),
            }),
        };
        Unfinished { over: self.list.len() as u64 - 1, communicators: vec![behind] }
    }
}
