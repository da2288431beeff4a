//! What crossed the network, by pair of ranks and by channel.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use super::fit::{Fit, fit};
use super::json::{Event, Recording, int};

/// One send: sizes in bytes, times in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Transfer {
    pub(crate) comm: String,
    pub(crate) rank: i64,
    pub(crate) peer: i64,
    pub(crate) channel: i64,
    pub(crate) bytes: i64,
    pub(crate) start: i64,
    pub(crate) stop: i64,
}

/// All sends of one rank of a communicator to another.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TransferRow {
    pub(crate) comm: String,
    pub(crate) rank: i64,
    pub(crate) peer: i64,
    pub(crate) transfers: usize,
    pub(crate) bytes: i64,
    pub(crate) sizes: usize,
    pub(crate) active_us: f64,
    pub(crate) active_rate_mb_s: Option<f64>,
    pub(crate) avg: Option<Fit>,
    pub(crate) min: Option<Fit>,
    pub(crate) rate_mb_s: Option<f64>,
    pub(crate) latency_us: Option<f64>,
}

/// All sends of one rank of a communicator to another over one channel.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChannelRow {
    pub(crate) comm: String,
    pub(crate) rank: i64,
    pub(crate) peer: i64,
    pub(crate) channel: i64,
    pub(crate) transfers: usize,
    pub(crate) bytes: i64,
    pub(crate) mean_size_bytes: f64,
    pub(crate) mean_time_us: f64,
    pub(crate) latency_us: Option<f64>,
}

/// The rows of all processes, by key.
pub(crate) fn rows(recordings: &[&Recording]) -> Result<Vec<TransferRow>, Box<dyn Error>> {
    let mut groups: BTreeMap<(String, i64, i64), Vec<Transfer>> = BTreeMap::new();
    for transfer in all(recordings)? {
        let key = (transfer.comm.clone(), transfer.rank, transfer.peer);
        groups.entry(key).or_default().push(transfer);
    }
    Ok(groups.into_iter().map(|((comm, rank, peer), transfers)| row(comm, rank, peer, &transfers)).collect())
}

fn row(comm: String, rank: i64, peer: i64, transfers: &[Transfer]) -> TransferRow {
    let bytes = transfers.iter().map(|transfer| transfer.bytes).sum();
    let active = union(transfers.iter().map(|transfer| (transfer.start, transfer.stop)).collect());
    let active_us = active as f64 / 1000.0;
    let active_rate_mb_s = if active > 0 { Some(bytes as f64 / active_us) } else { None };
    let points = points(transfers);
    let fastest = fastest(&points);
    let min = fit(&fastest);
    // Otherwise the rate is what arrived in the time it took.
    let good = min.filter(says_something);
    TransferRow {
        comm,
        rank,
        peer,
        transfers: transfers.len(),
        bytes,
        sizes: fastest.len(),
        active_us,
        active_rate_mb_s,
        avg: fit(&points),
        min,
        rate_mb_s: good.map_or(active_rate_mb_s, |good| good.rate_mb_s),
        latency_us: good.map(|good| good.latency_us),
    }
}

/// A fit is published when it has something to say.
fn says_something(min: &Fit) -> bool {
    min.n >= 3 && min.r2.is_some_and(|r2| r2 >= 0.8) && min.rate_mb_s.is_some_and(|rate| rate > 0.0)
}

/// (bytes, nanoseconds) of each.
pub(crate) fn points(transfers: &[Transfer]) -> Vec<(i64, i64)> {
    transfers.iter().map(|transfer| (transfer.bytes, transfer.stop - transfer.start)).collect()
}

/// The fastest time of each size.
pub(crate) fn fastest(points: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let sizes = points.iter().map(|&(bytes, _)| bytes).collect::<BTreeSet<_>>();
    let time = |size| points.iter().filter(|&&(bytes, _)| bytes == size).map(|&(_, time)| time).min();
    sizes.into_iter().filter_map(|size| Some((size, time(size)?))).collect()
}

/// The length that these intervals cover together.
pub(crate) fn union(mut intervals: Vec<(i64, i64)>) -> i64 {
    intervals.sort_unstable();
    let mut covered = 0;
    let mut end = i64::MIN;
    for (start, stop) in intervals {
        covered += (stop - start.max(end)).max(0);
        end = end.max(stop);
    }
    covered
}

/// The channels of all processes, by key.
pub(crate) fn channel_rows(recordings: &[&Recording]) -> Result<Vec<ChannelRow>, Box<dyn Error>> {
    let mut groups: BTreeMap<(String, i64, i64, i64), Vec<Transfer>> = BTreeMap::new();
    for transfer in all(recordings)? {
        let key = (transfer.comm.clone(), transfer.rank, transfer.peer, transfer.channel);
        groups.entry(key).or_default().push(transfer);
    }
    let row = |((comm, rank, peer, channel), transfers): ((String, i64, i64, i64), Vec<Transfer>)| {
        let count = transfers.len();
        let bytes: i64 = transfers.iter().map(|transfer| transfer.bytes).sum();
        let time: i64 = transfers.iter().map(|transfer| transfer.stop - transfer.start).sum();
        let mean_size_bytes = bytes as f64 / count as f64;
        let mean_time_us = time as f64 / count as f64 / 1000.0;
        let latency_us = fit(&fastest(&points(&transfers))).filter(says_something).map(|fit| fit.latency_us);
        ChannelRow { comm, rank, peer, channel, transfers: count, bytes, mean_size_bytes, mean_time_us, latency_us }
    };
    Ok(groups.into_iter().map(row).collect())
}

/// Every transfer of these processes.
pub(crate) fn all(recordings: &[&Recording]) -> Result<Vec<Transfer>, Box<dyn Error>> {
    let mut transfers = Vec::new();
    for recording in recordings {
        for step in recording.events.iter().filter(|event| event.kind == "ProxyStep") {
            transfers.extend(transfer(recording, step)?);
        }
    }
    Ok(transfers)
}

/// The transfer that a proxy step is, if it is one: of a send, of this process, begun and ended.
fn transfer(recording: &Recording, step: &Event) -> Result<Option<Transfer>, Box<dyn Error>> {
    let Some(op) = step.parent.map(|parent| &recording.events[parent]).filter(|op| op.kind == "ProxyOp") else {
        return Ok(None);
    };
    if int(&op.start, "send")? == 0 || int(&op.start, "pid")? != recording.pid {
        return Ok(None);
    }
    let (Some(wait), Some(stop)) = (step.state(9), step.stop) else {
        return Ok(None);
    };
    let context = recording.context(op)?;
    Ok(Some(Transfer {
        comm: context.comm.clone(),
        rank: context.rank,
        peer: int(&op.start, "peer")?,
        channel: int(&op.start, "ch")?,
        bytes: int(wait, "arg")?,
        start: int(wait, "t")?,
        stop,
    }))
}
