//! The critical path of a step: from its last end back to its begin.
//!
//! An operation ends when its transfer is over, and that begins with the rank that begins last. So the path goes from
//! the end of a call to the last begin of its operation, on that GPU back to the end that released it, which is the
//! latest one before that begin, and from there on in the same way.

use rustc_hash::FxHashMap;

/// Most pieces; of a longer path, the last ones.
const MAX_PIECES: usize = 10_000;

/// A call with its begin and end on the GPU, nanoseconds of the common clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PathCall {
    pub(super) gpu: usize,
    /// Its place among the GPU's calls.
    pub(super) place: usize,
    pub(super) span: [i64; 2],
    pub(super) occurrence: u64,
}

/// A piece of the path on one GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) gpu: usize,
    /// The call that began last; `None` between two calls of the GPU.
    pub(super) call: Option<PathCall>,
    pub(super) span: [i64; 2],
}

/// Returns the pieces by time, from `begin` on.
pub(super) fn critical(mut calls: Vec<PathCall>, begin: i64) -> Vec<Piece> {
    // by GPU, and in it by end
    calls.sort_unstable_by_key(|call| (call.gpu, call.span[1]));
    let mut of_occurrence: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
    for (place, call) in calls.iter().enumerate() {
        of_occurrence.entry(call.occurrence).or_default().push(place);
    }
    let release = |of: &PathCall| {
        let until = calls.partition_point(|call| (call.gpu, call.span[1]) <= (of.gpu, of.span[0]));
        calls.get(until.checked_sub(1)?).filter(|call| call.gpu == of.gpu)
    };
    let mut path = vec![];
    let mut next = calls.iter().max_by_key(|call| call.span[1]);
    while let Some(call) = next.filter(|_| path.len() < MAX_PIECES) {
        let [_, stop] = call.span;
        // a send may be over before its receive begins: that one it has not waited for
        let ranks = of_occurrence.get(&call.occurrence).into_iter().flatten().filter_map(|place| calls.get(*place));
        let Some(last) = ranks.filter(|rank| rank.span[0] < stop).max_by_key(|rank| rank.span[0]) else { break };
        path.push(Piece { gpu: last.gpu, call: Some(*last), span: [last.span[0], stop] });
        next = release(last);
        let own = [next.map_or(begin, |before| before.span[1]), last.span[0]];
        if own[0] < own[1] {
            path.push(Piece { gpu: last.gpu, call: None, span: own });
        }
    }
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces as GPU, place of the call, span.
    fn pieces(calls: &[(usize, u64, [i64; 2])], begin: i64) -> Vec<(usize, Option<u64>, [i64; 2])> {
        let call = |&(gpu, occurrence, span): &(usize, u64, [i64; 2])| PathCall { gpu, place: 0, span, occurrence };
        let found = critical(calls.iter().map(call).collect(), begin);
        found.into_iter().map(|piece| (piece.gpu, piece.call.map(|call| call.occurrence), piece.span)).collect()
    }

    /// GPU 1 is late for operation 1, and GPU 0 for operation 2.
    #[test]
    fn it_leads_through_the_ranks_that_began_last() {
        let calls = [(0, 1, [20, 70]), (1, 1, [50, 71]), (0, 2, [90, 110]), (1, 2, [80, 111])];
        let expected = [(1, None, [10, 50]), (1, Some(1), [50, 70]), (0, None, [70, 90]), (0, Some(2), [90, 111])];
        assert_eq!(pieces(&calls, 10), expected);
    }

    #[test]
    fn an_operation_that_another_one_released_at_once_has_no_own_time_before() {
        assert_eq!(pieces(&[(0, 1, [0, 5]), (0, 2, [5, 9])], 0), [(0, Some(1), [0, 5]), (0, Some(2), [5, 9])]);
    }

    /// The send of GPU 0 was buffered: it ended before GPU 1 began to receive.
    #[test]
    fn a_call_that_is_over_before_the_last_rank_begins_did_not_wait_for_it() {
        let calls = [(0, 1, [0, 5]), (1, 1, [30, 40]), (0, 2, [60, 70])];
        assert_eq!(pieces(&calls, 0), [(0, Some(1), [0, 5]), (0, None, [5, 60]), (0, Some(2), [60, 70])]);
    }

    #[test]
    fn calls_without_a_length_end_it() {
        assert_eq!(pieces(&[(0, 1, [7, 7]), (1, 1, [7, 7])], 0), []);
        assert_eq!(pieces(&[], 0), []);
    }
}
