//! What an instrumented program would show of one thread.

use super::functions::Functions;
use super::scorep::MetricPlugin;
use crate::capture::{Event, What};
use crate::trace::{Moment, ThreadTrace};
use std::collections::HashSet;

/// The region where a group ends and what is in it is launched.
const GROUP_END: &str = "ncclGroupEnd";

/// What Score-P reads counters with.
#[derive(Clone, Copy)]
pub(super) struct ScoreP<'a> {
    pub(super) counters: &'a MetricPlugin,
    pub(super) library: &'a Functions,
}

/// What an instrumented program would show of one thread: the calls of NCCL's API as regions, with the counters Score-P
/// reads.
pub(super) struct Visits<'a> {
    /// Where they come from; without them nothing is shown.
    score_p: Option<ScoreP<'a>>,
    tid: u32,
    /// The thread's counters; a thread has them from its first region on.
    ids: Option<Vec<i32>>,
    open: Vec<(u64, String)>,
    /// Groups of the API that have begun and do not end yet: each ends once.
    groups: HashSet<u64>,
    /// What is launched behind the end of a group is an outer group's.
    has_ended_group: bool,
    moments: Vec<Moment>,
}

impl<'a> Visits<'a> {
    /// Of a thread that has not called yet.
    pub(super) fn new(score_p: Option<ScoreP<'a>>, tid: u32, ids: Option<Vec<i32>>) -> Self {
        Self {
            score_p,
            tid,
            ids,
            open: Vec::new(),
            groups: HashSet::new(),
            has_ended_group: false,
            moments: Vec::new(),
        }
    }

    /// Whether Score-P knows the thread.
    pub(super) fn is_known(&self) -> bool {
        self.ids.is_some()
    }

    /// Regions that are entered before the plugin hears of the call.
    pub(super) fn before(&mut self, what: &What, time: u64) {
        if self.score_p.is_none() {
            return;
        }
        match what {
            What::Start { h, event, .. } => {
                let region = match event {
                    Event::GroupApi { .. } => {
                        self.groups.insert(*h);
                        "ncclGroupStart".into()
                    }
                    Event::CollApi { func, .. } | Event::P2pApi { func, .. } => {
                        format!("nccl{}", func.as_deref().unwrap_or(common::name::UNKNOWN))
                    }
                    Event::KernelLaunch { .. } | Event::Group if self.open.is_empty() && self.has_ended_group => {
                        GROUP_END.into()
                    }
                    _ => return,
                };
                self.visit(time, true, &region);
                self.open.push((*h, region));
            }
            What::State { h, state: 24, .. } if self.groups.remove(h) => {
                self.visit(time, true, GROUP_END);
                self.open.push((*h, GROUP_END.into()));
            }
            _ => {}
        }
    }

    /// Regions that are left after it.
    pub(super) fn after(&mut self, what: &What, time: u64) {
        if let What::Stop { h } = what {
            self.groups.remove(h);
        }
        let (What::Stop { h } | What::State { h, state: 23, .. }) = what else { return };
        if let Some((_, region)) = self.open.pop_if(|(open, _)| open == h) {
            self.visit(time, false, &region);
            self.has_ended_group |= region == GROUP_END;
        }
    }

    /// An enter or a leave: Score-P reads all counters of the thread right before.
    pub(super) fn visit(&mut self, time: u64, enter: bool, region: &str) {
        let Some(ScoreP { counters, library }) = self.score_p else { return };
        let ids = self.ids.get_or_insert_with(|| counters.add_counters().unwrap_or_default());
        // the program took its time for what a replay does at once, so the collector had its time, too
        library.flush();
        let time = self.moments.last().map_or(time, |last| last.time.max(time));
        let values = counters.read(ids);
        self.moments.push(Moment { time, enter, region: region.into(), values });
    }

    /// Leaves the regions that a cut-off capture never leaves.
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
