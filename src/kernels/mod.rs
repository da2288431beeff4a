//! Kernels from traces of PyTorch's profiler (Kineto's JSON): those of the computation, and NCCL's own, which time
//! operations.
//!
//! ```text
//! trace ──► kineto ──┬── computation ──────────► Profiled::computation ──► the budget
//!                    └── NCCL's own ──► own ──► matching ──► timed ──────► operations with the kernels' times
//! operations' tables ──────────────────────────────┘
//! ```

mod bounded;
mod kineto;
mod matching;
mod own;
#[cfg(test)]
mod tests;
mod timed;

pub(crate) use timed::Timed;

use crate::archive::spans::unite;
use own::OwnKernel;
use report::job::{Kernels, Process, Unreadable};
use std::path::{Path, PathBuf};

/// Most kernels of all traces: at most 1 GiB of them. Those of the computation that touch each other count as one.
const MOST_OF_ALL: usize = 1 << 24;

/// The kernels in profiles, on the clocks of their processes.
#[derive(Debug, Default)]
pub(crate) struct Profiled {
    /// Kernels of the computation.
    pub(crate) computation: Kernels,
    /// NCCL's own kernels, by place of the process.
    pub(crate) nccl: Vec<Vec<OwnKernel>>,
}

/// Reads traces, one or more for each process. Returns the kernels, and why traces were left out.
pub(crate) fn read(files: &[PathBuf], processes: &[Process]) -> (Profiled, Vec<Unreadable>) {
    let mut computing = vec![Vec::new(); processes.len()];
    let mut nccl = vec![Vec::new(); processes.len()];
    let mut problems = Vec::new();
    let mut kept = 0_usize;
    for (number, file) in files.iter().enumerate() {
        let read = one(file, number, files.len(), processes).and_then(|(place, mut spans, own)| {
            unite(&mut spans);
            if kept + spans.len() + own.len() > MOST_OF_ALL {
                let cause = format!("with this trace, there are more than {MOST_OF_ALL} kernels: give fewer traces");
                return Err(Unreadable { file: file.display().to_string(), place: None, cause });
            }
            Ok((place, spans, own))
        });
        match read {
            Ok((place, spans, own)) => {
                kept += spans.len() + own.len();
                computing.get_mut(place).into_iter().for_each(|all: &mut Vec<_>| all.extend(&spans));
                nccl.get_mut(place).into_iter().for_each(|all: &mut Vec<_>| all.extend(&own));
            }
            Err(problem) => problems.push(problem),
        }
    }
    computing.iter_mut().for_each(unite);
    (Profiled { computation: Kernels { by_process: computing }, nccl }, problems)
}

/// The process of a trace by its place, the kernels of its computation, and NCCL's own.
type ProcessKernels = (usize, Vec<[u64; 2]>, Vec<OwnKernel>);

/// Reads one trace. Returns its kernels on the clock of their process.
fn one(file: &Path, number: usize, traces: usize, processes: &[Process]) -> Result<ProcessKernels, Unreadable> {
    let wrong = |cause: String| Unreadable { file: file.display().to_string(), place: None, cause };
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
    let Some(process) = processes.get(place).filter(|process| process.real0 > 0) else {
        let process = processes.get(place).map(|process| process.file.clone()).unwrap_or_default();
        return Err(wrong(format!(
            "{process} does not say the time of day, so its kernels have no place on its clock"
        )));
    };
    let shown = |day: i128| {
        // a damaged trace may have any times
        let own = day.saturating_sub(process.real0.into()).saturating_add(process.mono0.into());
        u64::try_from(own.max(0)).unwrap_or(u64::MAX)
    };
    let computing = trace.computing.iter().map(|span| span.map(shown)).collect();
    let own = trace.nccl.into_iter().map(|(runs, lane, span)| OwnKernel { runs, lane, span: span.map(shown) });
    Ok((place, computing, own.collect()))
}

/// Returns the places of the processes in the order of their ranks.
fn in_order(processes: &[Process]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..processes.len()).collect();
    places.sort_by_key(|&place| processes.get(place).and_then(|process| process.rank));
    places
}
