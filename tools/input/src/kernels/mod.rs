//! Kernels from traces of PyTorch's profiler (Kineto's JSON) and exports of Nsight Systems (SQLite): those of the
//! computation, and NCCL's own, which time operations.
//!
//! ```text
//! trace ───► kineto ─┬── computation ──────────► Profiled::computation ──► the budget
//! export ──► nsys ───┴── NCCL's own ──► own ──► matching ──► timed ──────► operations with the kernels' times
//! operations' tables ──────────────────────────────┘
//! ```

mod bounded;
mod kineto;
mod matching;
pub mod nsys;
mod offset;
mod own;
#[cfg(test)]
mod tests;
mod timed;

pub use timed::Timed;

use crate::archive::spans::unite;
use own::OwnKernel;
use report::job::{Kernels, Process, Unreadable};
use std::path::{Path, PathBuf};

/// Most kernels of all traces: at most 1 GiB of them. Those of the computation that touch each other count as one.
const MOST_OF_ALL: usize = 1 << 24;

/// The kernels in profiles, on the clocks of their processes.
#[derive(Debug, Default)]
pub struct Profiled {
    /// Kernels of the computation.
    pub computation: Kernels,
    /// NCCL's own kernels, by place of the process.
    pub nccl: Vec<Vec<OwnKernel>>,
    /// Number of both.
    kept: usize,
}

/// Reads traces, one or more for each process. Returns the kernels, and why traces were left out.
pub fn read(files: &[PathBuf], processes: &[Process]) -> (Profiled, Vec<Unreadable>) {
    let mut profiled = Profiled::new(processes.len());
    let mut problems = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let read = one(file, number, files.len(), processes).and_then(|(place, mut spans, own)| {
            unite(&mut spans);
            profiled.add(place, spans, own).map_err(|()| {
                let cause = format!("with this trace, there are more than {MOST_OF_ALL} kernels: give fewer traces");
                Unreadable::whole(file, cause)
            })
        });
        problems.extend(read.err());
    }
    (profiled, problems)
}

impl Profiled {
    /// No kernels of any process.
    fn new(processes: usize) -> Self {
        let computation = Kernels { by_process: vec![Vec::new(); processes] };
        Self { computation, nccl: vec![Vec::new(); processes], kept: 0 }
    }

    /// Adds kernels of a process, on its clock.
    ///
    /// # Errors
    /// There would be more than [`MOST_OF_ALL`].
    fn add(&mut self, place: usize, computing: Vec<[u64; 2]>, own: Vec<OwnKernel>) -> Result<(), ()> {
        if self.kept + computing.len() + own.len() > MOST_OF_ALL {
            return Err(());
        }
        self.kept += computing.len() + own.len();
        if let Some(all) = self.computation.by_process.get_mut(place) {
            all.extend(computing);
            unite(all);
        }
        if let Some(all) = self.nccl.get_mut(place) {
            all.extend(own);
        }
        Ok(())
    }
}

/// The process of a trace by its place, the kernels of its computation, and NCCL's own.
type ProcessKernels = (usize, Vec<[u64; 2]>, Vec<OwnKernel>);

/// Reads one trace. Returns its kernels on the clock of their process.
fn one(file: &Path, number: usize, traces: usize, processes: &[Process]) -> Result<ProcessKernels, Unreadable> {
    let wrong = |cause: String| Unreadable::whole(file, cause);
    let trace = kineto::read(file).map_err(wrong)?;
    let place = match trace.rank {
        Some(rank) => processes
            .iter()
            .position(|process| process.rank == Some(rank))
            .ok_or_else(|| wrong(format!("no process of the job has rank {rank}")))?,
        None if traces == processes.len() => in_order(processes).get(number).copied().unwrap_or(number),
        None => {
            return Err(wrong(format!(
                "the trace names no rank (distributedInfo), and {traces} traces are not one for each of {} processes: \
                 name one trace for each process, in the order of ranks",
                processes.len()
            )));
        }
    };
    let process = processes.get(place).ok_or_else(|| wrong("its process is none of the job".into()))?;
    let shown = on_clock(process).map_err(wrong)?;
    let computing = trace.computing.iter().map(|span| span.map(&shown)).collect();
    let own = trace.nccl.into_iter().map(|(runs, lane, span)| OwnKernel { runs, lane, span: span.map(&shown) });
    Ok((place, computing, own.collect()))
}

/// Returns the time that a process' clock shows at a time of day, in nanoseconds since 1970.
///
/// # Errors
/// The process does not say the time of day.
fn on_clock(process: &Process) -> Result<impl Fn(i128) -> u64 + use<>, String> {
    let (real0, mono0) = (i128::from(process.real0), i128::from(process.mono0));
    if real0 == 0 {
        let file = &process.file;
        return Err(format!("{file} does not say the time of day, so its kernels have no place on its clock"));
    }
    // a damaged trace may have any times
    Ok(move |day: i128| u64::try_from(day.saturating_sub(real0).saturating_add(mono0).max(0)).unwrap_or(u64::MAX))
}

/// Returns the places of the processes in the order of their ranks.
fn in_order(processes: &[Process]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..processes.len()).collect();
    places.sort_by_key(|&place| processes.get(place).and_then(|process| process.rank));
    places
}
