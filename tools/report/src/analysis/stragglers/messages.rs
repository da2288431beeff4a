//! How long lone sends and receives take, whoever is late.
//!
//! ```text
//! end = max(own begin + own, begin of the other side + other)
//! ```
//! A receive ends when the data has come, `other` after the begin of the send; where the data lies in NCCL's buffers
//! already, it takes `own`, which is less. A small send is over when its data is in the buffers: it waits for no rank,
//! and there is no `other`. A larger one waits for the receive. What was measured shows one of both times, of the side
//! that came late; the one that counts if the other side is late is the usual one of like messages. Where these do not
//! show it, both are the time from the later begin on.

use super::run::{CallRun, Lasts, is_close};
use super::timed::{Joins, NeighbouringCalls};
use crate::analysis::robust::{median, quantile};
use rustc_hash::FxHashMap;

/// Messages that say how long one takes, at least.
const MIN_MESSAGES: usize = 8;
/// Nanoseconds after the end of a send from which on a receive is late.
const LATE_RECEIVE_NS: f64 = 20_000.0;
/// Share of late receives whose sends were over before, from which on sends wait for no rank.
const MIN_BUFFERED_SHARE: f64 = 0.9;

/// A message as one side measured it: whether that sends, by how much the other side began later, and the time from its
/// begin to its end.
#[derive(Debug, Clone, Copy)]
struct MessageSample {
    sends: bool,
    later: f64,
    time: f64,
}

/// Messages of one kind: of one GPU and communicator, or of all pairs inside a node, or of all between nodes. Then
/// whether it sends, and its bytes.
type MessageKind = (Option<[u32; 2]>, bool, bool, u64);

/// The usual times of a kind, nanoseconds, as far as its messages show them.
#[derive(Debug, Clone, Copy, Default)]
struct Usual {
    own: Option<f64>,
    other: Option<f64>,
    waits_for_nobody: bool,
}

/// Makes a stretch of its calls, with how long its lone messages take. `nodes` has the node of each GPU.
pub(super) fn run_of(calls: NeighbouringCalls, nodes: &[usize]) -> CallRun {
    let mut run = CallRun::new(calls);
    run.lasts = lasts(&run, nodes);
    run
}

/// Returns how long the lone messages of a stretch take, by call. `nodes` has the node of each GPU.
fn lasts(run: &CallRun, nodes: &[usize]) -> FxHashMap<u32, Lasts> {
    let samples: Vec<(u32, [MessageKind; 2], MessageSample)> =
        (0..run.calls.len()).filter_map(|call| sample(run, nodes, call)).collect();
    let mut by_kind: FxHashMap<MessageKind, Vec<MessageSample>> = FxHashMap::default();
    for (_, kinds, sample) in &samples {
        kinds.iter().for_each(|kind| by_kind.entry(*kind).or_default().push(*sample));
    }
    let usual: FxHashMap<MessageKind, Usual> = by_kind.iter().map(|(kind, samples)| (*kind, usual(samples))).collect();
    let of = |(call, kinds, sample): &(u32, [MessageKind; 2], MessageSample)| {
        let [pair, all] = kinds.map(|kind| usual.get(&kind).copied().unwrap_or_default());
        let known = Usual {
            own: pair.own.or(all.own),
            other: pair.other.or(all.other),
            waits_for_nobody: pair.waits_for_nobody || pair.other.is_none() && all.waits_for_nobody,
        };
        (*call, last(sample, &known))
    };
    samples.iter().map(of).collect()
}

fn sample(run: &CallRun, nodes: &[usize], call: usize) -> Option<(u32, [MessageKind; 2], MessageSample)> {
    let own = &run.calls[call];
    let other = match run.party(call) {
        &[_, other] if own.joins == Joins::Pairs && own.is_one_way => other as usize,
        _ => return None,
    };
    let of = &run.calls[other];
    let shortest = (own.end - own.begin).min(of.end - of.begin);
    let are_compared = own.is_compared && of.is_compared && is_close(own.likely.max(of.likely), shortest);
    if run.party(other) != [other as u32, call as u32] || !of.is_one_way || of.sends == own.sends || !are_compared {
        return None;
    }
    let [gpu, peer] = [call, other].map(|call| run.gpus[call]);
    let node = |gpu: u32| nodes.get(gpu as usize);
    let is_inside = node(gpu) == node(peer);
    let kinds = [Some([gpu, own.communicator]), None].map(|pair| (pair, is_inside, own.sends, own.bytes));
    let later = (of.common()[0] - own.common()[0]) as f64;
    let time = (own.end - own.begin) as f64;
    Some((call as u32, kinds, MessageSample { sends: own.sends, later, time }))
}

/// Finds the usual times of messages of one kind.
fn usual(samples: &[MessageSample]) -> Usual {
    let since_other = |sample: &MessageSample| sample.time - sample.later;
    let (other_late, own_late): (Vec<MessageSample>, Vec<MessageSample>) =
        samples.iter().partition(|sample| sample.later >= 0.0);
    let least = |samples: &[MessageSample], of: fn(&MessageSample) -> f64| {
        (samples.len() >= MIN_MESSAGES).then(|| quantile(&mut samples.iter().map(of).collect::<Vec<f64>>(), 0.25))
    };
    let least_other = least(&other_late, since_other);
    let least_own = least(&own_late, |sample| sample.time);
    let middle = |samples: &mut dyn Iterator<Item = f64>| {
        let mut values: Vec<f64> = samples.collect();
        (values.len() >= MIN_MESSAGES).then(|| median(&mut values))
    };
    // the side that counts is the one whose time is over last
    let own = least_own.and_then(|own| {
        let counts = |sample: &&MessageSample| least_other.is_none_or(|other| sample.later + other <= own);
        middle(&mut own_late.iter().filter(counts).map(|sample| sample.time))
    });
    let other = least_other.and_then(|other| {
        let counts = |sample: &&MessageSample| own.is_none_or(|own| sample.later + other >= own);
        middle(&mut other_late.iter().filter(counts).map(since_other))
    });
    let is_late = |sample: &&MessageSample| own.is_some_and(|own| sample.later > 1.5 * own + LATE_RECEIVE_NS);
    let late: Vec<&MessageSample> = other_late.iter().filter(is_late).collect();
    let over = late.iter().filter(|sample| sample.time < sample.later).count();
    let waits_for_nobody = late.len() >= MIN_MESSAGES && over as f64 >= MIN_BUFFERED_SHARE * late.len() as f64;
    Usual { own, other, waits_for_nobody }
}

/// Returns how long a message takes, such that it ends as measured if both sides begin as measured.
fn last(sample: &MessageSample, usual: &Usual) -> Lasts {
    let MessageSample { sends, later, time } = *sample;
    let since_later = time - later.max(0.0);
    if sends && (usual.waits_for_nobody || since_later < 0.0) {
        return Lasts { own: time as i64, other: None };
    }
    // data is there before the receive ends; clocks may say otherwise
    let since_later = since_later.max(0.0);
    let (own, other) = (usual.own.unwrap_or(since_later), usual.other.unwrap_or(since_later));
    let (own, other) =
        if later + other <= own { (time, other.min(time - later)) } else { (own.min(time), time - later) };
    Lasts { own: own as i64, other: Some(other as i64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages whose sides begin at these distances, microseconds.
    fn made(own: f64, other: f64, later: &[f64]) -> Vec<MessageSample> {
        let time = |later: f64| (1e3 * own).max(1e3 * (later + other));
        later.iter().map(|&later| MessageSample { sends: false, later: 1e3 * later, time: time(later) }).collect()
    }

    fn both() -> Vec<f64> {
        (0..40).map(|at| 100.0 * f64::from(at - 20)).collect()
    }

    #[test]
    fn a_receive_takes_longer_behind_a_late_send_than_with_data_that_has_come() {
        let usual = usual(&made(65.0, 415.0, &both()));
        assert_eq!((usual.own, usual.other, usual.waits_for_nobody), (Some(65e3), Some(415e3), false));
        // measured with a late send, it is asked with a late receive, and the reverse
        let late_send = MessageSample { sends: false, later: 1e6, time: 1.41e6 };
        assert_eq!(last(&late_send, &usual), Lasts { own: 65_000, other: Some(410_000) });
        let late_receive = MessageSample { sends: false, later: -1e6, time: 70e3 };
        assert_eq!(last(&late_receive, &usual), Lasts { own: 70_000, other: Some(415_000) });
    }

    #[test]
    fn a_small_send_waits_for_nobody() {
        let sends: Vec<MessageSample> =
            both().into_iter().map(|later| MessageSample { sends: true, later: 1e3 * later, time: 38e3 }).collect();
        let usual = usual(&sends);
        assert!(usual.waits_for_nobody);
        // also one that the receive was ready for
        assert_eq!(
            last(&MessageSample { sends: true, later: -5e5, time: 40e3 }, &usual),
            Lasts { own: 40_000, other: None }
        );
    }

    #[test]
    fn what_never_shows_is_as_long_as_what_does() {
        let usual = usual(&made(65.0, 415.0, &[500.0; 20]));
        assert_eq!(usual.own, None);
        assert_eq!(
            last(&MessageSample { sends: false, later: 5e5, time: 9e5 }, &usual),
            Lasts { own: 400_000, other: Some(400_000) }
        );
        let own_late = MessageSample { sends: false, later: -5e5, time: 3e5 };
        assert_eq!(last(&own_late, &Usual::default()), Lasts { own: 300_000, other: Some(300_000) });
    }
}
