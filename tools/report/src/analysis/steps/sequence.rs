//! The calls of a GPU, made from its rows, each with a mark of the optimizer.

use super::token::{CallToken, Exchange, of_row};
use crate::analysis::dimension::Tally;
use crate::job::{Job, RankOperation};
use crate::stream::{MAX_ROWS_BETWEEN, Together};
use common::name::NcclName;

/// Most bytes of a small call: norms, losses and flags are numbers, one or a few.
pub(super) const MAX_SMALL_BYTES: u64 = 1 << 10;

/// What a call says of the optimizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// It leaves each rank a part of the gradients.
    Shards,
    /// It sums up a few numbers.
    Sum,
    /// Nothing.
    Other,
}

/// The functions that calls are marked by.
#[derive(Debug, Clone, Copy)]
pub(super) struct MarkedFunctions {
    reduce_scatter: NcclName,
    all_reduce: NcclName,
}

impl Default for MarkedFunctions {
    fn default() -> Self {
        Self { reduce_scatter: NcclName::of(Some(c"ReduceScatter")), all_reduce: NcclName::of(Some(c"AllReduce")) }
    }
}

impl MarkedFunctions {
    /// Returns the mark of a row that is no message.
    pub(super) fn mark(&self, row: &RankOperation) -> Mark {
        if row.function == self.reduce_scatter {
            Mark::Shards
        } else if row.function == self.all_reduce && (1..=MAX_SMALL_BYTES).contains(&row.bytes) {
            Mark::Sum
        } else {
            Mark::Other
        }
    }
}

/// An exchange to which more messages may come.
#[derive(Debug)]
struct OpenExchange {
    communicator: usize,
    together: Together,
    /// Place of its call.
    at: usize,
    /// Number of its last row.
    last: usize,
    exchange: Exchange,
    /// Other ranks that it receives from and sends to, each once.
    peers: [Vec<i32>; 2],
    to_itself: bool,
}

/// The calls of a GPU in the order of its host: tokens, exact and without counts, and times on the process' clock.
#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) tokens: [Vec<CallToken>; 2],
    /// Begin and end on the GPU, else the enqueue.
    pub(super) times: Vec<[u64; 2]>,
    /// Bytes; of an exchange, those of all messages.
    pub(super) bytes: Vec<u64>,
    /// What they say of the optimizer.
    pub(super) marks: Vec<Mark>,
    /// Whether there were more rows than are looked at.
    pub(super) is_cut: bool,
    rows: usize,
    open: Vec<OpenExchange>,
    send: NcclName,
    functions: MarkedFunctions,
}

impl Default for Sequence {
    fn default() -> Self {
        let (tokens, times, bytes, marks) = (Default::default(), vec![], vec![], vec![]);
        let (open, send, functions) = (vec![], NcclName::of(Some(c"Send")), MarkedFunctions::default());
        Self { tokens, times, bytes, marks, is_cut: false, rows: 0, open, send, functions }
    }
}

impl Sequence {
    pub(super) fn len(&self) -> usize {
        self.times.len()
    }

    /// Adds a row of a communicator whose place among those of its GPU is `own`.
    pub(super) fn add(&mut self, row: &RankOperation, communicator: usize, own: u32, job: &Job, tallies: &mut [Tally]) {
        self.rows += 1;
        let rows = self.rows;
        let is_ended = |open: &mut OpenExchange| {
            open.communicator == communicator && !open.together.goes_on(row)
                || (rows - open.last) as u64 > MAX_ROWS_BETWEEN
        };
        self.open.extract_if(.., is_ended).for_each(|open| close(&open, job, tallies));
        let times = row.time.map_or([row.enqueued; 2], |time| [time.start, time.stop]);
        let Some(peer) = row.peer else {
            if let Some(tally) = tallies.get_mut(communicator) {
                let [count, bytes] = tally.collectives.entry(row.function).or_default();
                *count += 1;
                *bytes = bytes.saturating_add(row.bytes);
            }
            return self.push(of_row(own, row), times, row.bytes, self.functions.mark(row));
        };
        let together = Together::shared_by(row);
        let is_here = |open: &OpenExchange| {
            open.communicator == communicator && open.together == together && together != Together::Alone
        };
        let place = self.open.iter().position(is_here).unwrap_or_else(|| {
            let (at, exchange) = (self.times.len(), Exchange::new(own));
            let (peers, to_itself) = (Default::default(), false);
            self.push(exchange.tokens(), times, 0, Mark::Other);
            self.open.push(OpenExchange { communicator, together, at, last: rows, exchange, peers, to_itself });
            self.open.len() - 1
        });
        let Some(open) = self.open.get_mut(place) else { return };
        let nranks = job.communicators.get(communicator).map_or(0, |communicator| communicator.nranks);
        let is_send = row.function == self.send;
        open.last = rows;
        open.exchange.add(row.rank, peer, nranks, is_send, row.bytes);
        open.to_itself |= peer == row.rank;
        let peers = &mut open.peers[usize::from(is_send)];
        if peer != row.rank && !peers.contains(&peer) {
            peers.push(peer);
        }
        if let Some([first, last]) = self.times.get_mut(open.at) {
            (*first, *last) = ((*first).min(times[0]), (*last).max(times[1]));
        }
        if let Some(bytes) = self.bytes.get_mut(open.at) {
            *bytes = bytes.saturating_add(row.bytes);
        }
        for (of, token) in self.tokens.iter_mut().zip(open.exchange.tokens()) {
            if let Some(place) = of.get_mut(open.at) {
                *place = token;
            }
        }
    }

    /// Ends what is open.
    pub(super) fn finish(&mut self, job: &Job, tallies: &mut [Tally]) {
        self.open.drain(..).for_each(|open| close(&open, job, tallies));
    }

    fn push(&mut self, tokens: [CallToken; 2], times: [u64; 2], bytes: u64, mark: Mark) {
        for (of, token) in self.tokens.iter_mut().zip(tokens) {
            of.push(token);
        }
        self.times.push(times);
        self.bytes.push(bytes);
        self.marks.push(mark);
    }
}

fn close(open: &OpenExchange, job: &Job, tallies: &mut [Tally]) {
    let others = job.communicators.get(open.communicator).map_or(0, |communicator| communicator.nranks.max(1) - 1);
    let Some(tally) = tallies.get_mut(open.communicator) else { return };
    tally.exchanges += 1;
    tally.all_to_all += u64::from(others > 0 && open.peers.iter().all(|peers| peers.len() == others as usize));
    tally.to_itself += u64::from(open.to_itself);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::steps::token::{OwnCommunicators, of_call};
    use crate::analysis::tests::calls::{collective, exchange, job, name, rows};

    /// Two exchanges of one group whose rows mix, a collective among them, and two lone sends.
    #[test]
    fn rows_and_calls_have_the_same_tokens() {
        let job = job(&[(1, &[0, 1, 2]), (2, &[2, 1, 0])]);
        let calls = [
            exchange(&job, 1, 0, &[(1, true, 10), (2, true, 20), (0, true, 5), (1, false, 10), (2, false, 9)]).judged(),
            exchange(&job, 2, 0, &[(1, true, 10), (1, false, 10)]).judged(),
            collective(&job, 2, 0, "AllReduce", 4).judged(),
            exchange(&job, 1, 0, &[(1, true, 1)]).judged(),
            exchange(&job, 1, 0, &[(1, true, 1)]).judged(),
        ];
        let [first, second, sum, one, other] = calls.each_ref().map(|judged| rows(&job, judged, 5));
        let mut mixed = vec![first[0], second[0], first[3], first[2], second[1], first[4], first[1]];
        mixed.extend(sum);
        mixed.extend([one, other].concat().into_iter().map(|row| RankOperation { group: None, alone: true, ..row }));
        let (own, mut tallies, mut sequence) =
            (OwnCommunicators::new(&job), vec![Tally::default(); 2], Sequence::default());
        for row in &mixed {
            let communicator = job.places[&row.comm];
            sequence.add(row, communicator, own.place(0, communicator), &job, &mut tallies);
        }
        sequence.finish(&job, &mut tallies);
        let expected = calls.each_ref().map(|judged| of_call(&own, &job, judged.call()));
        let found: Vec<[CallToken; 2]> =
            (0..sequence.len()).map(|at| [sequence.tokens[0][at], sequence.tokens[1][at]]).collect();
        assert_eq!(found, expected);
        let [first, second] = &tallies[..] else { panic!("two communicators") };
        assert_eq!((first.exchanges, first.all_to_all, first.to_itself, first.collectives()), (3, 1, 1, 0));
        assert_eq!((second.exchanges, second.all_to_all, second.function("AllReduce")), (1, 0, [1, 16]));
        assert_eq!(mixed[0].function, name("Send"));
    }
}
