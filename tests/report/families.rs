//! Communicators of one family: split with shared resources, and shrunk after a rank has died, with transfers that
//! another process makes (PXN). Each has its own members and operations, whichever thread made the callbacks.

use crate::report::report;
use crate::support::tool;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;

/// The communicators, each with its id and the job's ranks that are in it.
const JOB: (u64, &[u64]) = (0xaa, &[0, 1, 2, 3]);
const EVEN: (u64, &[u64]) = (0xcd, &[0, 2]);
const ODD: (u64, &[u64]) = (0xce, &[1, 3]);
/// Rank 1 has died.
const SHRUNK: (u64, &[u64]) = (0xef, &[0, 2, 3]);
const DEAD: u64 = 1;

/// Bytes of an all-reduce, and of a transfer.
const BYTES: u64 = 4096;

/// One process' recording as it is written.
struct Process {
    file: GzEncoder<File>,
    rank: u64,
    time: u64,
    handles: u64,
}

impl Process {
    fn new(directory: &Path, rank: u64) -> Self {
        let file = File::create(directory.join(format!("family.r{rank}.jsonl.gz"))).unwrap();
        let mut process = Self { file: GzEncoder::new(file, Compression::fast()), rank, time: 0, handles: 0 };
        let meta = json!({"cb": "meta", "format": 1, "api": 5, "mask": 4095, "pid": pid(rank),
            "real0": 1_795_151_200_000_000_000_u64, "mono0": 1_000_000_000, "dropped": 0});
        process.write(&meta);
        process
    }

    fn write(&mut self, line: &Value) {
        writeln!(self.file, "{line}").unwrap();
    }

    /// A callback of a thread, a microsecond after the one before.
    fn call(&mut self, thread: u64, mut line: Value) {
        self.time += 1000;
        line["t"] = json!(self.time);
        line["tid"] = json!(thread);
        self.write(&line);
    }

    fn start(&mut self, thread: u64, mut line: Value) -> u64 {
        self.handles += 1;
        line["cb"] = json!("start");
        line["h"] = json!(self.handles);
        self.call(thread, line);
        self.handles
    }

    /// The stamp of the GPU at this moment.
    fn stamp(&self) -> u64 {
        1_795_151_200_000_000_000 + self.time
    }

    fn join(&mut self, (id, members): (u64, &[u64]), context: u64) {
        let Some(rank) = members.iter().position(|member| *member == self.rank) else { return };
        self.call(
            1,
            json!({"cb": "init", "ctx": context, "comm": format!("{id:016x}"), "name": "", "nnodes": 2,
            "nranks": members.len(), "rank": rank}),
        );
    }

    /// An all-reduce with a transfer to the next rank. Where it does not end, the GPU and the transfer never do.
    fn all_reduce(&mut self, (_, members): (u64, &[u64]), context: u64, ends: bool) {
        let Some(rank) = members.iter().position(|member| *member == self.rank) else { return };
        let operation = self.start(
            1,
            json!({"ctx": context, "type": "Coll", "parent": 0, "rank": rank, "seq": 0, "func": "AllReduce",
            "count": BYTES / 4, "dtype": "ncclFloat32", "root": 0, "nch": 1, "nwarps": 8, "algo": "RING",
            "proto": "SIMPLE"}),
        );
        self.call(1, json!({"cb": "stop", "h": operation}));
        let stamp = self.stamp();
        let kernel = self.start(
            2,
            json!({"ctx": context, "type": "KernelCh", "parent": operation, "rank": rank, "ch": 0, "ptimer": stamp}),
        );
        self.transfer(context, operation, (rank + 1) % members.len(), ends);
        if ends {
            let stamp = self.stamp();
            self.call(2, json!({"cb": "state", "h": kernel, "state": 22, "arg": stamp}));
            self.call(2, json!({"cb": "stop", "h": kernel}));
        }
    }

    /// A transfer of an operation. Rank 2 leaves its own to rank 0, which makes it beside its own: its parent is a
    /// handle of rank 2, and one of rank 0 by chance.
    fn transfer(&mut self, context: u64, operation: u64, peer: usize, ends: bool) {
        let makers = match self.rank {
            0 => vec![0, 2],
            2 => vec![],
            own => vec![own],
        };
        for maker in makers {
            let proxy = self.start(
                2,
                json!({"ctx": context, "type": "ProxyOp", "parent": operation, "rank": 0, "pid": pid(maker), "ch": 0,
                "peer": peer, "nsteps": 1, "chunk": BYTES, "send": 1}),
            );
            let step =
                self.start(2, json!({"ctx": context, "type": "ProxyStep", "parent": proxy, "rank": 0, "step": 0}));
            for (state, bytes) in [(8, 0), (20, 0), (9, BYTES)].into_iter().take(if ends { 3 } else { 1 }) {
                self.call(2, json!({"cb": "state", "h": step, "state": state, "arg": bytes}));
            }
            for handle in [step, proxy].into_iter().filter(|_| ends) {
                self.call(2, json!({"cb": "stop", "h": handle}));
            }
        }
    }
}

fn pid(rank: u64) -> u64 {
    1000 + rank
}

/// Writes the recordings of all ranks.
fn record(directory: &Path) {
    for rank in 0..4 {
        let mut process = Process::new(directory, rank);
        process.join(JOB, 1);
        process.all_reduce(JOB, 1, true);
        process.join(EVEN, 2);
        process.join(ODD, 3);
        for _ in 0..2 {
            process.all_reduce(EVEN, 2, true);
            process.all_reduce(ODD, 3, true);
        }
        if rank != DEAD {
            process.all_reduce(JOB, 1, false);
            process.join(SHRUNK, 4);
            process.call(1, json!({"cb": "finalize", "ctx": 1}));
            (0..3).for_each(|_| process.all_reduce(SHRUNK, 4, true));
            [2, 3, 4]
                .into_iter()
                .filter(|context| *context == 4 || (*context == 2) == (rank % 2 == 0))
                .for_each(|context| process.call(1, json!({"cb": "finalize", "ctx": context})));
        }
        process.file.finish().unwrap();
    }
}

#[test]
fn a_family_of_communicators_has_its_members_and_its_operations() {
    let directory = TempDir::new().unwrap();
    record(directory.path());
    let text = tool::succeed(report([directory.path()]).args(["--json", "-"]));
    let report: Value = serde_json::from_str(&text).unwrap();
    let rows = report["communicators"]["known"]["rows"].as_array().unwrap();
    let columns = ["comm", "nranks", "here", "nnodes", "members", "operations", "bytes", "parent"];
    let found: Vec<Vec<&Value>> = rows.iter().map(|row| columns.map(|column| &row[column]).to_vec()).collect();
    let expected = |id: u64, ranks: u64, members: &str, operations: u64| {
        // NCCL names no parent
        let known = [json!(format!("{id:016x}")), json!(ranks), json!(ranks), json!(2), json!(members)];
        known.into_iter().chain([json!(operations), json!(operations * BYTES), Value::Null]).collect::<Vec<_>>()
    };
    let all = [
        // the work that was under way when rank 1 died counts for those that had entered it
        expected(JOB.0, 4, "0-3", 4 + 3),
        expected(EVEN.0, 2, "0,2", 2 * 2),
        expected(ODD.0, 2, "1,3", 2 * 2),
        expected(SHRUNK.0, 3, "0,2-3", 3 * 3),
    ];
    assert_eq!(
        format!("{found:?}"),
        format!("{:?}", all.iter().map(|row| row.iter().collect()).collect::<Vec<Vec<_>>>())
    );
    // a transfer that rank 0 has made for rank 2 is nobody's: not rank 0's either
    let states = report["transfers"]["known"]["states"].as_array().unwrap();
    let sent = |comm: u64| {
        let of_comm = states.iter().filter(move |row| row["comm"] == format!("{comm:016x}"));
        of_comm.map(|row| (row["rank"].as_i64().unwrap(), row["sent"].as_u64().unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(
        [JOB, EVEN, ODD, SHRUNK].map(|(id, _)| sent(id)),
        [vec![(0, 1), (1, 1), (3, 1)], vec![(0, 2)], vec![(0, 2), (1, 2)], vec![(0, 3), (2, 3)],]
    );
}
