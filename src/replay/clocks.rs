//! How the clocks of recorded processes stand to each other, and what that tells of who was late.
//!
//! Processes of one machine read one clock. Those of several are brought together by the time of day that each machine
//! had when its recording began, and then by the operations that they share, by the library's own means.

use crate::capture::{self, Meta};
use crate::replay::hosts;
use crate::trace::ProcessTrace;
use common::arrivals::{self, Arrivals};
use common::clock_tree::{ClockOffset, ClockTree, Link};
use common::summary::{self, Summary};
use std::path::PathBuf;

/// By how much the time of day at a machine's boot may differ between recordings of one boot, nanoseconds: it is slewed
/// meanwhile.
const ONE_BOOT: i128 = 1_000_000_000;
/// By how much two machines may disagree on the time of day, nanoseconds: a day. Operations bound their clocks much
/// closer.
const TIME_OF_DAY: u64 = 86_400_000_000_000;
/// Moments of a recording, evenly apart, at which the error is looked at.
const LOOKS: u64 = 16;

/// Puts the traces of recordings on one clock and on their machines, and adds to the summary how well that clock is
/// known; with `lateness` also what a job's has besides. `arrivals` are the files with when ranks began their
/// collectives, by recording.
pub(crate) fn bring_together(
    summary: &mut Summary,
    traces: &mut [ProcessTrace],
    recordings: &[PathBuf],
    arrivals: &[PathBuf],
    lateness: bool,
) {
    let mut clocks = Clocks::of(recordings);
    let decoded =
        |path: &PathBuf| std::fs::read(path).ok().and_then(|bytes| Arrivals::decode(&bytes)).unwrap_or_default();
    let arrivals = |clocks: &Clocks| clocks.in_order(arrivals.iter().map(decoded).collect());
    if clocks.are_several() {
        let spans = clocks.in_order(traces.iter().map(|trace| [trace.begin, trace.end]).collect());
        clocks.tree = ClockTree::new(&common::lateness::aligned(arrivals(&clocks), &clocks.told, &spans, 1.0));
    }
    if lateness {
        let arrivals = arrivals(&clocks);
        summary.notes.extend(arrivals::note(&arrivals));
        let rows = common::lateness::lateness(arrivals, &clocks.tree, 1.0, &summary.communicators);
        (summary.lateness, summary.bandwidth) = rows;
    }
    clocks.unite(summary, traces);
    hosts::place(traces, &clocks.machines);
}

/// A recording's machine: its name, where that is known, and a number for each clock.
pub(crate) type Machine = (Option<String>, usize);

/// The clocks of recordings, by their place in the tree. Its first is that of the machine that was booted first, so
/// that no time lies before 0.
#[derive(Debug)]
struct Clocks {
    /// Which recording has the first place; the first recording has its place.
    root: usize,
    /// By recording.
    machines: Vec<Machine>,
    /// By the time of day.
    told: Vec<Option<Link>>,
    day: ClockTree,
    /// As the operations have it.
    tree: ClockTree,
}

impl Clocks {
    /// By the time of day alone.
    fn of(recordings: &[PathBuf]) -> Self {
        let metas: Vec<Option<Meta>> = recordings.iter().map(|recording| capture::read_meta(recording).ok()).collect();
        let boot =
            |meta: &Option<Meta>| meta.as_ref().map_or(i128::MAX, |it| i128::from(it.real0) - i128::from(it.mono0));
        let boots: Vec<i128> = metas.iter().map(boot).collect();
        let host = |(recording, meta): (&PathBuf, &Option<Meta>)| hosts::of_recording(recording, meta.as_ref()?);
        let hosts: Vec<Option<String>> = recordings.iter().zip(&metas).map(host).collect();
        // the kernel's own number of the boot, where the recording has it
        let number = |recording: usize| metas[recording].as_ref().and_then(|meta| meta.origin.boot.as_ref());
        let is_one = |one: usize, other: usize| match (number(one), number(other)) {
            (Some(one), Some(other)) => one == other,
            _ => hosts[one] == hosts[other] && boots[one].saturating_sub(boots[other]).saturating_abs() < ONE_BOOT,
        };
        let root = (0..boots.len()).min_by_key(|&place| boots[place]).unwrap_or(0);
        let place = |recording: usize| {
            if recording == root {
                0
            } else if recording == 0 {
                root
            } else {
                recording
            }
        };
        let link = |own: usize| {
            // places and recordings are exchanged alike
            let first = (0..boots.len()).find(|&other| is_one(place(other), place(own))).unwrap_or(own);
            let (parent, parents, error) = if first == own {
                (0, u64::try_from(boots[place(own)].checked_sub(boots[root])?).ok()?, TIME_OF_DAY)
            } else {
                (first, 0, 0)
            };
            Some(Link { parent: u32::try_from(parent).ok()?, begin: None, end: ClockOffset { own: 0, parents, error } })
        };
        let told: Vec<Option<Link>> = (0..boots.len()).map(link).collect();
        let first = |own: usize| (0..boots.len()).find(|&other| is_one(other, own)).unwrap_or(own);
        let machines = (0..boots.len()).map(|own| (hosts[own].clone(), first(own))).collect();
        let day = ClockTree::new(&told);
        Self { root, machines, tree: day.clone(), day, told }
    }

    /// Whether there is more than one.
    fn are_several(&self) -> bool {
        self.day.clocks(1.0).is_some()
    }

    /// What belongs to recordings, by place.
    fn in_order<T>(&self, mut items: Vec<T>) -> Vec<T> {
        if self.root < items.len() {
            items.swap(0, self.root);
        }
        items
    }

    /// Puts the traces on one clock, and says in the summary how well it is known.
    fn unite(&self, summary: &mut Summary, traces: &mut [ProcessTrace]) {
        if !self.are_several() {
            return;
        }
        let (mut error, mut unknown) = (0, Vec::new());
        let all = traces.len();
        let places = self.in_order((0..).take(self.told.len()).collect::<Vec<u32>>());
        for (trace, place) in traces.iter_mut().zip(places) {
            let (begin, length) = (trace.begin, trace.end.saturating_sub(trace.begin));
            let look = |number: u64| self.tree.to_root(place, begin + length / LOOKS * number);
            match (0..=LOOKS).map(look).collect::<Option<Vec<_>>>() {
                Some(looks) => error = looks.into_iter().map(|(_, error)| error).fold(error, u64::max),
                None => unknown.push(trace.name.clone()),
            }
            let moved = |ticks| self.tree.to_root(place, ticks).or_else(|| self.day.to_root(place, ticks));
            trace.move_to(|ticks| moved(ticks).map_or(ticks, |(ticks, _)| ticks));
        }
        summary.clocks = self
            .tree
            .clocks(1.0)
            .map(|clocks| summary::Clocks { error_us: clocks.error_us.max(error as f64 / 1e3), ..clocks });
        if let Some(first) = unknown.first() {
            summary.notes.push(format!(
                "the clocks of {} of {all} processes ({first}{}) are known by their machines' time of day alone: no GPU-timed all-reduce, \
                 all-gather or reduce-scatter and no GPU-timed sends both ways join them to the others; in a trace they are apart by as much as these were",
                unknown.len(),
                if unknown.len() > 1 { " and so on" } else { "" }
            ));
        }
    }
}
