//! Transfers between pairs of ranks: over the network by the summaries' sums, and messages by the stream.

mod classes;
mod explained;
mod outlier;
#[cfg(test)]
mod tests;

use super::fold::Keyed;
use crate::answer::{Dimension, Pairs, Part, RankPair};
use crate::job::Job;
use crate::stream::{Listener, Message, Occurrence};
use classes::ClassNames;
use common::channel_fits::largest_of_unlike;
use common::summary::Transfers;
pub use outlier::{LateRanks, MIN_EFFECT, MIN_LATE_SHARE};

/// Most pairs that have a row, of all communicators.
pub const MAX_PAIRS: usize = 1 << 20;

/// Sums of the messages of a pair.
#[derive(Debug, Clone, Copy, Default)]
struct MessageSum {
    messages: u64,
    bytes: u64,
    /// Messages both of whose times are known on one clock, and how long one side waited for the other, nanoseconds.
    compared: u64,
    late_sender: u64,
    late_receiver: u64,
    lone: Lone,
}

/// Sums of the messages of a pair that were alone in their exchange.
#[derive(Debug, Clone, Copy, Default)]
struct Lone {
    count: u64,
    bytes: u64,
    /// Of the transfers, nanoseconds, and of their squares.
    time: f64,
    squares: f64,
}

impl Lone {
    fn add(&mut self, bytes: u64, transfer: u64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.time += transfer as f64;
        self.squares += (transfer as f64).powi(2);
    }

    /// Returns the rate and its standard error, GB/s. The relative error is that of the mean transfer.
    fn rate(&self) -> Option<(f64, Option<f64>)> {
        let rate = (self.time > 0.0).then(|| self.bytes as f64 / self.time)?;
        let count = self.count as f64;
        let mean = self.time / count;
        let variance = ((self.squares / count - mean * mean) * count / (count - 1.0)).max(0.0);
        Some((rate, (self.count > 1).then(|| rate * (variance / count).sqrt() / mean)))
    }
}

/// Listens for messages. Of a send and its receive, **late sender** is the time from the receive's begin to the send's,
/// or to the receive's end if that was earlier; **late receiver** is the reverse; never below 0.
#[derive(Debug, Default)]
pub struct Messages {
    /// By communicator, sender and receiver.
    sums: Keyed<(usize, i32, i32), MessageSum, MAX_PAIRS>,
}

/// A communicator's id, a sender and a receiver.
type PairKey = (u64, i32, i32);

impl Messages {
    /// Begins to listen. Transfers of so many pairs found no room elsewhere.
    pub fn with_left_out(transfers: u64) -> Self {
        let mut messages = Self::default();
        messages.sums.others.messages = transfers;
        messages
    }

    /// Returns the part of the answer, with the transfers over the network by the summaries of the job's processes.
    /// Dimensions are by place of the communicator.
    pub fn finish(self, job: &Job, dimensions: &[Dimension], transfers: &[Transfers], late: &LateRanks) -> Part<Pairs> {
        let mut rows: Keyed<PairKey, RankPair, MAX_PAIRS> = Keyed::default();
        rows.others.messages = self.sums.others.messages;
        for ((place, rank, peer), sum) in self.sums.into_sorted() {
            let Some(communicator) = job.communicators.get(place) else { continue };
            let row = rows.value((communicator.comm, rank, peer));
            let microseconds = |time: u64| (sum.compared > 0).then(|| time as f64 / 1e3);
            row.messages = sum.messages;
            row.message_bytes = sum.bytes;
            row.late_sender_us = microseconds(sum.late_sender);
            row.late_receiver_us = microseconds(sum.late_receiver);
            (row.lone, row.lone_error) = sum.lone.rate().map_or((None, None), |(rate, error)| (Some(rate), error));
        }
        let largest = largest_of_unlike(transfers.iter().filter_map(|of_pair| of_pair.channel_fits.as_ref()));
        for of_pair in transfers {
            let Ok(comm) = u64::from_str_radix(&of_pair.comm, 16) else { continue };
            let row = rows.value((comm, of_pair.rank, of_pair.peer));
            add(row, of_pair);
            let fits = of_pair.channel_fits.as_ref();
            row.channels_alike = fits.map(|fits| largest.is_none_or(|largest| fits.chance > largest));
        }
        if rows.is_empty() {
            return Part::Absent(
                "There are no pairs: NCCL reported no sends and receives, and no transfers over the network.".into(),
            );
        }
        let classes = ClassNames::new(job);
        let left_out = rows.others.messages.saturating_add(rows.others.transfers);
        let rows = rows.into_sorted().into_iter();
        let mut rows: Vec<RankPair> = rows.map(|(key, row)| placed(job, &classes, key, row)).collect();
        outlier::mark(job, &classes::comparable(job, dimensions, &rows), late, &mut rows);
        let slow = explained::explain(job, &rows);
        Part::Known(Pairs { rows, left_out, slow })
    }

    /// Adds a message, with begin and end of its send, and of its receive, and its transfer if it is alone.
    fn add(&mut self, key: (usize, i32, i32), bytes: u64, spans: Option<[[i64; 2]; 2]>, lone: Option<u64>) {
        let sum = self.sums.value(key);
        if let Some(transfer) = lone {
            sum.lone.add(bytes, transfer);
        }
        sum.messages += 1;
        sum.bytes = sum.bytes.saturating_add(bytes);
        let Some([[send, sent], [receive, received]]) = spans else { return };
        sum.compared += 1;
        sum.late_sender = sum.late_sender.saturating_add((send.min(received) - receive).max(0).unsigned_abs());
        sum.late_receiver = sum.late_receiver.saturating_add((receive.min(sent) - send).max(0).unsigned_abs());
    }
}

/// Adds the transfers of a pair. Only one summary has a pair: that of the sender's process.
fn add(row: &mut RankPair, of_pair: &Transfers) {
    let gigabytes = |rate: Option<f64>| rate.map(|rate| rate / 1e3);
    row.transfers = row.transfers.saturating_add(of_pair.transfers);
    row.bytes = row.bytes.saturating_add(of_pair.bytes);
    row.channels = row.channels.max(of_pair.channels);
    row.sustained = gigabytes(of_pair.sustained_rate_mb_s);
    row.typical = gigabytes(of_pair.typical_rate_mb_s);
    row.typical_error = gigabytes(of_pair.typical_error_mb_s);
    row.fitted = of_pair.fit.as_ref().map(|fit| fit.rate_mb_s / 1e3);
    row.latency_us = of_pair.fit.as_ref().and_then(|fit| fit.latency_us);
}

/// Returns a row with its keys, GPUs and class.
fn placed(job: &Job, ways: &ClassNames, (comm, rank, peer): PairKey, row: RankPair) -> RankPair {
    let [from, to] = [rank, peer].map(|rank| job.gpu(comm, rank));
    let class = ways.class(job, from, to);
    RankPair { comm: format!("{comm:016x}"), rank, peer, from, to, class, ..row }
}

impl Listener for Messages {
    fn occurrence(&mut self, _job: &Job, occurrence: &Occurrence) {
        let parts = &occurrence.parts;
        if parts.iter().all(|part| part.call.messages.is_empty()) {
            return;
        }
        let received: Vec<Vec<(i32, u64)>> = parts.iter().map(|part| receives(&part.call.messages)).collect();
        let is_compared = occurrence.compared.is_some();
        let is_lone = parts.len() == 2 && parts.iter().all(|part| part.call.messages.len() == 1 && !part.call.is_fused);
        // who comes last waits for no rank, on any clock
        let lone = parts.iter().map(|part| Some(part.call.duration).filter(|&it| it > 0 && part.call.source.is_gpu()));
        let transfer = lone.min().flatten().filter(|_| is_lone);
        for part in parts {
            let is_of_pair = |message: &&Message| message.is_send && message.peer != part.call.rank;
            for message in part.call.messages.iter().filter(is_of_pair) {
                let Ok(place) = parts.binary_search_by_key(&message.peer, |part| part.call.rank) else { continue };
                let (Some(other), Some(receives)) = (parts.get(place), received.get(place)) else { continue };
                if receives.binary_search(&(part.call.rank, message.number)).is_err() {
                    continue;
                }
                let spans = part.span.zip(other.span).filter(|_| is_compared).map(|(send, other)| [send, other]);
                self.add((part.call.communicator, part.call.rank, message.peer), message.bytes, spans, transfer);
            }
        }
    }
}

/// Returns the senders and numbers of the messages that are received, sorted.
fn receives(messages: &[Message]) -> Vec<(i32, u64)> {
    let received = messages.iter().filter(|message| !message.is_send);
    let mut received: Vec<(i32, u64)> = received.map(|message| (message.peer, message.number)).collect();
    received.sort_unstable();
    received
}
