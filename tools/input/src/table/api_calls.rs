//! The API calls of a recording: their groups and their streams.

use std::collections::{HashMap, VecDeque};

/// API calls that are kept in case an operation names them as its parent. Operations of calls that were captured in a
/// CUDA graph may come at any time, so these calls are kept besides.
const CALLS: usize = 1 << 16;
/// Streams that get a number.
const STREAMS: usize = 1 << 16;

/// An API call, or a group of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct ApiCall {
    /// Handle of the group that it belongs to.
    pub(super) group: Option<u64>,
    /// Number of its stream; 0 of a group.
    pub(super) stream: u32,
    /// Nanoseconds of the process' clock.
    pub(super) time: u64,
    /// Whether a CUDA graph captured it.
    pub(super) is_captured: bool,
}

/// The API calls so far, by handle.
#[derive(Debug, Default)]
pub(super) struct ApiCalls {
    calls: HashMap<u64, ApiCall>,
    /// The calls that are forgotten one day, the oldest first.
    passing: VecDeque<u64>,
    streams: HashMap<u64, u32>,
}

impl ApiCalls {
    /// Returns the call of a handle.
    pub(super) fn called(&self, h: u64) -> Option<ApiCall> {
        self.calls.get(&h).copied()
    }

    /// Notes a group of calls.
    pub(super) fn add_group(&mut self, h: u64, time: u64, is_captured: bool) {
        self.add(h, ApiCall { group: Some(h), stream: 0, time, is_captured });
    }

    /// Notes a call within its group, the call or group `parent`. Returns the number of its stream.
    pub(super) fn add_call(&mut self, h: u64, parent: u64, (stream, time, graph): (u64, u64, bool)) -> u32 {
        let (stream, parent) = (self.stream(stream), self.called(parent));
        let is_captured = graph || parent.is_some_and(|parent| parent.is_captured);
        self.add(h, ApiCall { group: parent.and_then(|parent| parent.group), stream, time, is_captured });
        stream
    }

    fn add(&mut self, h: u64, call: ApiCall) {
        self.calls.insert(h, call);
        if call.is_captured {
            return;
        }
        self.passing.push_back(h);
        if self.passing.len() > CALLS
            && let Some(oldest) = self.passing.pop_front()
        {
            self.calls.remove(&oldest);
        }
    }

    /// Returns the number of a stream: 1, 2, ... in the order in which they occur, the default stream included; 0 of
    /// those beyond the 65,536th.
    pub(super) fn stream(&mut self, address: u64) -> u32 {
        let next = u32::try_from(self.streams.len() + 1).unwrap_or_default();
        match self.streams.get(&address) {
            Some(&number) => number,
            None if self.streams.len() < STREAMS => *self.streams.entry(address).or_insert(next),
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_forgotten_one_day_and_captured_ones_never() {
        let mut calls = ApiCalls::default();
        for h in 1..=CALLS as u64 + 2 {
            calls.add_call(h, 0, (1, h, h == 2));
        }
        let kept = [1, 2, 3].map(|h| calls.called(h).is_some());
        assert_eq!((calls.calls.len(), kept), (CALLS + 1, [false, true, true]));
    }

    #[test]
    fn calls_have_the_group_and_the_capture_of_their_parents() {
        let mut calls = ApiCalls::default();
        calls.add_group(1, 10, true);
        assert_eq!(calls.add_call(2, 1, (0xabc, 20, false)), 1);
        assert_eq!(calls.add_call(3, 2, (0xdef, 30, false)), 2);
        let inner = calls.called(3).unwrap();
        assert_eq!((inner.group, inner.stream, inner.time, inner.is_captured), (Some(1), 2, 30, true));
    }
}
