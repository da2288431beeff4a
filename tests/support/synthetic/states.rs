//! Transfers whose states last known times: a rank that sends to peers and receives from peers, each pair with its own
//! cause of waiting. Steps are posted ahead as NCCL posts them, and pass the head of the queue one after the other.

use serde_json::{Value, json};

const PID: u32 = 4000;

/// The transfers between rank 0 and a peer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) peer: u32,
    pub(crate) sends: bool,
    /// Nanoseconds in each state: GPU wait after the post, peer wait at the head of the queue, network of a send;
    /// network at the head of the queue, flush, GPU wait of a receive.
    pub(crate) times: [u64; 3],
    /// Number of polls of the receiver while a send waits for it.
    pub(crate) polls: u64,
    /// Number of steps under way at a time.
    pub(crate) ahead: usize,
}

impl Pair {
    /// Number of transfers.
    pub(crate) const TRANSFERS: u64 = 40;
    /// Bytes of a transfer.
    pub(crate) const BYTES: u64 = 65_536;
}

/// Returns the capture of rank 0's process: one collective with all transfers of these pairs, pair after pair.
pub(crate) fn capture(pairs: &[Pair]) -> Vec<Value> {
    let nranks = pairs.len() + 1;
    let mut handles = 1..;
    let mut handle = || handles.next().unwrap();
    let operation = handle();
    let mut calls = vec![
        (0, json!({"cb": "init", "ctx": 1, "comm": "ab", "name": "", "nnodes": nranks, "nranks": nranks, "rank": 0})),
        (
            0,
            json!({
                "cb": "start", "ctx": 1, "h": operation, "type": "Coll", "parent": 0, "rank": 0, "seq": 0, "func": "AllReduce",
                "count": 3000, "dtype": "ncclInt8", "root": 0, "nch": 1, "nwarps": 8, "algo": "RING", "proto": "SIMPLE",
            }),
        ),
        (0, json!({"cb": "stop", "h": operation})),
    ];
    let mut now = 1_000;
    for pair in pairs {
        let proxy = handle();
        calls.push((now, json!({
            "cb": "start", "ctx": 1, "h": proxy, "type": "ProxyOp", "parent": operation, "rank": 0, "pid": PID, "ch": 0,
            "peer": pair.peer, "nsteps": Pair::TRANSFERS, "chunk": Pair::BYTES, "send": u32::from(pair.sends),
        })));
        let (mut stops, mut left_head) = (vec![], now);
        for number in 0..Pair::TRANSFERS {
            let posted = stops.iter().rev().nth(pair.ahead - 1).copied().unwrap_or(now);
            let step = handle();
            let begun = json!({
                "cb": "start", "ctx": 1, "h": step, "type": "ProxyStep", "parent": proxy, "rank": 0, "step": number,
            });
            calls.push((posted, begun));
            let [first, second, third] = pair.times;
            let states: [u32; 3] = if pair.sends { [8, 20, 9] } else { [10, 11, 12] };
            let entered = match pair.sends {
                true => (posted + first).max(left_head),
                false => posted.max(left_head) + first,
            };
            left_head = if pair.sends { entered + second } else { entered };
            let entered = [posted, entered, entered + second];
            for (state, at) in states.into_iter().zip(entered) {
                calls.push((at, json!({"cb": "state", "h": step, "state": state, "arg": Pair::BYTES})));
                if state == 20 {
                    let polls = (1..=pair.polls).map(|poll| at + second * poll / (pair.polls + 1));
                    calls.extend(polls.map(|at| (at, json!({"cb": "state", "h": step, "state": 20, "arg": 1}))));
                }
            }
            stops.push(entered[2] + third);
            calls.push((entered[2] + third, json!({"cb": "stop", "h": step})));
        }
        now = stops.last().copied().unwrap_or(now);
        calls.push((now, json!({"cb": "stop", "h": proxy})));
    }
    calls.push((now, json!({"cb": "finalize", "ctx": 1})));
    calls.sort_by_key(|(time, _)| *time);
    let meta =
        json!({"cb": "meta", "format": 1, "api": 5, "mask": 4095, "pid": PID, "real0": 0, "mono0": 0, "dropped": 0});
    let timed = calls.into_iter().map(|(time, mut call)| {
        (call["t"], call["tid"]) = (json!(time), json!(1));
        call
    });
    std::iter::once(meta).chain(timed).collect()
}
