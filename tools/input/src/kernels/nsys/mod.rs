//! Kernels from exports of Nsight Systems: `nsys export --type sqlite`. A file may have several processes of a machine.
//!
//! nsys' times are relative to the begin of its session, whose time of day the file says. How well that is known, nobody
//! says; so NCCL's own kernels show by how much both clocks differ, where the GPU has timed operations.

mod database;
mod file;
mod place;
mod ranges;

use super::matching::launched;
use super::offset::{self, REACH};
use super::own::OwnKernel;
use super::{MOST_OF_ALL, Profiled, in_order, on_clock};
use crate::archive::spans::unite;
use crate::natural::natural;
use file::{NsysFile, NsysProcess};
use report::job::{OperationTables, Process, Unreadable};
use std::path::{Path, PathBuf};

/// Reads exports, and adds their kernels to those of `profiled`. Returns why files or processes were left out, and
/// remarks, a sentence each.
pub fn read(
    files: &[PathBuf],
    processes: &[Process],
    tables: &dyn OperationTables,
    profiled: &mut Profiled,
) -> (Vec<Unreadable>, Vec<String>) {
    let (mut problems, mut notes) = (Vec::new(), Vec::new());
    let mut files: Vec<&PathBuf> = files.iter().collect();
    files.sort_by_cached_key(|path| natural(&path.to_string_lossy()));
    let mut has_kernels = vec![false; processes.len()];
    for (number, path) in files.iter().enumerate() {
        let wrong = |cause: String| Unreadable::whole(path, cause);
        match file::read(path) {
            Ok(mut found) => {
                notes.extend(remarks(path, &found));
                let read = std::mem::take(&mut found.processes);
                let is_only = read.len() == 1 && files.len() == processes.len();
                let mut unknown = vec![];
                for (id, of) in read {
                    let known = place::find(&found, id, &of, processes);
                    let in_order = || {
                        let place = in_order(processes).get(number).copied().filter(|_| is_only)?;
                        let is_free = !has_kernels.get(place)?;
                        (is_free && place::may_be(&found, &of, processes.get(place)?)).then_some(place)
                    };
                    let place = known.or_else(in_order);
                    let Some((place, process)) = place.and_then(|place| Some((place, processes.get(place)?))) else {
                        unknown.push(id);
                        continue;
                    };
                    has_kernels[place] = true;
                    if known.is_none() {
                        let name = name(process);
                        notes.push(format!(
                            "{}: its kernels count as those of {name} by the order of the files' names alone.",
                            path.display()
                        ));
                    }
                    match add(of, place, process, tables, profiled) {
                        Ok(note) => notes.extend(note.map(|note| format!("{}: {note}", path.display()))),
                        Err(cause) => problems.push(wrong(cause)),
                    }
                }
                problems.extend(cause_of(&unknown).map(wrong));
            }
            Err(cause) => problems.push(wrong(cause)),
        }
    }
    (problems, notes)
}

/// Says which processes of a file are none of the job.
fn cause_of(unknown: &[i64]) -> Option<String> {
    let first = unknown.first()?;
    let more = if unknown.len() > 1 { format!(" and {} more", unknown.len() - 1) } else { String::new() };
    Some(format!(
        "process {first}{more} with kernels is none of the job's by id, MPI rank or GPU: give one file for each \
         process, with its rank in the name (nsys profile -o rank%q{{RANK}} below the launcher)"
    ))
}

/// Returns what a file lacks.
fn remarks(path: &Path, found: &NsysFile) -> Vec<String> {
    let path = path.display();
    let mut notes = vec![];
    if found.graphs > 0 {
        notes.push(format!(
            "{path}: {} replays of CUDA graphs were recorded as a whole and do not count as computing: \
             nsys profile --cuda-graph-trace=node records their kernels.",
            found.graphs
        ));
    }
    if found.unnamed > 0 {
        notes.push(format!("{path}: {} kernels have no name and do not count.", found.unnamed));
    }
    notes
}

/// Adds the kernels of a process. Returns a remark on its clock.
fn add(
    of: NsysProcess,
    place: usize,
    process: &Process,
    tables: &dyn OperationTables,
    profiled: &mut Profiled,
) -> Result<Option<String>, String> {
    let shown = on_clock(process)?;
    let own: Vec<OwnKernel> =
        of.nccl.into_iter().map(|(runs, lane, span)| OwnKernel { runs, lane, span: span.map(&shown) }).collect();
    let mut computing: Vec<[u64; 2]> = of.computing.into_iter().map(|span| span.map(&shown)).collect();
    let begins = || own.iter().map(|kernel| kernel.span);
    let span = begins().map(|span| span[0]).min().zip(begins().map(|span| span[1]).max());
    let operations = span.and_then(|span| Some((span, tables.operations(place).ok()?)));
    let shift =
        operations.and_then(|((from, to), operations)| offset::later(&own, &launched(operations, [from, to], REACH)));
    let earlier = |span: [u64; 2]| span.map(|time| time.saturating_add_signed(shift.unwrap_or(0).saturating_neg()));
    let own = own.into_iter().map(|kernel| OwnKernel { span: earlier(kernel.span), ..kernel });
    computing.iter_mut().for_each(|span| *span = earlier(*span));
    unite(&mut computing);
    profiled
        .add(place, computing, own.collect())
        .map_err(|()| format!("with this file, there are more than {MOST_OF_ALL} kernels: give fewer files"))?;
    Ok(shift.is_none().then(|| {
        format!(
            "the clock of {} could not be compared by NCCL's kernels; its kernels lie where their time of day says.",
            name(process)
        )
    }))
}

/// Returns the rank of a process in words, or its file.
fn name(process: &Process) -> String {
    process.rank.map_or_else(|| process.file.clone(), |rank| format!("rank {rank}"))
}

#[cfg(test)]
mod tests;
