//! The operations that cost the others most.

use super::recent::{CallBefore, Delay};
use crate::answer::WorstOperation;
use crate::job::Job;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// An operation that others waited for.
#[derive(Debug, Clone, Copy)]
pub(super) struct WorstEntry {
    pub(super) delay: Delay,
    pub(super) before: Option<CallBefore>,
    pub(super) is_propagated: bool,
}

/// The worst operations, longest cost first. Of two that cost the same, the earlier one is the worse.
#[derive(Debug)]
pub(super) struct Worst {
    entries: BTreeMap<(Reverse<u64>, u64), WorstEntry>,
    most: usize,
}

impl Worst {
    pub(super) fn new(most: usize) -> Self {
        Self { entries: BTreeMap::new(), most }
    }

    pub(super) fn add(&mut self, entry: WorstEntry) {
        let Delay { cost, occurrence, .. } = entry.delay;
        if cost == 0 {
            return;
        }
        self.entries.insert((Reverse(cost), occurrence), entry);
        if self.entries.len() > self.most {
            self.entries.pop_last();
        }
    }

    /// Returns the rows, with times since the job's first operation. Without `has_all`, calls before are not known.
    pub(super) fn rows(&self, job: &Job, first: i64, has_all: bool) -> Vec<WorstOperation> {
        let comm = |place: usize| {
            let communicator = job.communicators.get(place);
            format!("{:016x}", communicator.map_or(0, |communicator| communicator.comm))
        };
        let row = |entry: &WorstEntry| {
            let delay = &entry.delay;
            WorstOperation {
                comm: comm(delay.communicator),
                function: delay.function.text(),
                sequence: delay.sequence,
                bytes: delay.bytes,
                time_us: (delay.start - first) as f64 / 1e3,
                gpu: delay.gpu,
                late_us: delay.margin as f64 / 1e3,
                cost_us: delay.cost as f64 / 1e3,
                propagated: has_all.then_some(entry.is_propagated),
                before: entry
                    .before
                    .filter(|_| has_all)
                    .map(|before| (before.function.text(), comm(before.communicator), before.wait as f64 / 1e3)),
            }
        };
        self.entries.values().map(row).collect()
    }
}
