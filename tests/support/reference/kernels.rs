//! Kernels: the operations that each kernel runs, and its time from the CUDA events around its launch.
//!
//! NCCL reports a kernel on one thread, in this order: the begin of its launch (KernelLaunch), the launch's return,
//! Group, and then its operations, up to the thread's next Group. Without a Group on the thread, each operation counts
//! as a kernel of its own.
//!
//! The first event happens as soon as the stream is free, but no kernel begins before the host has launched it. To
//! compare the two, the host's clock is converted to the events' clock with the smallest recent difference (time of an
//! event - time of its record): an event that waited for nothing gave it. A first event right behind another kernel has
//! most likely waited for that kernel. No kernel begins right with its first event.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::json::{Event, KernelLine, Recording};

/// Nanoseconds after which a new smallest difference is determined. The one before stays valid for up to twice as long.
const OF_LATE: i64 = 1_000_000_000;
/// Least nanoseconds between two events with a kernel between them.
const LEAST: i64 = 5_000;
/// A first event within this many nanoseconds of the last kernel's end has waited for that kernel.
const BEHIND: i64 = 4_000;
/// Least nanoseconds from the first event to its kernel.
const BEHIND_EVENT: i64 = 3_200;
/// No kernel is shorter than this many nanoseconds with the event behind it.
const SHORTEST: i64 = 2_000;
/// A kernel was over by the end of its launch if it would be shorter than `BLINK`, and its first event lies more than
/// `LONG_BEFORE` earlier; nanoseconds. If it ended more than `LONG_BEHIND` before, the event had waited.
const BLINK: i64 = 8_000;
const LONG_BEFORE: i64 = 100_000;
const LONG_BEHIND: i64 = 100_000;
/// Such a kernel has a time if its two events are at most this many nanoseconds apart.
const KNOWN: i64 = 60_000;

/// A kernel; operations are indices into [`Recording::events`].
#[derive(Debug, Default)]
struct Kernel {
    /// Its KernelLaunch, or the silent call that launched it.
    launch: Option<usize>,
    operations: Vec<usize>,
}

/// The kernels of a process.
pub(crate) struct Kernels(Vec<Kernel>);

impl Kernels {
    pub(crate) fn of(recording: &Recording) -> Self {
        let mut kernels: Vec<Kernel> = Vec::new();
        // by thread: the launch whose operations follow, and the kernel whose operations follow
        let mut launched: HashMap<i64, usize> = HashMap::new();
        let mut current: HashMap<i64, usize> = HashMap::new();
        for (place, event) in recording.events.iter().enumerate() {
            match event.kind.as_str() {
                "KernelLaunch" => _ = launched.insert(event.tid, place),
                "Group" => {
                    current.insert(event.tid, kernels.len());
                    kernels.push(Kernel { launch: launched.remove(&event.tid), operations: Vec::new() });
                }
                "Coll" | "P2p" => match current.get(&event.tid) {
                    Some(&kernel) => kernels[kernel].operations.push(place),
                    None => kernels.push(Kernel { launch: launched.remove(&event.tid), operations: vec![place] }),
                },
                _ => {}
            }
        }
        kernels.extend(silent(recording));
        Self(kernels)
    }

    /// Returns the operations that have a kernel to themselves.
    pub(crate) fn alone(&self) -> Vec<usize> {
        self.0.iter().filter(|kernel| kernel.operations.len() == 1).map(|kernel| kernel.operations[0]).collect()
    }

    /// Returns the first operation of each kernel.
    pub(crate) fn firsts(&self) -> BTreeSet<usize> {
        self.0.iter().filter_map(|kernel| kernel.operations.first().copied()).collect()
    }

    /// Returns the first operation of each function in each kernel.
    pub(crate) fn firsts_of_functions(&self, recording: &Recording) -> BTreeSet<usize> {
        let function = |place: &usize| recording.events[*place].start["func"].as_str().unwrap_or_default().to_owned();
        let of_kernel = |kernel: &Kernel| {
            let mut met = BTreeSet::new();
            kernel.operations.iter().copied().filter(|place| met.insert(function(place))).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of_kernel).collect()
    }

    /// Returns the times of the operations whose kernels have events, in microseconds.
    pub(crate) fn times(&self, recording: &Recording) -> BTreeMap<usize, f64> {
        let timed = self.0.iter().filter_map(|kernel| {
            let launch = &recording.events[kernel.launch?];
            let line = recording.kernels.get(&launch.start["h"].as_i64()?)?;
            let [begin, end] = host_times(recording, launch, line)?;
            Some((begin, end, line, launch.ctx, kernel))
        });
        let mut timed = timed.collect::<Vec<_>>();
        timed.sort_by_key(|&(begin, _, line, ..)| (line.t, begin));
        let mut smallest: HashMap<i64, Smallest> = HashMap::new();
        let mut ended: HashMap<i64, i64> = HashMap::new();
        let mut times = self.replayed(recording);
        for (recorded, launched, &KernelLine { first, last, begin, .. }, ctx, kernel) in timed {
            let has_waited = ended.insert(ctx, last).is_some_and(|ended| (first - ended).abs() < BEHIND);
            let waited = last.min(first + BEHIND_EVENT);
            let soonest = if has_waited {
                waited
            } else {
                waited.max(launched + smallest.entry(ctx).or_default().with(recorded, first - recorded))
            };
            let is_near = (soonest - LONG_BEHIND..=soonest + BLINK).contains(&last);
            let is_over = is_near && soonest > first + LONG_BEFORE;
            let worked_out = if is_over || soonest + SHORTEST > last { waited } else { soonest };
            let begin = begin.or((!is_over || last - first <= KNOWN).then_some(worked_out));
            if let Some(begin) = begin.filter(|_| last - first >= LEAST) {
                times.extend(kernel.operations.iter().map(|&place| (place, (last - begin) as f64 / 1000.0)));
            }
        }
        times
    }

    /// Returns the times of the operations of graphs' replays, in microseconds. A replay has no launch, and its line is
    /// that of one of its operations, whatever its thread has launched before. The GPU begins its kernel right behind the
    /// first event.
    fn replayed(&self, recording: &Recording) -> BTreeMap<usize, f64> {
        let mut times = BTreeMap::new();
        for kernel in &self.0 {
            let line_of = |place: &usize| recording.kernels.get(&recording.events[*place].start["h"].as_i64()?);
            let Some(&KernelLine { first, last, begin, .. }) = kernel.operations.iter().find_map(line_of) else {
                continue;
            };
            if last - first >= LEAST {
                let begin = begin.unwrap_or(last.min(first + BEHIND_EVENT));
                times.extend(kernel.operations.iter().map(|&place| (place, (last - begin) as f64 / 1000.0)));
            }
        }
        times
    }
}

/// The smallest recent difference of a communicator.
#[derive(Default)]
struct Smallest {
    since: i64,
    current: Option<i64>,
    before: Option<i64>,
}

impl Smallest {
    /// Adds a difference seen at `time`, and returns the smallest one.
    fn with(&mut self, time: i64, difference: i64) -> i64 {
        let age = time - self.since;
        if self.current.is_none() || age >= OF_LATE {
            self.before = self.current.filter(|_| age < 2 * OF_LATE);
            (self.since, self.current) = (time, None);
        }
        let current = self.current.map_or(difference, |current| current.min(difference));
        self.current = Some(current);
        self.before.map_or(current, |before| before.min(current))
    }
}

/// Returns the kernels of silent calls: collective calls without an operation in the capture. The calls of a group
/// share a kernel.
fn silent(recording: &Recording) -> Vec<Kernel> {
    let mut kernels: Vec<Kernel> = Vec::new();
    let mut of_group: HashMap<(Option<usize>, i64), usize> = HashMap::new();
    for (place, event) in recording.events.iter().enumerate() {
        if event.kind != "CollApi" || !event.children.is_empty() {
            continue;
        }
        let key = (event.parent, event.ctx);
        match of_group.get(&key) {
            Some(&kernel) => kernels[kernel].operations.push(place),
            None => {
                of_group.insert(key, kernels.len());
                kernels.push(Kernel { launch: Some(place), operations: vec![place] });
            }
        }
    }
    kernels
}

/// Returns when the first event was recorded and when the launch had returned, in nanoseconds of the host's clock. The
/// group's end launches a silent call.
fn host_times(recording: &Recording, launch: &Event, line: &KernelLine) -> Option<[i64; 2]> {
    let recorded = |began: i64| line.at.map_or(began, |at| at.max(began));
    if launch.kind == "CollApi" {
        let group = &recording.events[launch.parent?];
        let end = group.states.iter().find(|line| line["state"] == 24)?;
        return Some([recorded(end["t"].as_i64()?), group.stop?]);
    }
    Some([recorded(launch.start["t"].as_i64()?), launch.stop?])
}
