//! Who was late, by the arrivals in the summaries of processes: the computation of a job's summary
//! (`common::lateness`), with clocks that were not compared while the job ran.

use common::arrivals::Arrivals;
use common::clock_tree::ClockTree;
use common::lateness::{Boot, BootClocks, aligned, lateness};
use common::summary::{ClockComparison, Summary, SummaryProcess};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Arrivals that are compared at most, of all processes together. Each takes up to 1 KB meanwhile.
const MAX_ARRIVALS: usize = 1 << 19;

/// The arrivals of processes, as they are gathered.
#[derive(Debug, Default)]
pub(super) struct Arrived {
    /// Most arrivals of a process.
    most: usize,
    /// By number of the process.
    processes: FxHashMap<u32, ArrivedProcess>,
    /// Number of processes whose arrivals are of another version, or damaged.
    unreadable: u64,
}

/// The arrivals of a process, and its clock.
#[derive(Debug)]
struct ArrivedProcess {
    arrivals: Arrivals,
    /// Name of its clock.
    clock: Option<String>,
    nanoseconds_per_tick: f64,
    /// What its clock showed at a time of day, nanoseconds since 1970.
    ticks: u64,
    at: Option<u64>,
}

impl Arrived {
    /// Makes an empty collection for this number of files.
    pub(super) fn with_files(count: usize) -> Self {
        Self { most: MAX_ARRIVALS / count.max(1), ..Self::default() }
    }

    /// Takes the arrivals out of a process' summary. Returns whether there are any.
    pub(super) fn take(&mut self, number: u32, process: &mut SummaryProcess) -> bool {
        let Some(text) = process.arrivals.take() else { return false };
        let is_scale = text.nanoseconds_per_tick.is_finite() && text.nanoseconds_per_tick > 0.0;
        let Some(mut arrivals) = text.decode().filter(|_| is_scale) else {
            self.unreadable += 1;
            return false;
        };
        arrivals.keep_at_most(self.most);
        // a copy: a long list that is shortened in its place leaves a hole that the next process' list does not fit
        // into
        let arrivals = arrivals.clone();
        let at = process.origin.ended_ns().and_then(|at| u64::try_from(at).ok());
        let (nanoseconds_per_tick, ticks) = (text.nanoseconds_per_tick, text.ticks);
        self.processes.insert(number, ArrivedProcess { arrivals, clock: text.clock, nanoseconds_per_tick, ticks, at });
        true
    }

    /// Compares the processes of a job, unless its summary has the result.
    pub(super) fn compare(&mut self, summary: &mut Summary) {
        let all = summary.processes.len();
        let mut own: Vec<ArrivedProcess> =
            summary.processes.iter().filter_map(|process| self.processes.remove(&process.process)).collect();
        if own.is_empty() || !summary.lateness.is_empty() || !summary.bandwidth.is_empty() {
            return;
        }
        if own.len() < all {
            summary.notes.push(format!(
                "{} of {all} processes are in no lateness: their summaries have no arrivals (NCCL_SCOREP_GATHER_KB=0, \
                 an earlier version, or the summary of a job){}.",
                all - own.len(),
                if self.unreadable > 0 { ", or arrivals of another version" } else { "" }
            ));
        }
        scale(&mut own);
        let boots = boot_clocks(&own);
        let by_place = boots.by_place(own.iter_mut().map(|it| std::mem::take(&mut it.arrivals)).collect());
        let tree = match boots.count {
            0 | 1 => ClockTree::new(&boots.links),
            _ => aligned(by_place.clone(), &boots.links, &[], 1.0),
        };
        let apart = (0..).take(own.len()).filter(|&place| tree.to_root(place, 0).is_none()).count();
        if apart > 0 {
            summary.notes.push(format!(
                "The clocks of {apart} of {} processes are not compared with the others': no GPU-timed all-reduce, \
                 all-gather or reduce-scatter in the summaries joins them. Lateness over these processes is unknown.",
                own.len()
            ));
        }
        summary.notes.extend(common::arrivals::note(&by_place));
        (summary.lateness, summary.bandwidth) = lateness(by_place, &tree, 1.0, &summary.communicators);
        summary.clocks = Some(tree.clocks(1.0).unwrap_or(ClockComparison { nodes: 1, error_us: 0.0 }));
        summary.notes.extend(thinned(summary));
    }
}

/// Makes the ticks of all processes nanoseconds. Processes that read one clock take one length of its tick: each has
/// measured it a little differently.
fn scale(processes: &mut [ArrivedProcess]) {
    let mut lengths: BTreeMap<String, f64> = BTreeMap::new();
    for process in processes {
        let own = process.nanoseconds_per_tick;
        let length = process.clock.as_ref().map_or(own, |clock| *lengths.entry(clock.clone()).or_insert(own));
        process.arrivals = std::mem::take(&mut process.arrivals).in_nanoseconds(length);
        process.ticks = (process.ticks as f64 * length) as u64;
    }
}

/// Returns the clocks of processes by their names. A clock without a name is one process' own.
fn boot_clocks(processes: &[ArrivedProcess]) -> BootClocks {
    let own_name =
        |(place, of): (usize, &ArrivedProcess)| of.clock.clone().unwrap_or_else(|| format!("of process {place}"));
    let names: Vec<String> = processes.iter().enumerate().map(own_name).collect();
    let time = |of: &ArrivedProcess| of.at.map(|at| i128::from(at) - i128::from(of.ticks));
    let boot = |(name, of)| Boot { id: Some(String::as_str(name)), host: None, time: time(of) };
    BootClocks::of(&names.iter().zip(processes).map(boot).collect::<Vec<_>>())
}

/// Says of how many operations the comparison is.
fn thinned(summary: &Summary) -> Option<String> {
    let all = summary.lateness.iter().map(|row| row.one_in).chain(summary.bandwidth.iter().map(|row| row.one_in));
    let (least, most) = (all.clone().min()?, all.max()?);
    let which = match (least, most) {
        (_, 1) => return None,
        (least, most) if least == most => format!("one collective in {most}"),
        (1, most) => format!("all collectives of some communicators, and of others of as few as one in {most}"),
        (least, most) => format!("one collective in {least} to one in {most}, by communicator"),
    };
    Some(format!(
        "Lateness and the bus bandwidths by it are of {which}: a summary has room for no more (NCCL_SCOREP_GATHER_KB)."
    ))
}
