//! A stretch of steps as it can be played again: who waits for whom, and how long transfers take.
//!
//! A rank has two clocks of progress, its host's and its GPU's ([`super::paths`]). A call begins when its host has
//! launched it, the computation that it needs is over, and the calls that it queues behind have ended.
//!
//! A call ends when the last rank that it waits for has begun, and the transfer is over. The transfer of a rank in a
//! collective goes from the latest begin to its own end. Where clocks do not say this well, the transfer of a
//! collective whose ranks end together is the shortest duration of all ranks: that of the rank that waits for no rank.

mod play;

use super::timed::{Joins, NeighbouringCalls, TimedCall};
use rustc_hash::FxHashMap;

/// No call.
pub(super) const NONE: u32 = u32::MAX;
/// Nanoseconds between two kernels that follow one another at once, at most.
const AT_ONCE_NS: i64 = 4_000;
/// Calls before a call, among which is the one of another stream that it queues behind.
const RECENT_CALLS: usize = 4;
/// Error of a comparison of begins up to which ends are compared with them: nanoseconds, and a share of a transfer.
const CLOSE_LIMITS: (i64, f64) = (10_000, 0.05);

/// Calls of a stretch of steps, GPU by GPU in the order of the host, with whom they wait for.
#[derive(Debug)]
pub(super) struct CallRun {
    pub(super) calls: Vec<TimedCall>,
    /// GPU of each call.
    pub(super) gpus: Vec<u32>,
    /// First call of each GPU, and the number of all calls.
    pub(super) first: Vec<usize>,
    /// The calls that each call queues behind: that before it on the same stream, and one of another stream that it
    /// began after at once.
    pub(super) queue: Vec<[u32; 2]>,
    /// Calls that begin together: of all ranks of a collective, or a call of messages with the calls that it meets, the
    /// call itself first.
    pub(super) parties: Vec<Vec<u32>>,
    /// Party of each call.
    party: Vec<u32>,
    /// The latest begin of each party, nanoseconds of the clock on which its calls were compared.
    latest: Vec<i64>,
    /// How long a call takes from the latest begin on, nanoseconds; of a call without partners, or one that left early,
    /// its duration.
    pub(super) transfer: Vec<i64>,
    /// Whether a call of a rooted collective ended before the last rank began.
    left_early: Vec<bool>,
    /// How long lone sends and receives take.
    pub(super) lasts: FxHashMap<u32, Lasts>,
}

/// How long a lone send or receive takes, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lasts {
    /// From its own begin on.
    pub(super) own: i64,
    /// From the other side's begin on; `None` if it waits for no rank.
    pub(super) other: Option<i64>,
}

/// Returns whether times are compared well enough to hold ends against begins: by the error that 19 of 20 do not exceed
/// and a duration, nanoseconds.
pub(super) fn is_close(likely: i64, duration: i64) -> bool {
    likely <= CLOSE_LIMITS.0.max((CLOSE_LIMITS.1 * duration as f64) as i64)
}

impl CallRun {
    /// Makes a stretch of its calls. How long its lone messages take is not known yet.
    pub(super) fn new(calls: NeighbouringCalls) -> Self {
        let mut first = vec![0];
        let count = calls.iter().map(Vec::len).sum();
        let (mut gpus, mut queue) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut all: Vec<TimedCall> = Vec::with_capacity(count);
        for (gpu, calls) in calls.into_iter().enumerate() {
            let mut last: FxHashMap<u16, u32> = FxHashMap::default();
            // the first call's place on the common clock is that of all of the GPU's calls
            let by = calls.first().map_or(0, |call| call.shift);
            for mut call in calls {
                (call.begin, call.end, call.shift) = (call.begin + by, call.end + by, call.shift - by);
                let on_stream = last.insert(call.stream, all.len() as u32).unwrap_or(NONE);
                let behind = |other: &u32| {
                    *other != on_stream && (0..=AT_ONCE_NS).contains(&(call.begin - all[*other as usize].end))
                };
                let recent = all.len().saturating_sub(RECENT_CALLS).max(first[gpu])..all.len();
                queue.push([on_stream, recent.rev().map(|it| it as u32).find(behind).unwrap_or(NONE)]);
                gpus.push(gpu as u32);
                all.push(call);
            }
            first.push(all.len());
        }
        let mut run = Self {
            calls: all,
            gpus,
            first,
            queue,
            parties: vec![],
            party: vec![NONE; count],
            latest: vec![],
            transfer: vec![0; count],
            left_early: vec![false; count],
            lasts: FxHashMap::default(),
        };
        run.meet();
        let begin = |&call: &u32| run.calls[call as usize].common()[0];
        run.latest = run.parties.iter().map(|party| party.iter().map(begin).max().unwrap_or(0)).collect();
        run
    }

    /// Finds the parties of all calls, and their transfers.
    fn meet(&mut self) {
        let mut order: Vec<u32> = (0..self.calls.len() as u32).collect();
        order.sort_by_key(|&call| self.calls[call as usize].occurrence);
        let mut at = 0;
        while at < order.len() {
            let occurrence = self.calls[order[at] as usize].occurrence;
            let end =
                at + order[at..].iter().take_while(|&&it| self.calls[it as usize].occurrence == occurrence).count();
            let group = &order[at..end];
            match self.calls[group[0] as usize].joins {
                Joins::Pairs => self.pair(group),
                joins => {
                    // no call meets a call without a time
                    let (timed, others): (Vec<u32>, Vec<u32>) =
                        group.iter().partition(|&&call| self.calls[call as usize].is_timed);
                    self.collect(&timed, joins);
                    others.iter().for_each(|&call| self.collect(&[call], joins));
                }
            }
            at = end;
        }
    }

    /// Finds the calls that each call of messages meets.
    fn pair(&mut self, group: &[u32]) {
        let mut ends: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
        for &call in group.iter().filter(|&&call| self.calls[call as usize].is_timed) {
            for &message in &self.calls[call as usize].messages {
                ends.entry(message).or_default().push(call);
            }
        }
        for &call in group {
            let of = &self.calls[call as usize];
            let met = of.messages.iter().filter(|_| of.is_timed).filter_map(|message| ends.get(message)).flatten();
            let mut others: Vec<u32> = met.copied().filter(|&other| other != call).collect();
            others.sort_unstable();
            others.dedup();
            let mut party = vec![call];
            party.extend(others);
            self.transfer[call as usize] = of.end - of.begin;
            self.party[call as usize] = self.parties.len() as u32;
            self.parties.push(party);
        }
    }

    fn collect(&mut self, group: &[u32], joins: Joins) {
        if group.is_empty() {
            return;
        }
        let of = |call: u32| &self.calls[call as usize];
        let latest = group.iter().map(|&call| of(call).common()[0]).max().unwrap_or(0);
        let last_end = group.iter().map(|&call| of(call).common()[1]).max().unwrap_or(0);
        let shortest = group.iter().map(|&call| of(call).end - of(call).begin).min().unwrap_or(0);
        let is_compared = group.iter().all(|&call| of(call).is_compared);
        let likely = group.iter().map(|&call| of(call).likely).max().unwrap_or(0);
        let is_close = is_compared && is_close(likely, shortest);
        for &call in group {
            let [begin, end] = of(call).common();
            let from_latest = (end - latest).max(0);
            let left_early = joins == Joins::Rooted && is_compared && end < latest;
            self.transfer[call as usize] = match joins {
                _ if left_early || group.len() == 1 => end - begin,
                Joins::Together if is_close => from_latest,
                Joins::Together => shortest,
                _ if !is_compared => shortest,
                // how long others would take if another rank were last lies between both
                Joins::AllToAll => (from_latest + last_end - latest) / 2,
                _ => from_latest,
            };
            self.left_early[call as usize] = left_early;
            self.party[call as usize] = self.parties.len() as u32;
        }
        self.parties.push(group.to_vec());
    }

    /// Returns the calls that a call begins together with; of messages, the call itself first.
    pub(super) fn party(&self, call: usize) -> &[u32] {
        &self.parties[self.party[call] as usize]
    }

    /// Returns how long a call waited for others, nanoseconds.
    pub(super) fn wait(&self, call: usize) -> i64 {
        self.latest[self.party[call] as usize] - self.calls[call].common()[0]
    }

    /// Returns the call before on the same GPU.
    pub(super) fn before(&self, call: usize) -> Option<usize> {
        (call > self.first[self.gpus[call] as usize]).then(|| call - 1)
    }

    /// Returns whether the own time before a call is known: it and the call before have a time.
    pub(super) fn is_known(&self, call: usize) -> bool {
        self.before(call).is_some_and(|before| self.calls[call].is_timed && self.calls[before].is_timed)
    }

    /// Returns when the host enqueued a call, where that is known.
    pub(super) fn enqueued(&self, call: usize) -> Option<i64> {
        let of = &self.calls[call];
        (of.lead > 0 && of.is_timed).then(|| of.begin - i64::from(of.lead))
    }

    /// Returns the call that a call queued behind longest, if it has any.
    pub(super) fn queued_behind(&self, call: usize) -> Option<usize> {
        let calls = self.queue[call].iter().filter(|&&it| it != NONE).map(|&it| it as usize);
        calls.max_by_key(|&it| self.calls[it].end)
    }
}
