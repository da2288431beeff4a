//! A job as large as one likes, whose rows are made as they are read: for measurements.

use common::name::NcclName;
use report::job::{
    Communicator, Gpu, Job, Member, OperationTables, Process, ProcessOperations, RankOperation, Time, TimedBy,
    Unreadable,
};

/// Ranks of a node, and of a communicator of its neighbours.
const NODE: usize = 8;
/// Rows of a rank in one step: twelve all-reduces in the node, three exchanges of two rows, two all-reduces over nodes.
const STEP: u64 = 20;
/// Length of a step, and distance of its operations, nanoseconds.
const PERIOD: u64 = 20_000_000;
const DISTANCE: u64 = 900_000;
/// Begin of the job on all clocks.
const BEGIN: u64 = 1 << 40;

/// A job of nodes with eight ranks each. The ranks of a node have a communicator, and so have the ranks with one place
/// in their nodes. Each rank's delays are between 0 and 63 us and different in every step.
#[derive(Debug)]
pub(crate) struct Large {
    /// The job.
    pub(crate) job: Job,
    rows: u64,
    names: [NcclName; 5],
}

impl Large {
    /// Makes a job of that many ranks with that many rows each.
    pub(crate) fn new(ranks: usize, rows: u64) -> Self {
        let names = [c"AllReduce", c"Send", c"Recv", c"RING", c"SIMPLE"].map(|name| NcclName::of(Some(name)));
        Self { job: job(ranks, rows), rows, names }
    }
}

fn job(ranks: usize, rows: u64) -> Job {
    let mut job = Job::default();
    let span = [BEGIN, BEGIN + (rows / STEP + 1) * PERIOD];
    for rank in 0..ranks {
        let node = rank / NODE;
        job.processes.push(Process {
            id: format!("{rank:016x}"),
            file: format!("rank {rank}"),
            host: Some(format!("node{node}")),
            boot: Some(format!("boot{node}")),
            rank: u32::try_from(rank).ok(),
            ranks: u32::try_from(ranks).ok(),
            mono0: BEGIN,
            real0: 1 << 60,
            span,
            complete: true,
            ..Process::default()
        });
        job.gpus.push(Gpu { process: rank, index: 0, name: format!("rank {rank}"), node });
    }
    let mut add = |comm: u64, ranks: Vec<usize>, nnodes: i32| {
        let members = ranks.iter().zip(0..).map(|(&gpu, rank)| Member { rank, gpu, made: BEGIN }).collect();
        job.places.insert(comm, job.communicators.len());
        let nranks = ranks.len() as i32;
        job.communicators.push(Communicator { comm, nranks, nnodes, members, ..Communicator::default() });
    };
    for node in 0..ranks / NODE {
        add(100 + node as u64, (node * NODE..(node + 1) * NODE).collect(), 1);
    }
    for place in 0..NODE {
        add(1 + place as u64, (place..ranks).step_by(NODE).collect(), (ranks / NODE) as i32);
    }
    job
}

/// Returns a number between 0 and 63,999 that looks random (SplitMix64's finalizer).
fn delay(step: u64, process: usize) -> u64 {
    let mut hash = (step << 20 | process as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (hash ^ (hash >> 31)) % 64_000
}

impl OperationTables for Large {
    fn operations(&self, process: usize) -> Result<ProcessOperations<'_>, Unreadable> {
        let (node, place) = (process / NODE, process % NODE);
        let [reduce, send, receive, ring, simple] = self.names;
        let row = move |row: u64| {
            let (step, at) = (row / STEP, row % STEP);
            // rows 12 to 17 are three exchanges, 18 and 19 go over nodes
            let is_message = (12..18).contains(&at);
            let is_over_nodes = at >= 18;
            let slot = if is_message { 12 + (at - 12) / 2 } else { at };
            let latest = BEGIN + step * PERIOD + slot * DISTANCE + 64_000;
            let start = latest - delay(step, process);
            let bytes = 1_u64 << (12 + slot / 2);
            let stop = latest + 20_000 + bytes / 100;
            let time = Time { start, stop, clock: [2_000; 2], ahead: 0 };
            let order = if is_over_nodes { step * 2 + at - 18 } else { step * 18 + at };
            let sequence = if is_over_nodes { order } else { step * 12 + at };
            let operation = RankOperation {
                comm: if is_over_nodes { 1 + place as u64 } else { 100 + node as u64 },
                rank: if is_over_nodes { node as i32 } else { place as i32 },
                function: reduce,
                sequence: Some(sequence),
                order,
                kernel: order,
                alone: true,
                bytes,
                count: Some(bytes / 4),
                datatype: NcclName::of(Some(c"ncclFloat")),
                algorithm: ring,
                protocol: simple,
                channels: 16,
                enqueued: start - 20_000,
                source: TimedBy::Stamps,
                duration: stop - start,
                time: Some(time),
                stream: 1,
                ..RankOperation::default()
            };
            if !is_message {
                return operation;
            }
            let is_send = at % 2 == 0;
            let peer = if is_send { (place + 1) % NODE } else { (place + NODE - 1) % NODE };
            let unknown = NcclName::none();
            RankOperation {
                function: if is_send { send } else { receive },
                sequence: None,
                peer: Some(peer as i32),
                group: Some(step * 3 + (at - 12) / 2),
                kernel: order - u64::from(!is_send),
                alone: false,
                algorithm: unknown,
                protocol: unknown,
                ..operation
            }
        };
        Ok(Box::new((0..self.rows).map(move |number| Ok(row(number)))))
    }
}
