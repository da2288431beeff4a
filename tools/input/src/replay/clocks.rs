//! Relates the clocks of recorded processes to each other, and computes from that which ranks were late.
//!
//! Processes of one machine read one clock. Clocks of several machines are related first by the time of day at the
//! start of each recording, and then more closely by the operations that their processes share. The library's own
//! functions do the latter.

use crate::replay::hosts::{self, RecordingMachine};
use crate::trace::ProcessTrace;
use common::arrivals::{self, Arrivals};
use common::clock_tree::ClockTree;
use common::lateness::{Boot, BootClocks};
use common::summary::{self, Summary};
use recording::Meta;
use std::path::PathBuf;

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
    let arrivals = |clocks: &RecordingClocks| clocks.boots.by_place(arrivals.iter().map(decoded).collect());
    if clocks.are_several() {
        let spans = clocks.boots.by_place(traces.iter().map(|trace| [trace.begin, trace.end]).collect());
        clocks.tree = common::lateness::aligned(arrivals(&clocks), &clocks.boots.links, &spans, 1.0);
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

/// The clocks of recordings, by their place in the clock tree.
#[derive(Debug)]
struct RecordingClocks {
    boots: BootClocks,
    /// Machines by recording.
    machines: Vec<RecordingMachine>,
    /// Tree with the links by the time of day alone.
    by_time_of_day: ClockTree,
    /// Tree with the links by shared operations.
    tree: ClockTree,
}

impl RecordingClocks {
    /// Relates the clocks of recordings by the time of day alone.
    fn of(recordings: &[PathBuf]) -> Self {
        let metas: Vec<Option<Meta>> =
            recordings.iter().map(|recording| recording::read_meta(recording).ok()).collect();
        let host = |(recording, meta): (&PathBuf, &Option<Meta>)| hosts::of_recording(recording, meta.as_ref()?);
        let hosts: Vec<Option<String>> = recordings.iter().zip(&metas).map(host).collect();
        let boots: Vec<Boot<'_>> = metas.iter().zip(&hosts).map(|(meta, host)| boot(meta.as_ref(), host)).collect();
        let boots = BootClocks::of(&boots);
        let by_time_of_day = ClockTree::new(&boots.links);
        let machines = hosts.iter().cloned().zip(boots.clocks()).collect();
        Self { machines, tree: by_time_of_day.clone(), by_time_of_day, boots }
    }

    /// Returns whether there is more than one clock.
    fn are_several(&self) -> bool {
        self.by_time_of_day.clocks(1.0).is_some()
    }

    /// Converts the traces to one clock, and adds the clock's accuracy to the summary.
    fn unite(&self, summary: &mut Summary, traces: &mut [ProcessTrace]) {
        if !self.are_several() {
            return;
        }
        let (mut error, mut unknown) = (0, Vec::new());
        let all = traces.len();
        let places = self.boots.by_place((0..).take(self.boots.links.len()).collect::<Vec<u32>>());
        for (trace, place) in traces.iter_mut().zip(places) {
            let (begin, length) = (trace.begin, trace.end.saturating_sub(trace.begin));
            let look = |number: u64| self.tree.to_root(place, begin + length / LOOKS * number);
            match (0..=LOOKS).map(look).collect::<Option<Vec<_>>>() {
                Some(looks) => error = looks.into_iter().map(|(_, error)| error).fold(error, u64::max),
                None => unknown.push(trace.name.clone()),
            }
            let moved = |ticks| self.tree.to_root(place, ticks).or_else(|| self.by_time_of_day.to_root(place, ticks));
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

/// Returns what a recording tells of its machine and the machine's boot.
fn boot<'a>(meta: Option<&'a Meta>, host: &'a Option<String>) -> Boot<'a> {
    Boot {
        id: meta.and_then(|meta| meta.origin.boot.as_deref()),
        host: host.as_deref(),
        time: meta.and_then(|meta| Boot::time_of(meta.real0, meta.mono0)),
    }
}
