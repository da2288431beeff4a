//! Clocks of different nodes, compared along a tree.
//!
//! A process compares its clock with another's in rounds: it sends a message and notes the time, the other process
//! reads its clock and answers, the first process notes the time of the answer. The reading lies between the two times,
//! so it is known to half the round trip; the shortest of many rounds is the best.
//!
//! Each process and its parent in a tree do this at the begin and at the end, and times in between are interpolated.
//! The tree has one process per node; the other processes of the node share its clock.
//!
//! A link bounds a clock with certainty. Beside that there may be an estimate, which is closer: the operations that
//! processes share have common ends. A time is the estimate's, brought between the bounds.

mod estimate;

use crate::clock::gpu_track::WANDER;
use crate::summary::ClockComparison;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;

pub use estimate::Uncertainty;
pub(crate) use estimate::{Estimate, MomentOnBoth};

/// Largest relative drift of two clocks that were compared only once.
const DRIFT: f64 = 100e-6;

/// The same moment on two clocks, ticks of each.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// Ticks of the process' own clock.
    pub own: u64,
    /// Ticks of the parent's clock.
    pub parents: u64,
    /// Uncertainty, ticks of the parent's clock.
    pub error: u64,
}

impl ClockOffset {
    /// Works out the offset from rounds that the parent began: (sent, the child's reading, received), where `sent` and
    /// `received` are the parent's readings. `None` without a round that ends after its begin.
    pub fn measured_by_parent(rounds: impl IntoIterator<Item = (u64, u64, u64)>) -> Option<Self> {
        let (sent, own, received) = shortest(rounds)?;
        Some(Self { own, parents: sent.midpoint(received), error: error(sent, received) })
    }

    /// Returns whether both readings are of one clock.
    fn is_of_one_clock(&self) -> bool {
        self.own == self.parents && self.error == 0
    }
}

fn shortest(rounds: impl IntoIterator<Item = (u64, u64, u64)>) -> Option<(u64, u64, u64)> {
    rounds.into_iter().filter(|(sent, _, received)| sent <= received).min_by_key(|(sent, _, received)| received - sent)
}

/// Returns half the round trip, plus a tick because clocks are read in whole ticks.
fn error(sent: u64, received: u64) -> u64 {
    ((received - sent) / 2).saturating_add(1)
}

/// The comparison of a process' clock with its parent's, at the begin and at the end. Without a begin, and with the
/// same ticks and no uncertainty at the end, they are one clock.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ParentLink {
    /// The process compared with; the own process at the root.
    pub parent: u32,
    /// Comparison at the begin.
    pub begin: Option<ClockOffset>,
    /// Comparison at the end.
    pub end: ClockOffset,
}

impl ParentLink {
    /// Returns the begin if both clocks have advanced since.
    fn usable_begin(&self) -> Option<ClockOffset> {
        self.begin.filter(|begin| begin.own < self.end.own && begin.parents < self.end.parents)
    }

    /// Returns the parent's ticks per own tick; 1 without a usable begin.
    fn rate(&self) -> f64 {
        self.usable_begin()
            .map_or(1.0, |begin| (self.end.parents - begin.parents) as f64 / (self.end.own - begin.own) as f64)
    }

    /// Returns the own ticks from the begin to the end; 0 without a usable begin.
    fn between(&self) -> f64 {
        self.usable_begin().map_or(0.0, |begin| (self.end.own - begin.own) as f64)
    }

    /// Returns the same link seen from the parent, which has `child` as its parent then.
    pub(crate) fn reversed(self, child: u32) -> Self {
        let turn = |meeting: ClockOffset| ClockOffset { own: meeting.parents, parents: meeting.own, ..meeting };
        Self { parent: child, begin: self.begin.map(turn), end: turn(self.end) }
    }

    /// Returns whether both processes read one clock, so that no comparison was needed.
    pub(crate) fn is_of_one_clock(&self) -> bool {
        self.begin.is_none() && self.end.is_of_one_clock()
    }

    /// Returns the uncertainty of the comparisons themselves, ticks of the parent.
    fn compared_to(&self) -> f64 {
        self.begin.map_or(0, |begin| begin.error).max(self.end.error) as f64
    }

    /// Returns the uncertainty of the parent's ticks at these own ticks.
    pub(crate) fn error(&self, ticks: u64) -> f64 {
        let end = self.end.error as f64;
        let until_end = self.end.own as f64 - ticks as f64;
        match self.usable_begin() {
            Some(begin) => {
                // before the begin and after the end, the line may turn about both
                let part = until_end / self.between();
                let begin = begin.error as f64;
                let beyond = part.abs() * begin + (1.0 - part).abs() * end;
                // the drift need not have been constant
                let since_begin = ticks as f64 - self.end.own as f64 + self.between();
                beyond.max(self.compared_to()) + WANDER * until_end.abs().min(since_begin.abs())
            }
            None if self.is_of_one_clock() => 0.0,
            None => self.compared_to() + DRIFT * until_end.abs(),
        }
    }
}

/// A link, and an estimate of the same two clocks.
#[derive(Debug, Clone)]
pub(crate) struct Estimated {
    pub(crate) link: ParentLink,
    pub(crate) estimate: Option<Arc<Estimate>>,
}

impl Estimated {
    /// Returns the same seen from the parent, which has `child` as its parent then.
    pub(crate) fn reversed(&self, child: u32) -> Self {
        let estimate = self.estimate.as_deref().map(|estimate| Arc::new(estimate.clone().reversed()));
        Self { link: self.link.reversed(child), estimate }
    }
}

/// A process' step to its parent.
#[derive(Debug, Clone)]
struct TreeStep {
    link: ParentLink,
    estimate: Option<Arc<Estimate>>,
    /// The parent's ticks per own tick.
    rate: f64,
    /// Ticks of process 0 per tick of the parent.
    parents_rate: f64,
}

impl TreeStep {
    /// Returns the parent's ticks by the link alone.
    fn middle(&self, ticks: u64) -> i128 {
        let since_end = i128::from(ticks) - i128::from(self.link.end.own);
        // a rate of 1 keeps all digits, however many ticks there are
        let since_end = if self.rate == 1.0 { since_end } else { (since_end as f64 * self.rate).round() as i128 };
        i128::from(self.link.end.parents).saturating_add(since_end)
    }

    /// Returns the parent's ticks, and their uncertainty in ticks of process 0.
    fn parents_ticks(&self, ticks: u64) -> (u64, Uncertainty) {
        let (middle, error) = (self.middle(ticks), self.link.error(ticks));
        let (parents, uncertainty) = match &self.estimate {
            None => (middle, Uncertainty::even(error)),
            Some(estimate) => {
                let estimated = (estimate.parents_ticks(ticks) - middle) as f64;
                let off = estimated.clamp(-error, error).round();
                let beside = (estimated - off).abs();
                (middle.saturating_add(off as i128), Uncertainty::within(error, off, beside, estimate.likely()))
            }
        };
        (parents.clamp(0, i128::from(u64::MAX)) as u64, uncertainty.scaled(self.parents_rate))
    }
}

/// The clocks of all processes against the clock of process 0, the root.
#[derive(Debug, Clone, Default)]
pub struct ClockTree {
    processes: u32,
    /// By process; `None` for the root and for processes not connected with it.
    steps: Vec<Option<TreeStep>>,
}

impl ClockTree {
    /// Builds the tree from each process' link. The link of process 0 is ignored.
    pub fn new(links: &[Option<ParentLink>]) -> Self {
        Self::estimated(links.iter().map(|link| link.map(|link| Estimated { link, estimate: None })).collect())
    }

    /// Builds the tree from each process' link and estimate.
    pub(crate) fn estimated(links: Vec<Option<Estimated>>) -> Self {
        let count = links.len();
        let mut children = vec![Vec::new(); count];
        for (process, link) in (0..).zip(links).skip(1) {
            let parent = link.as_ref().and_then(|it| children.get_mut(it.link.parent as usize));
            if let Some((siblings, link)) = parent.zip(link) {
                siblings.push((process, link));
            }
        }
        // starts at the root, so a circle of processes is never reached
        let mut steps = vec![None; count];
        let mut reached = VecDeque::from([(0_usize, 1.0)]);
        while let Some((parent, parents_rate)) = reached.pop_front() {
            for (process, link) in children.get_mut(parent).map(std::mem::take).unwrap_or_default() {
                let Estimated { link, estimate } = link;
                let rate = link.rate();
                steps[process] = Some(TreeStep { link, estimate, rate, parents_rate });
                reached.push_back((process, rate * parents_rate));
            }
        }
        Self { processes: count.try_into().unwrap_or(u32::MAX), steps }
    }

    fn step(&self, process: u32) -> Option<&TreeStep> {
        self.steps.get(process as usize)?.as_ref()
    }

    /// Returns the ticks of process 0's clock and their largest error. `None` if the process is not connected or its
    /// links form a circle.
    pub fn to_root(&self, process: u32, ticks: u64) -> Option<(u64, u64)> {
        let (ticks, uncertainty) = self.to_root_beside(process, ticks, &[])?;
        Some((ticks, uncertainty.error().ceil() as u64))
    }

    /// Returns the ticks of process 0's clock and their uncertainty without the steps `in_common`, which shift the times
    /// of all members alike. `None` as for [`ClockTree::to_root`].
    pub fn to_root_beside(&self, process: u32, ticks: u64, in_common: &[u32]) -> Option<(u64, Uncertainty)> {
        let (mut process, mut ticks, mut uncertainty) = (process, ticks, Uncertainty::default());
        while process != 0 {
            let step = self.step(process)?;
            let (parents, of_step) = step.parents_ticks(ticks);
            if !in_common.contains(&process) {
                uncertainty = uncertainty.and(of_step);
            }
            (ticks, process) = (parents, step.link.parent);
        }
        (self.processes > 0).then_some((ticks, uncertainty))
    }

    /// Returns the ticks of process 0 per tick of this process; `None` if it is not connected.
    pub fn rate(&self, process: u32) -> Option<f64> {
        if process == 0 {
            return (self.processes > 0).then_some(1.0);
        }
        self.step(process).map(|step| step.rate * step.parents_rate)
    }

    /// Returns how many nodes' clocks were compared, and how well; `None` for a single node. A tick of process 0 is
    /// `nanoseconds_per_tick` long.
    pub fn clocks(&self, nanoseconds_per_tick: f64) -> Option<ClockComparison> {
        let compared = || self.steps.iter().flatten().filter(|step| !step.link.is_of_one_clock());
        let error = compared().map(|step| step.link.compared_to() * step.parents_rate).reduce(f64::max)?;
        Some(ClockComparison { nodes: compared().count() as u32 + 1, error_us: error * nanoseconds_per_tick / 1e3 })
    }

    /// Returns the processes on the way to the root whose clocks were compared with their parents'; `None` if not
    /// connected.
    pub fn way(&self, mut process: u32) -> Option<Vec<u32>> {
        let mut way = Vec::new();
        while process != 0 {
            let step = self.step(process)?;
            if !step.link.is_of_one_clock() {
                way.push(process);
            }
            process = step.link.parent;
        }
        (self.processes > 0).then_some(way)
    }
}

/// Returns parent and children of a place in a binomial tree over `count` places. Place 0 is the root, and every place
/// is at most log2(`count`) steps away from it.
pub fn binomial(place: usize, count: usize) -> (Option<usize>, Vec<usize>) {
    if place >= count {
        return (None, Vec::new());
    }
    let parent = (place > 0).then(|| place & (place - 1));
    // a child has one more bit, below its parent's lowest bit
    let bits = place.trailing_zeros();
    (parent, (0..bits).map(|bit| place | 1 << bit).take_while(|&child| child < count).collect())
}

#[cfg(test)]
mod tests;
