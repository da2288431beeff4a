//! The verdict on an operation: who waited for whom, and for how long.

use super::call::{Call, CallKind, arrival};
use super::clocks::CommonClock;
use super::exchange::ExchangeNames;
use super::occurrence::{ComparedRanks, JudgedCall, Occurrence, RankPart};
use super::places::CommunicatorMembers;

/// Makes an occurrence of the calls that belong together, and compares their times.
pub(super) fn occurrence(
    number: u64,
    calls: Vec<Call>,
    is_whole: bool,
    team: &CommunicatorMembers,
    names: &ExchangeNames,
) -> Occurrence {
    let mut occurrence = Occurrence { number, parts: calls.into_iter().map(part).collect(), is_whole, compared: None };
    if is_whole && is_all_to_all(&occurrence.parts, team) {
        for part in &mut occurrence.parts {
            (part.call.kind, part.call.function) = (CallKind::AllToAll, names.all_to_all);
        }
    }
    occurrence
}

fn part(call: Call) -> RankPart {
    RankPart { call, span: None, wait: None, likely: 0, error: 0 }
}

/// Fills in the times of an occurrence's parts. `processes` are those of the parts.
pub(super) fn compare(occurrence: &mut Occurrence, processes: impl Iterator<Item = usize>, clocks: &CommonClock) {
    let parts = &mut occurrence.parts;
    let communicator = parts.first().map(|part| part.call.communicator);
    // a rank that meets one exchange of another rank with two of its own would wait for itself
    let is_once = parts.windows(2).all(|pair| pair[0].call.rank != pair[1].call.rank);
    let arrivals: Option<Vec<_>> = parts
        .iter()
        .map(|part| Some((part.call.rank, arrival(part.call.time, part.call.source)?)))
        .take_while(|_| occurrence.is_whole && is_once && parts.len() > 1)
        .collect();
    let waits = communicator.zip(arrivals).and_then(|(communicator, arrivals)| clocks.waits(communicator, &arrivals));
    match waits {
        Some(waits) => {
            for (part, wait) in parts.iter_mut().zip(&waits.ranks) {
                part.span = Some([wait.start, wait.stop]);
                (part.likely, part.error) = (wait.likely.ceil() as i64, wait.error.ceil() as i64);
            }
            occurrence.compared = compared(parts, waits.last);
        }
        None => {
            for (part, process) in parts.iter_mut().zip(processes) {
                let time = part.call.time.filter(|_| part.call.source.is_gpu());
                part.span = time.map(|time| [time.start, time.stop].map(|time| clocks.time(process, time)));
            }
            if occurrence.is_whole && parts.len() == 1 {
                occurrence.compared = compared(parts, None);
            }
        }
    }
    if let Some(ComparedRanks { latest_start, .. }) = occurrence.compared {
        for part in parts {
            // a rank whose buffered send or broadcast is over waits for no rank
            part.wait = part.span.map(|[start, stop]| latest_start.min(stop.max(start)) - start);
        }
    }
}

/// Returns the latest begin and end; `None` if one is unknown.
fn compared(parts: &[RankPart], last: Option<usize>) -> Option<ComparedRanks> {
    let spans = || parts.iter().map(|part| part.span);
    let latest = |side: usize| spans().try_fold(i64::MIN, |latest, span| Some(latest.max(span?[side])));
    Some(ComparedRanks { latest_start: latest(0)?, latest_stop: latest(1)?, last }).filter(|_| !parts.is_empty())
}

/// Returns whether every rank of the communicator sends to and receives from every other one. Two ranks that send and
/// receive are an exchange, unless both also send to themselves, as an all-to-all does.
fn is_all_to_all(parts: &[RankPart], team: &CommunicatorMembers) -> bool {
    let is_exchange = |part: &RankPart| part.call.kind == CallKind::Exchange;
    team.is_whole
        && team.ranks > 1
        && (team.ranks > 2 || parts.iter().all(|part| sends_to_itself(&part.call)))
        && parts.len() == team.ranks
        && parts.iter().all(is_exchange)
        && parts.windows(2).all(|pair| pair[0].call.rank < pair[1].call.rank)
        && parts.iter().all(|part| has_all_peers(&part.call, team.ranks))
}

fn sends_to_itself(call: &Call) -> bool {
    call.messages.iter().any(|message| message.is_send && message.peer == call.rank)
}

/// Returns whether an exchange sends to and receives from each of the other ranks, which are numbered from 0.
fn has_all_peers(call: &Call, ranks: usize) -> bool {
    if call.messages.len() < 2 * (ranks - 1) {
        return false;
    }
    let mut peers = vec![[false; 2]; ranks];
    for message in &call.messages {
        let peer = usize::try_from(message.peer).ok().filter(|_| message.peer != call.rank);
        if let Some(peer) = peer.and_then(|peer| peers.get_mut(peer)) {
            peer[usize::from(message.is_send)] = true;
        }
    }
    peers.iter().filter(|peer| **peer == [true; 2]).count() == ranks - 1
}

/// Returns each rank's part of all waits: equal parts for those that may have come last within the error.
fn shared(parts: &[RankPart], latest: Option<[i64; 2]>) -> Vec<i64> {
    let Some([latest, _]) = latest.filter(|_| parts.len() > 1) else { return vec![] };
    let may_be_last = |part: &RankPart| part.span.is_some_and(|[start, _]| start + part.likely >= latest);
    let last = parts.iter().filter(|part| may_be_last(part)).count().max(1) as i64;
    let waits: i64 =
        parts.iter().filter(|part| !may_be_last(part)).filter_map(|part| part.wait).fold(0, i64::saturating_add);
    parts.iter().map(|part| if may_be_last(part) { waits / last } else { 0 }).collect()
}

/// Returns the verdict on each part of an occurrence.
pub(super) fn verdicts(occurrence: Occurrence) -> impl Iterator<Item = JudgedCall> {
    let Occurrence { number, parts, compared, .. } = occurrence;
    let latest = compared.map(|compared| [compared.latest_start, compared.latest_stop]);
    let last = compared.and_then(|compared| compared.last);
    let waits = |place: usize| parts.iter().enumerate().filter(move |(other, _)| *other != place);
    let cost = last.map(|last| waits(last).filter_map(|(_, part)| part.wait).fold(0, i64::saturating_add));
    let shared = if last.is_none() { shared(&parts, latest) } else { vec![] };
    let begin = |place: usize| parts.get(place).and_then(|part| part.span).map(|[start, _]| start);
    let next = last.and_then(|last| waits(last).filter_map(|(other, _)| begin(other)).max());
    let margin = last.and_then(begin).zip(next).map_or(0, |(last, next)| last - next);
    parts.into_iter().enumerate().map(move |(place, part)| {
        let is_last = last == Some(place);
        let (cost, margin) = if is_last { (cost, margin) } else { (None, 0) };
        let shared = shared.get(place).copied().unwrap_or(0);
        JudgedCall { part, occurrence: number, latest, cost, shared, margin }
    })
}
