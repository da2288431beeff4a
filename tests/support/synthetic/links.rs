//! Transfers over a link of known rate and latency, in closed form. A transfer starts when the transfer `depth` places
//! before it on its channel has stopped. The link serves it after the transfer before it, in latency + bytes / rate.

use serde_json::{Value, json};

const PID: u32 = 4000;
/// Number of transfers of a proxy operation.
const STEPS: usize = 50;
/// Sizes of the transfers, bytes.
const SIZES: [u64; 5] = [4096, 16_384, 65_536, 131_072, 524_288];

/// A link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    /// Time of a transfer in addition to that of its bytes, nanoseconds.
    pub(crate) latency: u64,
    /// Rate of each channel, MB/s.
    pub(crate) rate: u64,
    /// Number of transfers of a channel in progress at a time.
    pub(crate) depth: usize,
    /// One in this many transfers takes a millisecond more.
    pub(crate) disturbed: Option<usize>,
}

impl Link {
    /// Number of transfers over each channel.
    pub(crate) const TRANSFERS: usize = 1000;
    /// Number of channels.
    pub(crate) const CHANNELS: usize = 2;

    /// Returns start, stop and bytes of the transfers over a channel; times in nanoseconds.
    fn transfers(&self, channel: usize) -> Vec<(u64, u64, u64)> {
        let mut transfers: Vec<(u64, u64, u64)> = Vec::new();
        for number in 0..Self::TRANSFERS {
            let stop_before = |back: usize| number.checked_sub(back).map_or(1_000_000, |place| transfers[place].1);
            let bytes = SIZES[(number + number / SIZES.len()) % SIZES.len()];
            let start = stop_before(self.depth);
            let more = self.disturbed.is_some_and(|every| number % every == channel);
            let stop =
                start.max(stop_before(1)) + self.latency + bytes * 1000 / self.rate + 1_000_000 * u64::from(more);
            transfers.push((start, stop, bytes));
        }
        transfers
    }

    /// Returns the capture of the sender's process.
    pub(crate) fn capture(&self) -> Vec<Value> {
        let mut calls = Vec::new();
        let mut handles = 1..;
        let mut handle = || handles.next().unwrap();
        let operation = handle();
        calls.push((0, json!({"cb": "init", "ctx": 1, "comm": "ab", "name": "", "nnodes": 2, "nranks": 2, "rank": 0})));
        calls.push((0, json!({
            "cb": "start", "ctx": 1, "h": operation, "type": "Coll", "parent": 0, "rank": 0, "seq": 0, "func": "AllReduce", "count": 8,
            "dtype": "ncclInt8", "root": 0, "nch": 2, "nwarps": 8, "algo": "RING", "proto": "SIMPLE",
        })));
        calls.push((0, json!({"cb": "stop", "h": operation})));
        for channel in 0..Self::CHANNELS {
            for steps in self.transfers(channel).chunks(STEPS) {
                let proxy = handle();
                calls.push((steps[0].0, json!({
                    "cb": "start", "ctx": 1, "h": proxy, "type": "ProxyOp", "parent": operation, "rank": 0, "pid": PID, "ch": channel,
                    "peer": 1, "nsteps": STEPS, "chunk": 524_288, "send": 1,
                })));
                for (number, &(start, stop, bytes)) in steps.iter().enumerate() {
                    let step = handle();
                    let begun = json!({"cb": "start", "ctx": 1, "h": step, "type": "ProxyStep", "parent": proxy, "rank": 0, "step": number});
                    calls.push((start, begun));
                    calls.push((start, json!({"cb": "state", "h": step, "state": 9, "arg": bytes})));
                    calls.push((stop, json!({"cb": "stop", "h": step})));
                }
                calls.push((steps[STEPS - 1].1, json!({"cb": "stop", "h": proxy})));
            }
        }
        calls.sort_by_key(|&(time, _)| time);
        let (end, _) = calls[calls.len() - 1];
        calls.push((end, json!({"cb": "finalize", "ctx": 1})));
        let meta = json!({"cb": "meta", "format": 1, "api": 5, "mask": 4095, "pid": PID, "real0": 0, "mono0": 0, "dropped": 0});
        let timed = calls.into_iter().map(|(time, mut call)| {
            (call["t"], call["tid"]) = (json!(time), json!(1));
            call
        });
        std::iter::once(meta).chain(timed).collect()
    }
}
