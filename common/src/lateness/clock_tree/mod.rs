//! Clocks of different nodes, compared along a tree.
//!
//! Two processes read their clocks in turn: one sends and notes when, the other reads its clock and answers, the first
//! notes when the answer came. The reading was taken in between, so it is known to half the round trip; of many rounds
//! the shortest is the best. This is done at the begin and at the end between each process and its parent in a tree,
//! and interpolated. The tree has one process a node; the others of the node share its clock.

use crate::clock::gpu_track::WANDER;
use crate::summary::Clocks;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// By how much two clocks may drift apart that were compared but once.
const DRIFT: f64 = 100e-6;

/// One moment on two clocks, ticks of each.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// Ticks of the process' own clock.
    pub own: u64,
    /// Ticks of its parent's.
    pub parents: u64,
    /// Uncertainty, ticks of the parent's clock.
    pub error: u64,
}

impl ClockOffset {
    /// From rounds that the parent began: (sent, the child's reading, received); the other two are the parent's
    /// readings. `None` without a round that ends after it began.
    pub fn measured_by_parent(rounds: impl IntoIterator<Item = (u64, u64, u64)>) -> Option<Self> {
        let (sent, own, received) = shortest(rounds)?;
        Some(Self { own, parents: sent.midpoint(received), error: error(sent, received) })
    }

    /// One clock, read by both.
    fn is_of_one_clock(&self) -> bool {
        self.own == self.parents && self.error == 0
    }
}

fn shortest(rounds: impl IntoIterator<Item = (u64, u64, u64)>) -> Option<(u64, u64, u64)> {
    rounds.into_iter().filter(|(sent, _, received)| sent <= received).min_by_key(|(sent, _, received)| received - sent)
}

/// Half the round trip, and a tick, since clocks are read in whole ticks.
fn error(sent: u64, received: u64) -> u64 {
    ((received - sent) / 2).saturating_add(1)
}

/// How a process' clock stands to its parent's: compared at the begin and at the end. With no begin and the same ticks
/// at the end without uncertainty, they are one clock.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// The other process; the own one at the root.
    pub parent: u32,
    /// At the begin.
    pub begin: Option<ClockOffset>,
    /// At the end.
    pub end: ClockOffset,
}

impl Link {
    /// The begin, where both clocks have advanced since.
    fn usable_begin(&self) -> Option<ClockOffset> {
        self.begin.filter(|begin| begin.own < self.end.own && begin.parents < self.end.parents)
    }

    /// The parent's ticks per own tick; one where nothing tells.
    fn rate(&self) -> f64 {
        self.usable_begin()
            .map_or(1.0, |begin| (self.end.parents - begin.parents) as f64 / (self.end.own - begin.own) as f64)
    }

    /// Own ticks from the begin to the end, where there is a begin.
    fn between(&self) -> f64 {
        self.usable_begin().map_or(0.0, |begin| (self.end.own - begin.own) as f64)
    }

    /// The same, told by the parent, whose own parent is `child` then.
    pub(crate) fn reversed(self, child: u32) -> Self {
        let turn = |meeting: ClockOffset| ClockOffset { own: meeting.parents, parents: meeting.own, ..meeting };
        Self { parent: child, begin: self.begin.map(turn), end: turn(self.end) }
    }

    /// Both are one clock, which nobody needed to compare.
    pub(crate) fn is_of_one_clock(&self) -> bool {
        self.begin.is_none() && self.end.is_of_one_clock()
    }

    /// Uncertainty of the comparisons themselves, ticks of the parent.
    fn compared_to(&self) -> f64 {
        self.begin.map_or(0, |begin| begin.error).max(self.end.error) as f64
    }

    /// Uncertainty of the parent's ticks at the own ones.
    pub(crate) fn error(&self, ticks: u64) -> f64 {
        let end = self.end.error as f64;
        let until_end = self.end.own as f64 - ticks as f64;
        match self.usable_begin() {
            Some(begin) => {
                // before the begin and after the end the line may turn about both
                let part = until_end / self.between();
                let begin = begin.error as f64;
                let beyond = part.abs() * begin + (1.0 - part).abs() * end;
                // drift need not have been the same all the time
                let since_begin = ticks as f64 - self.end.own as f64 + self.between();
                beyond.max(self.compared_to()) + WANDER * until_end.abs().min(since_begin.abs())
            }
            None if self.is_of_one_clock() => 0.0,
            None => self.compared_to() + DRIFT * until_end.abs(),
        }
    }
}

/// A process' way to its parent.
#[derive(Debug, Clone, Copy)]
struct Step {
    link: Link,
    /// The parent's ticks per own tick.
    rate: f64,
    /// Ticks of process 0 per tick of the parent.
    parents_rate: f64,
}

impl Step {
    fn parents_ticks(&self, ticks: u64) -> u64 {
        let since_end = i128::from(ticks) - i128::from(self.link.end.own);
        // one clock's ticks stay what they are, however many
        let since_end = if self.rate == 1.0 { since_end } else { (since_end as f64 * self.rate).round() as i128 };
        let parents = i128::from(self.link.end.parents).saturating_add(since_end);
        parents.clamp(0, i128::from(u64::MAX)) as u64
    }

    /// Uncertainty, ticks of process 0.
    fn error(&self, ticks: u64) -> f64 {
        self.link.error(ticks) * self.parents_rate
    }
}

/// All processes' clocks and that of process 0, the root.
#[derive(Debug, Clone, Default)]
pub struct ClockTree {
    processes: u32,
    /// By process; of those connected with the root, and not of the root.
    steps: Vec<Option<Step>>,
}

impl ClockTree {
    /// From the link of each process. That of process 0 tells nothing.
    pub fn new(links: &[Option<Link>]) -> Self {
        let mut children = vec![Vec::new(); links.len()];
        for (process, link) in (0..).zip(links).skip(1) {
            if let Some((link, siblings)) = link.and_then(|link| Some((link, children.get_mut(link.parent as usize)?)))
            {
                siblings.push((process, link));
            }
        }
        // from the root on, so whoever is in a circle is never reached
        let mut steps = vec![None; links.len()];
        let mut reached = VecDeque::from([(0_usize, 1.0)]);
        while let Some((parent, parents_rate)) = reached.pop_front() {
            for (process, link) in children.get_mut(parent).map(std::mem::take).unwrap_or_default() {
                let rate = link.rate();
                steps[process] = Some(Step { link, rate, parents_rate });
                reached.push_back((process, rate * parents_rate));
            }
        }
        Self { processes: links.len().try_into().unwrap_or(u32::MAX), steps }
    }

    fn step(&self, process: u32) -> Option<&Step> {
        self.steps.get(process as usize)?.as_ref()
    }

    /// Ticks of process 0's clock and the uncertainty in ticks of it; `None` when not connected, or links form a
    /// circle.
    pub fn to_root(&self, process: u32, ticks: u64) -> Option<(u64, u64)> {
        let (mut process, mut ticks, mut error) = (process, ticks, 0.0);
        while process != 0 {
            let step = self.step(process)?;
            error += step.error(ticks);
            ticks = step.parents_ticks(ticks);
            process = step.link.parent;
        }
        (self.processes > 0).then_some((ticks, error.ceil() as u64))
    }

    /// Ticks of process 0 per tick of that process; `None` when it is not connected.
    pub fn rate(&self, process: u32) -> Option<f64> {
        if process == 0 {
            return (self.processes > 0).then_some(1.0);
        }
        self.step(process).map(|step| step.rate * step.parents_rate)
    }

    /// The nodes whose clocks were compared, and how well; `None` where there is but one. A tick of process 0 is worth
    /// so many nanoseconds.
    pub fn clocks(&self, nanoseconds_per_tick: f64) -> Option<Clocks> {
        let compared = || self.steps.iter().flatten().filter(|step| !step.link.is_of_one_clock());
        let error = compared().map(|step| step.link.compared_to() * step.parents_rate).reduce(f64::max)?;
        Some(Clocks { nodes: compared().count() as u32 + 1, error_us: error * nanoseconds_per_tick / 1e3 })
    }

    /// The processes on the way to the root whose clocks were compared to their parent's; `None` when not connected.
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

    /// Uncertainty of [`ClockTree::to_root`] without those steps of the way that others have in common with it, which
    /// shift all alike; ticks of process 0.
    pub fn own_uncertainty(&self, process: u32, ticks: u64, in_common: &[u32]) -> f64 {
        let (mut process, mut ticks, mut error) = (process, ticks, 0.0);
        while let Some(step) = self.step(process).filter(|_| process != 0) {
            if !in_common.contains(&process) {
                error += step.error(ticks);
            }
            ticks = step.parents_ticks(ticks);
            process = step.link.parent;
        }
        error
    }
}

/// Parent and children of a place in a binomial tree over `count` places, of which 0 is the root: each is at most
/// log2(`count`) steps away from it.
pub fn binomial(place: usize, count: usize) -> (Option<usize>, Vec<usize>) {
    if place >= count {
        return (None, Vec::new());
    }
    let parent = (place > 0).then(|| place & (place - 1));
    // a child has one more bit, below the lowest of its parent
    let bits = place.trailing_zeros();
    (parent, (0..bits).map(|bit| place | 1 << bit).take_while(|&child| child < count).collect())
}

#[cfg(test)]
mod tests;
