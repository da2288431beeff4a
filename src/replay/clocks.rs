//! Relates the clocks of recorded processes to each other, and computes from that which ranks were late.
//!
//! Processes of one machine read one clock. Clocks of several machines are related first by the time of day at the
//! start of each recording, and then more closely by the operations that their processes share. The library's own
//! functions do the latter.

use crate::capture::{self, Meta};
use crate::replay::hosts::{self, RecordingMachine};
use crate::trace::ProcessTrace;
use common::arrivals::{self, Arrivals};
use common::clock_tree::{ClockOffset, ClockTree, ParentLink};
use common::summary::{self, Summary};
use std::path::PathBuf;

/// Largest difference between the times of day at boot, nanoseconds, by which recordings still count as of one boot.
/// The system slews the time of day between the recordings.
const ONE_BOOT: i128 = 1_000_000_000;
/// Largest assumed difference between two machines' times of day, nanoseconds: a day. Shared operations bound the
/// clocks much closer.
const TIME_OF_DAY: u64 = 86_400_000_000_000;
/// Number of evenly spaced moments of a recording at which the clock's error is read.
const LOOKS: u64 = 16;

/// Converts the traces of recordings to one clock, names their machines, and adds the accuracy of that clock to the
/// summary. With `lateness`, adds the lateness and the bandwidth of each rank's collectives, as a job's summary has
/// them. `arrivals` are the files with the times at which ranks began their collectives, by recording.
pub(crate) fn bring_together(
    summary: &mut Summary,
    traces: &mut [ProcessTrace],
    recordings: &[PathBuf],
    arrivals: &[PathBuf],
    lateness: bool,
) {
    let mut clocks = RecordingClocks::of(recordings);
    let decoded =
        |path: &PathBuf| std::fs::read(path).ok().and_then(|bytes| Arrivals::decode(&bytes)).unwrap_or_default();
    let arrivals = |clocks: &RecordingClocks| clocks.in_order(arrivals.iter().map(decoded).collect());
    if clocks.are_several() {
        let spans = clocks.in_order(traces.iter().map(|trace| [trace.begin, trace.end]).collect());
        clocks.tree = common::lateness::aligned(arrivals(&clocks), &clocks.told, &spans, 1.0);
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

/// The clocks of recordings, by their place in the clock tree. The machine that booted first has the tree's first
/// place, so that no time lies before 0.
#[derive(Debug)]
struct RecordingClocks {
    /// Recording that has the first place; the first recording has this recording's place.
    root: usize,
    /// Machines by recording.
    machines: Vec<RecordingMachine>,
    /// Clock links by the time of day, by place.
    told: Vec<Option<ParentLink>>,
    day: ClockTree,
    /// Tree with the links by shared operations.
    tree: ClockTree,
}

impl RecordingClocks {
    /// Relates the clocks of recordings by the time of day alone.
    fn of(recordings: &[PathBuf]) -> Self {
        let metas: Vec<Option<Meta>> = recordings.iter().map(|recording| capture::read_meta(recording).ok()).collect();
        let boot =
            |meta: &Option<Meta>| meta.as_ref().map_or(i128::MAX, |it| i128::from(it.real0) - i128::from(it.mono0));
        let boots: Vec<i128> = metas.iter().map(boot).collect();
        let host = |(recording, meta): (&PathBuf, &Option<Meta>)| hosts::of_recording(recording, meta.as_ref()?);
        let hosts: Vec<Option<String>> = recordings.iter().zip(&metas).map(host).collect();
        // the kernel's id of the boot, where the recording has it
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
            // the swap that maps recordings to places also maps places to recordings
            let first = (0..boots.len()).find(|&other| is_one(place(other), place(own))).unwrap_or(own);
            let (parent, parents, error) = if first == own {
                (0, u64::try_from(boots[place(own)].checked_sub(boots[root])?).ok()?, TIME_OF_DAY)
            } else {
                (first, 0, 0)
            };
            Some(ParentLink {
                parent: u32::try_from(parent).ok()?,
                begin: None,
                end: ClockOffset { own: 0, parents, error },
            })
        };
        let told: Vec<Option<ParentLink>> = (0..boots.len()).map(link).collect();
        let first = |own: usize| (0..boots.len()).find(|&other| is_one(other, own)).unwrap_or(own);
        let machines = (0..boots.len()).map(|own| (hosts[own].clone(), first(own))).collect();
        let day = ClockTree::new(&told);
        Self { root, machines, tree: day.clone(), day, told }
    }

    /// Returns whether there is more than one clock.
    fn are_several(&self) -> bool {
        self.day.clocks(1.0).is_some()
    }

    /// Reorders a list by recording into a list by place.
    fn in_order<T>(&self, mut items: Vec<T>) -> Vec<T> {
        if self.root < items.len() {
            items.swap(0, self.root);
        }
        items
    }

    /// Converts the traces to one clock, and adds the clock's accuracy to the summary.
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
            .map(|clocks| summary::ClockComparison { error_us: clocks.error_us.max(error as f64 / 1e3), ..clocks });
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
