//! Measures how long a row takes in a pass: `cargo bench -p scorep-nccl-report --bench stream`. Further arguments are
//! the number of ranks and of operations of each.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on should stop")]

use common::name::NcclName;
use report::job::{
    Communicator, Gpu, Job, Member, OperationTables, Process, ProcessOperations, RankOperation, Time, TimedBy,
    Unreadable,
};
use report::stream::{CommonClock, JudgedCall, Listener, run};
use std::hint::black_box;
use std::time::Instant;

/// Ranks of a node, and of a communicator of its neighbours.
const NODE: usize = 8;

/// A job of several communicators whose rows are made as they are read.
#[derive(Debug)]
struct Rows {
    count: u64,
    names: [NcclName; 3],
}

fn job(ranks: usize) -> Job {
    let mut job = Job::default();
    for rank in 0..ranks {
        let node = rank / NODE;
        let (host, boot) = (Some(format!("node{node}")), Some(format!("boot{node}")));
        let (mono0, real0) = (1 << 40, 1 << 60);
        job.processes.push(Process { host, boot, mono0, real0, ..Process::default() });
        job.gpus.push(Gpu { process: rank, index: 0, name: format!("rank {rank}"), node });
    }
    let mut add = |comm: u64, ranks: Vec<usize>| {
        let members = ranks.iter().zip(0..).map(|(&gpu, rank)| Member { rank, gpu, made: 0 }).collect();
        job.places.insert(comm, job.communicators.len());
        let nranks = ranks.len() as i32;
        job.communicators.push(Communicator { comm, nranks, members, ..Communicator::default() });
    };
    for node in 0..ranks / NODE {
        add(100 + node as u64, (node * NODE..(node + 1) * NODE).collect());
    }
    for place in 0..NODE {
        add(place as u64, (place..ranks).step_by(NODE).collect());
    }
    job
}

impl OperationTables for Rows {
    fn operations(&self, process: usize) -> Result<ProcessOperations<'_>, Unreadable> {
        let (node, place) = (process / NODE, process % NODE);
        let [reduce, send, receive] = self.names;
        let row = move |row: u64| {
            let (number, kind) = (row / 5, row % 5);
            // the operations of a rank in the neighbours' communicator, and in that of all nodes
            let order = if kind == 4 { number } else { number * 4 + kind };
            let start = (1 << 40) + 1_000_000 * (number + 1) + 200_000 * kind.min(3);
            let time = Time { start, stop: start + 50_000, clock: [2_000; 2], ahead: 0 };
            let common = RankOperation {
                comm: if kind == 4 { place as u64 } else { 100 + node as u64 },
                rank: if kind == 4 { node as i32 } else { place as i32 },
                order,
                kernel: order,
                alone: true,
                bytes: 4096,
                count: Some(1024),
                enqueued: start - 20_000,
                source: TimedBy::Stamps,
                duration: 50_000,
                time: Some(time),
                ..RankOperation::default()
            };
            let exchange = RankOperation { alone: false, kernel: number * 4 + 2, group: Some(number), ..common };
            match kind {
                2 => RankOperation { function: send, peer: Some(((place + 1) % NODE) as i32), ..exchange },
                3 => RankOperation { function: receive, peer: Some(((place + NODE - 1) % NODE) as i32), ..exchange },
                4 => RankOperation { function: reduce, sequence: Some(number), ..common },
                _ => RankOperation { function: reduce, sequence: Some(number * 2 + kind), ..common },
            }
        };
        Ok(Box::new((0..self.count).map(move |number| Ok(row(number)))))
    }
}

/// A listener that looks at all calls.
#[derive(Debug, Default)]
struct Sum(i64);

impl Listener for Sum {
    fn call(&mut self, _: &Job, judged: &JudgedCall) {
        self.0 = self.0.wrapping_add(judged.part.wait.unwrap_or(0));
    }
}

fn main() {
    let mut numbers = std::env::args().filter_map(|text| text.parse().ok());
    let (ranks, count) = (numbers.next().unwrap_or(256_u64), numbers.next().unwrap_or(10_000));
    let job = job(ranks as usize);
    let rows = Rows { count, names: [c"AllReduce", c"Send", c"Recv"].map(|name| NcclName::of(Some(name))) };
    let all = (ranks * count) as f64;
    let each = |begin: Instant| begin.elapsed().as_nanos() as f64 / all;
    let begin = Instant::now();
    for process in 0..job.processes.len() {
        rows.operations(process).unwrap().for_each(|row| drop(black_box(row)));
    }
    println!("{ranks} ranks, {count} rows each; to make a row takes {:.0} ns", each(begin));
    let begin = Instant::now();
    let clocks = CommonClock::read(&job, &rows).unwrap();
    println!("clocks: {:.0} ns a row, error {:?} ns", each(begin), clocks.error());
    let begin = Instant::now();
    let mut sum = Sum::default();
    let counts = run(&job, &rows, &clocks, &mut [&mut sum]).unwrap();
    println!("stream: {:.0} ns a row, {} held at most", each(begin), counts.most_held);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().filter(|line| line.starts_with("VmHWM")).for_each(|line| println!("{line}"));
    black_box(sum);
}
