//! The events that Score-P would record of one thread of an instrumented program.

use crate::trace::{Metric, ThreadTrace, TraceMoment};
use recording::{CallbackKind, RecordedEvent};
use scorep_substrate::replayed;
use std::collections::HashSet;

/// Region of the end of a group, in which NCCL launches the group's operations.
const GROUP_END: &str = "ncclGroupEnd";

/// Returns the numbers by which the calling thread reads counters.
pub(super) fn numbers(counters: &[Metric]) -> Vec<i32> {
    counters.iter().map(|counter| replayed::number(&counter.name)).collect()
}

/// The events that Score-P would record of one thread of an instrumented program: the calls of NCCL's API as regions,
/// with the counters that Score-P reads.
pub(super) struct Visits<'a> {
    /// The counters that Score-P reads; `None` where no trace is wanted, and no event is kept.
    counters: Option<&'a [Metric]>,
    tid: u32,
    /// Ids of the thread's counters; a thread has them from its first region on.
    ids: Option<Vec<i32>>,
    open: Vec<(u64, String)>,
    /// Groups of the API that have started and whose end has not begun; each group ends once.
    groups: HashSet<u64>,
    /// Whether the thread has left the end of a group. A group or launch after it, outside of all regions, belongs to
    /// the end of an outer group.
    has_ended_group: bool,
    moments: Vec<TraceMoment>,
}

impl<'a> Visits<'a> {
    /// Begins with a thread that has made no call yet.
    pub(super) fn new(counters: Option<&'a [Metric]>, tid: u32, ids: Option<Vec<i32>>) -> Self {
        Self {
            counters,
            tid,
            ids,
            open: Vec::new(),
            groups: HashSet::new(),
            has_ended_group: false,
            moments: Vec::new(),
        }
    }

    /// Returns whether Score-P knows the thread.
    pub(super) fn is_known(&self) -> bool {
        self.ids.is_some()
    }

    /// Enters the regions that begin before the plugin gets the call.
    pub(super) fn before(&mut self, what: &CallbackKind, time: u64) {
        if self.counters.is_none() {
            return;
        }
        match what {
            CallbackKind::Start { h, event, .. } => {
                let region = match event {
                    RecordedEvent::GroupApi { .. } => {
                        self.groups.insert(*h);
                        "ncclGroupStart".into()
                    }
                    RecordedEvent::CollApi { function, .. } | RecordedEvent::P2pApi { function, .. } => {
                        format!("nccl{}", function.as_deref().unwrap_or(common::name::UNKNOWN))
                    }
                    RecordedEvent::KernelLaunch { .. } | RecordedEvent::Group
                        if self.open.is_empty() && self.has_ended_group =>
                    {
                        GROUP_END.into()
                    }
                    _ => return,
                };
                self.visit(time, true, &region);
                self.open.push((*h, region));
            }
            CallbackKind::State { h, state: 24, .. } if self.groups.remove(h) => {
                self.visit(time, true, GROUP_END);
                self.open.push((*h, GROUP_END.into()));
            }
            _ => {}
        }
    }

    /// Leaves the regions that end after the plugin got the call.
    pub(super) fn after(&mut self, what: &CallbackKind, time: u64) {
        if let CallbackKind::Stop { h } = what {
            self.groups.remove(h);
        }
        let (CallbackKind::Stop { h } | CallbackKind::State { h, state: 23, .. }) = what else { return };
        if let Some((_, region)) = self.open.pop_if(|(open, _)| open == h) {
            self.visit(time, false, &region);
            self.has_ended_group |= region == GROUP_END;
        }
    }

    /// Records an enter or a leave. Score-P reads all counters of the thread right before it.
    pub(super) fn visit(&mut self, time: u64, enter: bool, region: &str) {
        let Some(counters) = self.counters else { return };
        let ids = self.ids.get_or_insert_with(|| numbers(counters));
        // a replay needs no time for what took the program's: it gives the collector the time here
        super::flush();
        let time = self.moments.last().map_or(time, |last| last.time.max(time));
        let values = ids.iter().map(|&id| replayed::value(id)).collect();
        self.moments.push(TraceMoment { time, enter, region: region.into(), values });
    }

    /// Leaves the regions that are still open at the end of a cut-off capture.
    pub(super) fn leave_all(&mut self) {
        let last = self.moments.last().map_or(0, |moment| moment.time);
        while let Some((_, region)) = self.open.pop() {
            self.visit(last, false, &region);
        }
    }

    pub(super) fn into_trace(self) -> ThreadTrace {
        ThreadTrace { name: format!("thread {}", self.tid), moments: self.moments }
    }
}
