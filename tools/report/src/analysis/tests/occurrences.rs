//! Jobs and occurrences made by hand, for tests.

use super::calls::blank;
use crate::job::{Communicator, Gpu, Job, Member, Process, TimedBy};
use crate::stream::{Call, CallKind, ComparedRanks, JudgedCall, Listener, Message, Occurrence, RankPart};
use common::name::NcclName;

pub(in crate::analysis) fn name(text: &str) -> NcclName {
    NcclName::of_text(text)
}

/// Returns a job of GPUs on these nodes, a process each, with communicators of these GPUs. Their ids are 1, 2 and so
/// on.
pub(in crate::analysis) fn job(nodes: &[usize], communicators: &[&[usize]]) -> Job {
    let process = |(rank, node): (usize, &usize)| Process {
        id: format!("{rank:016x}"),
        file: format!("rank{rank}.bin"),
        host: Some(format!("host{node}")),
        rank: u32::try_from(rank).ok(),
        ranks: u32::try_from(nodes.len()).ok(),
        complete: true,
        ..Process::default()
    };
    let gpu = |(process, &node): (usize, &usize)| Gpu { process, index: 0, name: format!("rank {process}"), node };
    let communicator = |(place, gpus): (usize, &&[usize])| Communicator {
        comm: place as u64 + 1,
        nranks: gpus.len() as i32,
        nnodes: 1,
        members: (0..).zip(*gpus).map(|(rank, &gpu)| Member { rank, gpu, made: 0 }).collect(),
        ..Communicator::default()
    };
    Job {
        processes: nodes.iter().enumerate().map(process).collect(),
        gpus: nodes.iter().enumerate().map(gpu).collect(),
        communicators: communicators.iter().enumerate().map(communicator).collect(),
        places: (0..communicators.len()).map(|place| (place as u64 + 1, place)).collect(),
    }
}

/// Returns a call of a rank of a communicator, enqueued at time 0.
pub(in crate::analysis) fn call(job: &Job, communicator: usize, rank: usize, function: &str, bytes: u64) -> Call {
    Call {
        communicator,
        rank: rank as i32,
        gpu: job.communicators[communicator].members[rank].gpu,
        function: name(function),
        bytes,
        count: Some(bytes / 4),
        datatype: name("ncclFloat"),
        algorithm: name("RING"),
        protocol: name("SIMPLE"),
        source: TimedBy::Stamps,
        ..blank()
    }
}

/// Returns a call that sends and receives these messages: peer, whether it sends, bytes.
pub(in crate::analysis) fn exchange(
    job: &Job,
    communicator: usize,
    rank: usize,
    messages: &[(i32, bool, u64)],
) -> Call {
    let sum = |is_send| messages.iter().filter(|message| message.1 == is_send).map(|message| message.2).sum::<u64>();
    let function = match messages {
        [(_, true, _)] => "Send",
        [(_, false, _)] => "Recv",
        _ => "Exchange",
    };
    let message = |&(peer, is_send, bytes)| Message { peer, is_send, bytes, number: 0 };
    let messages: Box<[Message]> = messages.iter().map(message).collect();
    let bytes = sum(true).max(sum(false));
    Call { kind: CallKind::Exchange, messages, ..call(job, communicator, rank, function, bytes) }
}

/// Returns the occurrence of these calls with their begins and ends, compared with an error of `likely`.
pub(in crate::analysis) fn occurrence(number: u64, calls: Vec<(Call, [i64; 2])>, likely: i64) -> Occurrence {
    let latest_start = calls.iter().map(|(_, span)| span[0]).max().unwrap();
    let latest_stop = calls.iter().map(|(_, span)| span[1]).max().unwrap();
    let mut order: Vec<usize> = (0..calls.len()).collect();
    order.sort_by_key(|&place| std::cmp::Reverse(calls[place].1[0]));
    let last = match order.as_slice() {
        [last, next, ..] => (calls[*last].1[0] - calls[*next].1[0] > likely).then_some(*last),
        _ => None,
    };
    let part = |(call, span): (Call, [i64; 2])| RankPart {
        call: Call { duration: (span[1] - span[0]) as u64, ..call },
        span: Some(span),
        wait: Some(latest_start - span[0]),
        likely,
        error: 2 * likely,
    };
    let parts = calls.into_iter().map(part).collect();
    let compared = Some(ComparedRanks { latest_start, latest_stop, last });
    Occurrence { number, parts, is_whole: true, compared }
}

/// Returns a collective of all ranks of a communicator, with their begins and the common end.
pub(in crate::analysis) fn collective(
    job: &Job,
    number: u64,
    communicator: usize,
    function: &str,
    bytes: u64,
    starts: &[i64],
    stop: i64,
) -> Occurrence {
    let calls = starts.iter().enumerate().map(|(rank, &start)| {
        let sequence = Some((number, 0));
        (Call { sequence, ..call(job, communicator, rank, function, bytes) }, [start, stop])
    });
    occurrence(number, calls.collect(), 0)
}

/// Returns the calls of an occurrence with the verdicts on them.
pub(in crate::analysis) fn judged(occurrence: &Occurrence) -> Vec<JudgedCall> {
    let of = |(place, part): (usize, &RankPart)| {
        let compared = occurrence.compared;
        let last = compared.and_then(|compared| compared.last) == Some(place);
        let others = || occurrence.parts.iter().enumerate().filter(move |(other, _)| *other != place).map(|it| it.1);
        let next = others().filter_map(|part| part.span).map(|span| span[0]).max().unwrap_or(i64::MAX);
        JudgedCall {
            part: part.clone(),
            occurrence: occurrence.number,
            latest: compared.map(|compared| [compared.latest_start, compared.latest_stop]),
            cost: last.then(|| others().filter_map(|part| part.wait).sum()),
            shared: 0,
            margin: if last { part.span.unwrap()[0] - next } else { 0 },
        }
    };
    occurrence.parts.iter().enumerate().map(of).collect()
}

/// Plays occurrences to a listener: each of them, and then its calls.
pub(in crate::analysis) fn play(listener: &mut impl Listener, job: &Job, occurrences: &[Occurrence]) {
    for occurrence in occurrences {
        listener.occurrence(job, occurrence);
        judged(occurrence).iter().for_each(|judged| listener.call(job, judged));
    }
}
