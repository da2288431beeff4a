//! What a job says after a look: ranks and nodes that begin to stand out or do no more, pauses, links, hangs, its end.

use super::finding::{
    FindingChange, FindingExcess, FindingSince, FindingSubject, SCHEMA, WatchFinding, WatchedProcess,
};
use super::hang::{HangChange, HangNews};
use super::job::WatchedJob;
use super::link::LinkNews;
use super::place::{Place, PlaceSince};
use super::sentence::{self, text_of};
use report::analysis::stragglers::rules::{MIN_EXCESS_SHARE, MIN_NODE_SHARE};
use std::collections::BTreeMap;

/// Looks for which a rank waits for others of its node that may be about to stand out with it.
const WAITS: u8 = 3;
/// Factor over the longest pause of a rank so far, from which on a further one is said: a rank that saves the job's
/// state pauses each time.
const LONGER: f64 = 2.0;

/// A rank that has paused, with the begin and the length in nanoseconds.
type PlacePause = (WatchedProcess, PlaceSince, f64);

impl WatchedJob {
    /// Says which places begin to stand out, are over, or have paused.
    pub(super) fn speak_of_places(&mut self, is_hasty: bool, time: u64, findings: &mut Vec<WatchFinding>) {
        let mut said: Vec<(FindingChange, FindingSubject)> = vec![];
        let mut by_node: BTreeMap<usize, Vec<&mut Place>> = BTreeMap::new();
        let mut pauses: BTreeMap<(String, u64), Vec<PlacePause>> = BTreeMap::new();
        let nodes = self.node_count();
        for place in self.places.values_mut().flatten() {
            for (process, since, pause) in std::mem::take(&mut place.pauses) {
                if pause.length > LONGER * place.paused {
                    place.paused = pause.length;
                    let key = (since.communicator.clone(), since.mark.number);
                    pauses.entry(key).or_default().push((process, since, pause.length));
                }
            }
            // processes before a restart, and those that have ended
            if !place.is_late(self.seen) {
                by_node.entry(place.node).or_default().push(place);
            }
        }
        for (node, mut places) in by_node {
            let all = places.len();
            let out = places.iter().filter(|place| !place.standing.is_empty()).count();
            let was = self.slow_nodes.contains(&node);
            let is_slow = |place: &&&mut Place| {
                !place.standing.is_empty() || place.recent.is_some_and(|it| it > MIN_EXCESS_SHARE)
            };
            let slow = places.iter().filter(is_slow).count() as f64;
            let is_most = nodes > 1 && all > 1 && slow >= MIN_NODE_SHARE * all as f64;
            let is = out * 2 >= all && (was || is_most && out > 1);
            if is != was {
                said.push(of_node(&places, is));
                self.slow_nodes.remove(&node);
                self.slow_nodes.extend(is.then_some(node));
                // of a node that is slow no more, the ranks that still are say so, and those that were said before
                // the node was say that they are over
                for place in &mut places {
                    let by_node = if is { !place.said } else { place.in_node };
                    place.said = if by_node { is } else { place.said };
                    place.in_node = is && by_node;
                }
            } else if !is {
                let rising = places.iter().any(|place| place.is_rising && place.standing.is_empty());
                let waits = (is_most || rising && nodes > 1) && !is_hasty;
                said.extend(places.into_iter().filter_map(|place| of_rank(place, waits)));
            }
        }
        for of in pauses.into_values() {
            said.extend(of_pause(of));
        }
        for (change, subject) in said {
            findings.push(self.finding(change, subject, time));
        }
    }

    /// Says what has become of a link.
    pub(super) fn speak_of_link(
        &mut self,
        (comm, pair): (&str, (i32, i32)),
        [from, to]: [WatchedProcess; 2],
        news: LinkNews,
        time: u64,
        findings: &mut Vec<WatchFinding>,
    ) {
        let key = (comm.to_owned(), pair);
        let (change, rate) = match news {
            LinkNews::Begins(rate) => {
                self.slow_links.insert(key);
                (FindingChange::Begins, Some(rate))
            }
            LinkNews::Over => {
                self.slow_links.remove(&key);
                (FindingChange::Over, None)
            }
        };
        findings.push(self.finding(change, FindingSubject::Link { from, to, rate }, time));
    }

    /// Says which causes of a hang begin or are over.
    pub(super) fn speak_of_hangs(&self, news: Vec<HangNews>, time: u64, findings: &mut Vec<WatchFinding>) {
        for news in news {
            let begins = news.change == HangChange::Begins;
            let change = if begins { FindingChange::Begins } else { FindingChange::Over };
            let subject = match news.is_process {
                true => FindingSubject::Process,
                false => FindingSubject::Hang { seconds: news.seconds },
            };
            findings.push(WatchFinding { text: sentence::of_hang(&news), ..self.finding(change, subject, time) });
        }
    }

    /// Says that the job is over.
    pub(super) fn said_over(&self, processes: usize, time: u64) -> WatchFinding {
        self.finding(FindingChange::Once, FindingSubject::Job { processes }, time)
    }

    fn finding(&self, change: FindingChange, subject: FindingSubject, time: u64) -> WatchFinding {
        let text = sentence::of(change, &subject);
        WatchFinding { schema: SCHEMA.into(), time: text_of(time), job: self.name.clone(), change, subject, text }
    }
}

/// Returns what is said of a rank, if anything. `waits`: others of its node may be about to stand out with it.
fn of_rank(place: &mut Place, waits: bool) -> Option<(FindingChange, FindingSubject)> {
    let stands = !place.standing.is_empty();
    if stands == place.said {
        return None;
    }
    // what has gone while it waited, or since the windows that have shown it, is not said
    let has_gone = place.strongest().is_some_and(|(_, excess)| excess.share() <= MIN_EXCESS_SHARE);
    if stands && (has_gone || place.standing.iter().all(|standing| standing.is_falling)) {
        return None;
    }
    if stands && waits && place.waits < WAITS {
        place.waits += 1;
        return None;
    }
    (place.said, place.waits) = (stands, 0);
    // its end names it as its begin does
    if let Some(rank) = place.strongest().filter(|_| stands).map(|(standing, _)| standing.rank) {
        place.process = place.process_as(rank);
    }
    let (change, excess) = if stands { (FindingChange::Begins, excess_of(place)) } else { (FindingChange::Over, None) };
    Some((change, FindingSubject::Rank { rank: place.process.clone(), excess }))
}

fn of_node(places: &[&mut Place], begins: bool) -> (FindingChange, FindingSubject) {
    let host = places.iter().find_map(|place| place.process.host.clone()).unwrap_or_default();
    let mut ranks: Vec<WatchedProcess> = places.iter().map(|place| place.process.clone()).collect();
    ranks.sort();
    let known: Vec<FindingExcess> = places.iter().filter_map(|place| excess_of(place)).collect();
    let mean = |value: fn(&FindingExcess) -> f64| known.iter().map(value).sum::<f64>() / known.len() as f64;
    let first = known.iter().min_by(|one, other| one.since.time.cmp(&other.since.time));
    let excess = first.filter(|_| begins).map(|first| FindingExcess {
        seconds: mean(|it| it.seconds),
        share: mean(|it| it.share),
        // without its excess, the node's ranks are as the others
        gain_at_most: known.iter().map(|it| it.share).fold(0.0, f64::max),
        z: known.iter().map(|it| it.z).fold(0.0, f64::max),
        ..first.clone()
    });
    let change = if begins { FindingChange::Begins } else { FindingChange::Over };
    (change, FindingSubject::Node { host, ranks, excess })
}

fn of_pause(mut of: Vec<PlacePause>) -> Option<(FindingChange, FindingSubject)> {
    of.sort_by(|one, other| one.0.cmp(&other.0));
    let seconds = of.iter().map(|(_, _, length)| *length).fold(0.0, f64::max) / 1e9;
    let since = since_of(&of.first()?.1);
    let ranks = of.into_iter().map(|(rank, _, _)| rank).collect();
    Some((FindingChange::Once, FindingSubject::Pause { ranks, seconds, since }))
}

fn excess_of(place: &Place) -> Option<FindingExcess> {
    let (standing, excess) = place.strongest()?;
    let share = excess.share();
    Some(FindingExcess {
        seconds: excess.excess / 1e9,
        window: excess.window / 1e9,
        share,
        gain_at_most: (excess.beyond_next / excess.window).clamp(0.0, share.max(0.0)),
        z: excess.z,
        peers: excess.peers,
        since: since_of(&standing.since),
    })
}

fn since_of(since: &PlaceSince) -> FindingSince {
    FindingSince {
        communicator: since.communicator.clone(),
        name: since.name.clone(),
        number: since.mark.number,
        time: text_of(since.mark.time),
    }
}
