//! NCCL's callbacks below the slowest operations of the step that a report shows in detail.
//!
//! Operations' tables hold none of them, and a job has more than anybody reads. So the few recordings that have those
//! operations are read a second time, once the step is known, and no further than to its end.
//!
//! ```text
//! step in detail ──► chosen: operations, ranks ──► below: one recording each ──► callbacks of the report
//! ```

mod below;
mod chosen;
mod steps;

use crate::capture::CaptureError;
use crate::replay::run_all;
use below::{CallbacksBelow, WantedCall};
use report::answer::{Callbacks, Part, RankCallbacks, Swim};
use report::job::Job;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Reads the callbacks below the slowest operations of a step. `recordings` are the inputs that have any.
pub(crate) fn read(swim: &Part<Swim>, job: &Job, recordings: &[PathBuf]) -> Part<Callbacks> {
    let swim = match swim {
        Part::Known(swim) => swim,
        Part::Absent(reason) => return Part::Absent(reason.clone()),
    };
    let mut operations = chosen::operations(swim);
    let mut wanted: BTreeMap<&Path, Vec<WantedCall>> = BTreeMap::new();
    for (number, operation) in operations.iter().enumerate() {
        for (place, rank) in operation.ranks.iter().enumerate() {
            let found =
                file(job, rank.gpu, recordings).zip(WantedCall::of(job, &operation.comm, rank, (number, place)));
            if let Some((file, of_rank)) = found {
                wanted.entry(file).or_default().push(of_rank);
            }
        }
    }
    if wanted.is_empty() {
        return Part::Absent(Callbacks::NOT_IN_INPUTS.into());
    }
    let jobs: Vec<(&Path, Vec<WantedCall>)> = wanted.into_iter().collect();
    let mut notes = Vec::new();
    for result in run_all(&jobs, None, |(file, wanted)| below::read(file, wanted)) {
        match result {
            Ok(found) => found.into_iter().for_each(|(of, below)| {
                let operation = operations.get_mut(of.0);
                let comm = operation.as_ref().and_then(|operation| u64::from_str_radix(&operation.comm, 16).ok());
                if let Some((rank, comm)) = operation.and_then(|operation| operation.ranks.get_mut(of.1)).zip(comm) {
                    fill(rank, below, |peer| job.gpu(comm, peer));
                }
            }),
            Err(error) => notes.push(unread(&error)),
        }
    }
    Part::Known(Callbacks { operations, notes })
}

fn file<'a>(job: &Job, gpu: usize, recordings: &'a [PathBuf]) -> Option<&'a Path> {
    let process = job.processes.get(job.gpus.get(gpu)?.process)?;
    recordings.iter().find(|path| path.as_os_str() == process.file.as_str()).map(PathBuf::as_path)
}

fn fill(rank: &mut RankCallbacks, below: CallbacksBelow, gpu: impl Fn(i32) -> Option<usize>) {
    let CallbacksBelow { channels, mut proxies, left_out } = below;
    proxies.iter_mut().for_each(|proxy| proxy.peer_gpu = gpu(proxy.peer));
    (rank.channels, rank.proxies, rank.left_out) = (channels, proxies, left_out);
}

/// A recording that was read before can be lost or replaced meanwhile.
fn unread(error: &CaptureError) -> String {
    format!("{error}; its callbacks are not shown.")
}
