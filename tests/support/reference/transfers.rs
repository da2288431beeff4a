//! Network transfers, by pair of ranks and by channel.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use super::channels::{ChannelsCompared, compared};
use super::fit::{Fit, fit};
use super::json::{Event, Recording, int};

/// A send: size in bytes, times in nanoseconds.
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

/// All sends from one rank of a communicator to another.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TransferRow {
    pub(crate) comm: String,
    pub(crate) rank: i64,
    pub(crate) peer: i64,
    pub(crate) transfers: usize,
    pub(crate) bytes: i64,
    pub(crate) sizes: usize,
    pub(crate) channels: usize,
    pub(crate) active_us: f64,
    pub(crate) sustained_rate_mb_s: Option<f64>,
    pub(crate) typical_rate_mb_s: Option<f64>,
    pub(crate) mean_in_flight: f64,
    pub(crate) max_in_flight: usize,
    pub(crate) fit: Option<Fit>,
    pub(crate) compared: Option<ChannelsCompared>,
}

/// The time that represents the transfers of a size, as in `NCCL_SCOREP_REGRESSION`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Regression {
    Median,
    Min,
    Avg,
}

/// All sends from one rank of a communicator to another over one channel.
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

/// Returns the rows of all processes, sorted by key.
pub(crate) fn rows(recordings: &[&Recording], regression: Regression) -> Result<Vec<TransferRow>, Box<dyn Error>> {
    let mut groups: BTreeMap<(String, i64, i64), Vec<Transfer>> = BTreeMap::new();
    for transfer in all(recordings)? {
        let key = (transfer.comm.clone(), transfer.rank, transfer.peer);
        groups.entry(key).or_default().push(transfer);
    }
    Ok(groups
        .into_iter()
        .map(|((comm, rank, peer), transfers)| row(comm, rank, peer, &transfers, regression))
        .collect())
}

fn row(comm: String, rank: i64, peer: i64, transfers: &[Transfer], regression: Regression) -> TransferRow {
    let bytes = transfers.iter().map(|transfer| transfer.bytes).sum();
    let active = union(transfers.iter().map(|transfer| (transfer.start, transfer.stop)).collect());
    let active_us = active as f64 / 1000.0;
    let services = services(transfers);
    let points = points(&services, regression);
    let compared = compared(transfers, regression);
    TransferRow {
        comm,
        rank,
        peer,
        transfers: transfers.len(),
        bytes,
        sizes: points.len(),
        channels: transfers.iter().map(|transfer| transfer.channel).collect::<BTreeSet<_>>().len(),
        active_us,
        sustained_rate_mb_s: if active > 0 { Some(bytes as f64 / active_us) } else { None },
        typical_rate_mb_s: typical(&services),
        mean_in_flight: services.iter().map(|service| service.in_flight).sum::<usize>() as f64 / services.len() as f64,
        max_in_flight: services.iter().map(|service| service.in_flight).max().unwrap_or(0),
        fit: fit(&points),
        compared,
    }
}

/// The service of a transfer by its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Service {
    pub(crate) bytes: i64,
    /// Nanoseconds.
    pub(crate) time: i64,
    /// Transfers in flight on the connection when this one starts, among those that stop no later; it counts itself.
    pub(crate) in_flight: usize,
}

/// Returns the service of each transfer of a pair: from its start, or from the stop before it on its channel if that is
/// later, to its stop.
pub(crate) fn services(transfers: &[Transfer]) -> Vec<Service> {
    let mut channels: BTreeMap<i64, Vec<&Transfer>> = BTreeMap::new();
    for transfer in transfers {
        channels.entry(transfer.channel).or_default().push(transfer);
    }
    let mut services = Vec::new();
    for mut transfers in channels.into_values() {
        transfers.sort_by_key(|transfer| (transfer.stop, transfer.start, transfer.bytes));
        for (number, transfer) in transfers.iter().enumerate() {
            let before = &transfers[..number];
            let begin = before.last().map_or(transfer.start, |before| before.stop.max(transfer.start));
            let in_flight = 1 + before.iter().filter(|before| before.stop > transfer.start).count();
            services.push(Service { bytes: transfer.bytes, time: transfer.stop - begin, in_flight });
        }
    }
    services
}

/// Returns each size with the time that represents it.
pub(crate) fn points(services: &[Service], regression: Regression) -> Vec<(i64, f64)> {
    let mut sizes: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for service in services {
        sizes.entry(service.bytes).or_default().push(service.time);
    }
    let point = |(bytes, times): (i64, Vec<i64>)| {
        let time = match regression {
            Regression::Median => median(times),
            Regression::Min => times.into_iter().min().unwrap_or(0) as f64,
            Regression::Avg => mean(&times),
        };
        (bytes, time)
    };
    sizes.into_iter().map(point).collect()
}

/// Returns the rate, in bytes per microsecond, of a connection that serves each transfer in the median time of its
/// size.
fn typical(services: &[Service]) -> Option<f64> {
    let medians: BTreeMap<i64, f64> = points(services, Regression::Median).into_iter().collect();
    let microseconds: f64 = services.iter().map(|service| medians[&service.bytes] / 1000.0).sum();
    let bytes: i64 = services.iter().map(|service| service.bytes).sum();
    (microseconds > 0.0).then(|| bytes as f64 / microseconds)
}

fn mean(times: &[i64]) -> f64 {
    times.iter().sum::<i64>() as f64 / times.len() as f64
}

/// Returns the mean of the times that lie in the same eighth of an octave as the lower median.
fn median(mut times: Vec<i64>) -> f64 {
    times.sort_unstable();
    let middle = times[(times.len() - 1) / 2];
    let mut octave = 1;
    while 2 * octave <= middle {
        octave *= 2;
    }
    let width = (octave / 8).max(1);
    let first = octave * i64::from(middle > 0) + (middle - octave).max(0) / width * width;
    times.retain(|&time| first <= time && time < first + width);
    mean(&times)
}

/// Returns the length that the intervals cover together.
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

/// Returns the channels of all processes, sorted by key.
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
        let latency_us = fit(&points(&services(&transfers), Regression::Median)).and_then(|fit| fit.latency_us);
        ChannelRow { comm, rank, peer, channel, transfers: count, bytes, mean_size_bytes, mean_time_us, latency_us }
    };
    Ok(groups.into_iter().map(row).collect())
}

/// Returns every transfer of these processes.
pub(crate) fn all(recordings: &[&Recording]) -> Result<Vec<Transfer>, Box<dyn Error>> {
    let mut transfers = Vec::new();
    for recording in recordings {
        for step in recording.events.iter().filter(|event| event.kind == "ProxyStep") {
            transfers.extend(transfer(recording, step)?);
        }
    }
    Ok(transfers)
}

/// Returns the transfer of a proxy step: a send of this process that has begun and ended.
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
