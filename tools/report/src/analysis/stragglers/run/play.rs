//! A stretch of steps played again, with other own times or transfers.

use super::{AT_ONCE_NS, CallRun, Lasts, NONE};
use crate::analysis::stragglers::paths::CallPath;
use crate::analysis::stragglers::timed::Joins;
use std::collections::VecDeque;

/// Nanoseconds by which a begin may be known too early: that of an operation that CUDA events time.
const EVENTS_EARLY_NS: i64 = -100_000;

/// Returns the own times of a call's host and of its GPU, nanoseconds.
type PlayedTimes<'a> = &'a dyn Fn(usize) -> [i64; 2];

/// Not known yet, or never.
const OPEN: i64 = i64::MIN;

/// Times of a stretch that is being played.
#[derive(Debug)]
struct Played {
    /// Begin and end of each call.
    times: Vec<[i64; 2]>,
    /// When the host enqueued it, and when the computation before it was over.
    clocks: Vec<[i64; 2]>,
}

/// Changes the transfer of a call, or that between a call and another one that it meets.
type Scaled<'a> = &'a dyn Fn(usize, Option<usize>, i64) -> i64;

impl CallRun {
    /// Returns the transfer between a call of messages and a call that it meets, as measured: from the later begin on.
    /// With the call that began last (`is_latest`) it goes to the call's own end, with others at most to the earlier
    /// end of both. `None` for a call that was over before the other one began, as of a buffered send: it waited for
    /// nobody.
    fn between(&self, one: usize, other: usize, is_latest: bool) -> Option<i64> {
        let (of_one, of_other) = (&self.calls[one], &self.calls[other]);
        if !of_one.is_compared || !of_other.is_compared {
            // the call that began last waits for no rank, and needs no common clock
            return Some((of_one.end - of_one.begin).min(of_other.end - of_other.begin));
        }
        let [one, other] = [of_one.common(), of_other.common()];
        let end = if is_latest { one[1] } else { one[1].min(other[1]) };
        let transfer = end - one[0].max(other[0]);
        (transfer >= 0).then_some(transfer.min(one[1] - one[0]))
    }

    /// Plays the stretch. `own` returns the own time of a call's host and that of its GPU; `scaled` may change
    /// transfers. Returns begin and end of each call; `None` if calls wait for each other in a circle, as where
    /// operations of ranks were matched wrongly.
    pub(in super::super) fn play(
        &self,
        paths: &[CallPath],
        own: PlayedTimes<'_>,
        scaled: Scaled<'_>,
    ) -> Option<Vec<[i64; 2]>> {
        let count = self.calls.len();
        let mut played = Played { times: vec![[OPEN; 2]; count], clocks: vec![[OPEN; 2]; count] };
        let gpus = self.first.len() - 1;
        let mut next: Vec<usize> = self.first[..gpus].to_vec();
        // calls that queue behind one that has not ended: the host and the computation go on
        let mut queued: Vec<Vec<usize>> = vec![vec![]; gpus];
        let mut missing: Vec<u32> = self.parties.iter().map(|party| party.len() as u32).collect();
        let mut todo: VecDeque<usize> = (0..gpus).collect();
        let mut ended = vec![];
        while let Some(gpu) = todo.pop_front() {
            loop {
                let ready = queued[gpu].iter().position(|&call| self.is_free(call, &played.times));
                let call = if let Some(at) = ready {
                    queued[gpu].remove(at)
                } else if next[gpu] < self.first[gpu + 1] {
                    let call = next[gpu];
                    let Some(clocks) = self.clocks(call, &played, paths, own) else { break };
                    played.clocks[call] = clocks;
                    next[gpu] += 1;
                    if !self.is_free(call, &played.times) {
                        queued[gpu].push(call);
                        continue;
                    }
                    call
                } else {
                    break;
                };
                played.times[call][0] = self.begin(call, &played, paths);
                self.begun(call, &mut played.times, &mut missing, scaled, &mut ended);
                todo.extend(ended.drain(..).map(|call: usize| self.gpus[call] as usize).filter(|&of| of != gpu));
            }
        }
        let is_over = |gpu: usize| next[gpu] == self.first[gpu + 1] && queued[gpu].is_empty();
        (0..gpus).all(is_over).then_some(played.times)
    }

    /// Returns whether the calls that a call queues behind have ended.
    fn is_free(&self, call: usize, times: &[[i64; 2]]) -> bool {
        self.queue[call].iter().all(|&before| before == NONE || times[before as usize][1] != OPEN)
    }

    /// Returns when the host enqueues a call, and when the computation before it is over; `None` while that is not
    /// known.
    fn clocks(&self, call: usize, played: &Played, paths: &[CallPath], own: PlayedTimes<'_>) -> Option<[i64; 2]> {
        let Some(before) = self.before(call) else {
            let begin = self.calls[call].begin;
            return Some([self.enqueued(call).unwrap_or(OPEN), begin]);
        };
        let path = &paths[call];
        let end_of = |call: u32| Some(played.times[call as usize][1]).filter(|&end| end != OPEN);
        let [host, gpu] = own(call);
        let [enqueued, computed] = played.clocks[before];
        let enqueued = match path.released {
            _ if !path.has_host => OPEN,
            NONE => enqueued.saturating_add(host),
            // without a part beside it, all of the host's time is from the end on
            released => {
                let since = if path.beside > 0 { enqueued.saturating_add(host) } else { enqueued };
                since.max(end_of(released)? + host - i64::from(path.beside))
            }
        };
        let mut since = if path.from_host { computed.max(enqueued) } else { computed };
        if path.awaited != NONE {
            since = since.max(end_of(path.awaited)? - i64::from(path.ahead));
        }
        Some([enqueued, since + gpu])
    }

    fn begin(&self, call: usize, played: &Played, paths: &[CallPath]) -> i64 {
        let [enqueued, computed] = played.clocks[call];
        let mut begin = computed.max(enqueued.saturating_add(i64::from(paths[call].launch)));
        for &before in self.queue[call].iter().filter(|&&before| before != NONE) {
            let pause = (self.calls[call].begin - self.calls[before as usize].end).clamp(EVENTS_EARLY_NS, AT_ONCE_NS);
            begin = begin.max(played.times[before as usize][1] + pause);
        }
        begin
    }

    /// Finds the calls that end, now that a call has begun.
    fn begun(
        &self,
        call: usize,
        times: &mut [[i64; 2]],
        missing: &mut [u32],
        scaled: Scaled<'_>,
        ended: &mut Vec<usize>,
    ) {
        let begin = times[call][0];
        let party = self.party[call] as usize;
        if self.calls[call].joins == Joins::Pairs {
            if let Some(Lasts { own, other: None }) = self.lasts.get(&(call as u32)) {
                times[call][1] = begin + own;
            }
            // its own end, and that of each call that it meets
            for &other in &self.parties[party] {
                let of_other = self.party[other as usize] as usize;
                missing[of_other] -= u32::from(self.parties[of_other].contains(&(call as u32)));
                if missing[of_other] == 0 && times[other as usize][1] == OPEN {
                    times[other as usize][1] = self.end_of_pairs(other as usize, times, scaled);
                    ended.push(other as usize);
                }
            }
            return;
        }
        missing[party] -= 1;
        if self.left_early[call] {
            times[call][1] = begin + self.transfer[call];
        }
        if missing[party] == 0 {
            let members = &self.parties[party];
            let latest = members.iter().map(|&it| times[it as usize][0]).max().unwrap_or(begin);
            for member in members.iter().map(|&it| it as usize).filter(|&it| !self.left_early[it]) {
                times[member][1] = latest + scaled(member, None, self.transfer[member]);
                ended.push(member);
            }
        }
    }

    fn end_of_pairs(&self, call: usize, times: &[[i64; 2]], scaled: Scaled<'_>) -> i64 {
        let party = &self.parties[self.party[call] as usize];
        if let [_] = party[..] {
            return times[call][0] + self.transfer[call];
        }
        if let (Some(Lasts { own, other: Some(since) }), &[_, other]) = (self.lasts.get(&(call as u32)), &party[..]) {
            let scaled = |time: i64| scaled(call, Some(other as usize), time);
            return (times[call][0] + scaled(*own)).max(times[other as usize][0] + scaled(*since));
        }
        let begin = |call: u32| self.calls[call as usize].common()[0];
        let latest = party[1..].iter().copied().max_by_key(|&other| begin(other));
        let own = times[call][0] + self.transfer[call];
        let end = |&other: &u32| {
            let is_latest = latest == Some(other);
            let other = other as usize;
            let Some(transfer) = self.between(call, other, is_latest) else { return own };
            times[call][0].max(times[other][0]) + scaled(call, Some(other), transfer)
        };
        party[1..].iter().map(end).max().unwrap_or(times[call][0])
    }
}
