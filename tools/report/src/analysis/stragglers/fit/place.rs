//! What the calls at a place of a program follow, and what ranks show of the computation before them.

use crate::analysis::robust::median;
use crate::analysis::stragglers::run::CallRun;
use crate::analysis::stragglers::samples::{CallSample, is_queued};

/// Steps of a rank that show how much a place varies, at least.
pub(super) const MIN_STEPS: usize = 4;
/// Own time of a place below which it says nothing of how slow a rank is, nanoseconds.
pub(super) const MIN_OWN_NS: f64 = 20_000.0;
/// Nanoseconds from an enqueue to the begin from which on a computation that the host launched is between them.
pub(super) const MIN_LAUNCHED_NS: f64 = 300_000.0;

/// Nanoseconds from an enqueue to the begin of a call that nothing else keeps, at most, and where it is not seen.
pub(super) const LAUNCH_NS: (f64, f64) = (100_000.0, 30_000.0);

/// What the enqueue of a call follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum HostFrom {
    /// Nothing: it says nothing.
    Unknown,
    /// The enqueue before.
    Enqueue,
    /// The end of the call so many calls before.
    Waits(u8),
    /// That in some steps, and the enqueue before in others.
    Sometimes(u8),
}

/// What the computation before a call follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum GpuFrom {
    /// The computation before.
    Computation,
    /// That, and the end of the call so many calls before; but so many nanoseconds of it go on beside that.
    Waits(u8, i64),
    /// The host, whose launch the GPU waits for, and the end of the call so many calls before, if not 0.
    Host(u8),
}

/// How far a computation's end is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Seen {
    /// The call began when it was over.
    Free,
    /// The call began when the host had launched it.
    Launched,
    /// The call began when another one had ended.
    Queued,
}

/// What the calls at a place of a program follow.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct PlacePath {
    pub(in super::super) host: HostFrom,
    pub(in super::super) gpu: GpuFrom,
    /// From the enqueue to the begin of a call that nothing else keeps, nanoseconds.
    pub(in super::super) launch: i64,
    /// Nanoseconds from the enqueue within which a call began at once.
    pub(in super::super) at_once: i64,
    /// Where the host waits, the part of its own time that may go on beside the call that it waits for, nanoseconds.
    pub(in super::super) beside: i64,
    /// Nanoseconds by which a host is ahead whose GPU's queue of launches is full, and its own time then, at most.
    pub(in super::super) full_queue: (i64, i64),
    /// Where the host waits in some steps, from how long on.
    pub(in super::super) host_usual: f64,
    /// Whether most ranks do not show their computations.
    pub(in super::super) mostly_hidden: bool,
    /// Whether one place alone of its program shows how slow the ranks are.
    pub(in super::super) is_lone: bool,
    /// Whether hosts launch nothing between the call before and this one.
    pub(in super::super) is_empty: bool,
    /// Time in which ranks may compute unseen, nanoseconds.
    pub(in super::super) unseen: f64,
}

impl PlacePath {
    /// Of a call of which nothing is known.
    pub(in super::super) const BETWEEN: Self = Self {
        host: HostFrom::Waits(1),
        gpu: GpuFrom::Waits(1, 0),
        launch: LAUNCH_NS.1 as i64,
        at_once: 0,
        beside: 0,
        full_queue: (i64::MAX, i64::MAX),
        host_usual: 0.0,
        mostly_hidden: false,
        is_lone: false,
        is_empty: false,
        unseen: 0.0,
    };

    pub(in super::super) fn seen(&self, run: &CallRun, call: usize) -> Seen {
        let lead = run.calls[call].lead;
        self.seen_at(is_queued(run, call), if lead > 0 { f64::from(lead) } else { f64::NAN })
    }

    pub(super) fn seen_of(&self, sample: &CallSample) -> Seen {
        self.seen_at(sample.is_queued, sample.since_enqueued)
    }

    fn seen_at(&self, is_queued: bool, since_enqueued: f64) -> Seen {
        if self.is_empty || is_queued {
            Seen::Queued
        } else if since_enqueued <= self.at_once as f64 {
            Seen::Launched
        } else {
            Seen::Free
        }
    }

    pub(super) fn own(&self, sample: &CallSample) -> f64 {
        match self.gpu {
            GpuFrom::Host(0) if sample.since_enqueued.is_finite() => sample.since_enqueued,
            // NaN gives way to any number
            GpuFrom::Host(back) if sample.since_enqueued.is_finite() => {
                sample.since_enqueued.min(sample.since_end[usize::from(back) - 1])
            }
            GpuFrom::Waits(back, ahead) if sample.since_end[usize::from(back) - 1].is_finite() => {
                sample.since_computed.min(sample.since_end[usize::from(back) - 1] + ahead as f64)
            }
            _ => sample.since_computed,
        }
    }
}

/// Returns the median own time of each rank's GPU where it is seen.
pub(super) fn locations(samples: &[Vec<CallSample>], path: &PlacePath) -> Vec<Option<f64>> {
    let of_rank = |samples: &Vec<CallSample>| {
        let free = samples.iter().filter(|sample| path.seen_of(sample) == Seen::Free);
        let mut values: Vec<f64> = free.map(|sample| path.own(sample)).collect();
        // of a rank whose computation shows now and then, the longest ones show
        (values.len() >= MIN_STEPS && 2 * values.len() >= samples.len()).then(|| median(&mut values))
    };
    samples.iter().map(of_rank).collect()
}

/// Returns the share of a rank's samples that show its computation.
pub(super) fn shown(samples: &[CallSample], path: &PlacePath) -> f64 {
    samples.iter().filter(|it| path.seen_of(it) == Seen::Free).count() as f64 / samples.len().max(1) as f64
}

/// Returns whether every call of every rank follows another one at once, so that nothing is computed before it.
pub(super) fn is_empty(samples: &[Vec<CallSample>]) -> bool {
    all(samples).filter(|it| it.is_queued).count() as f64 > 0.9 * all(samples).count() as f64
}

pub(super) fn all(samples: &[Vec<CallSample>]) -> impl Iterator<Item = &CallSample> {
    samples.iter().flatten()
}
