//! A job from the summaries of its processes.

use super::sums::is_others;
use crate::job::{Communicator, Gpu, Job, Member, Process};
use common::summary::{self, Summary};
use std::collections::{BTreeMap, BTreeSet};

/// Makes a job. Its processes are in the order of their ranks; the summaries of `cut` were not written at the end.
pub(super) fn assemble(summary: &Summary, cut: &BTreeSet<u32>) -> Job {
    let processes = in_order(summary);
    let known = summary.communicators.iter().filter(|communicator| !is_others(&communicator.comm));
    let known: Vec<&summary::SummaryCommunicator> = known.collect();
    let (gpus, mut members) = gpus(&processes, &known);
    let mut job = Job { gpus, ..Job::default() };
    job.processes = processes.iter().map(|of| process(of, !cut.contains(&of.process))).collect();
    for (place, row) in known.into_iter().enumerate() {
        let of = communicator(row, members.remove(&place).unwrap_or_default());
        job.places.insert(of.comm, place);
        job.communicators.push(of);
    }
    job
}

/// Returns the processes in the order of their places in the job.
pub(super) fn in_order(summary: &Summary) -> Vec<&summary::SummaryProcess> {
    let mut processes: Vec<&summary::SummaryProcess> = summary.processes.iter().collect();
    processes.sort_by_key(|process| (process.origin.rank, process.process));
    processes
}

/// Returns the GPUs of the processes, and the members of each communicator by its place. The i-th rank of each
/// communicator in a process is on the process' i-th GPU.
fn gpus(
    processes: &[&summary::SummaryProcess],
    communicators: &[&summary::SummaryCommunicator],
) -> (Vec<Gpu>, BTreeMap<usize, Vec<Member>>) {
    let mut ranks: BTreeMap<u32, Vec<(usize, i32)>> = BTreeMap::new();
    for (place, communicator) in communicators.iter().enumerate() {
        for rank in &communicator.ranks {
            ranks.entry(rank.process).or_default().push((place, rank.rank));
        }
    }
    let mut gpus: Vec<Gpu> = vec![];
    let mut members: BTreeMap<usize, Vec<Member>> = BTreeMap::new();
    let mut nodes: BTreeMap<String, usize> = BTreeMap::new();
    for (place, process) in processes.iter().enumerate() {
        let mut of_process = ranks.remove(&process.process).unwrap_or_default();
        of_process.sort_unstable();
        let mut count: BTreeMap<usize, usize> = BTreeMap::new();
        for (communicator, rank) in of_process {
            let index = count.entry(communicator).or_default();
            members.entry(communicator).or_default().push(Member { rank, gpu: gpus.len() + *index, made: 0 });
            *index += 1;
        }
        let count = count.into_values().max().unwrap_or(1);
        let origin = &process.origin;
        // it is not known who shares a nameless machine
        let machine = origin.boot.as_ref().or(origin.host.as_ref()).cloned();
        let next = nodes.len();
        let node = *nodes.entry(machine.unwrap_or_else(|| format!("of process {place}"))).or_insert(next);
        let called = origin.rank.map_or_else(|| format!("process {place}"), |rank| format!("rank {rank}"));
        gpus.extend((0..count).map(|index| {
            let name = if count > 1 { format!("{called} GPU {index}") } else { called.clone() };
            Gpu { process: place, index, name, node }
        }));
    }
    (gpus, members)
}

/// Makes a communicator. A rank that two processes claim is the first one's.
fn communicator(row: &summary::SummaryCommunicator, mut members: Vec<Member>) -> Communicator {
    members.sort_by_key(|member| (member.rank, member.gpu));
    let mut repeated = vec![];
    members.dedup_by(|next, kept| {
        let is_same = next.rank == kept.rank;
        if is_same {
            repeated.push(next.rank);
        }
        is_same
    });
    repeated.dedup();
    Communicator {
        comm: u64::from_str_radix(&row.comm, 16).unwrap_or_default(),
        name: row.name.clone(),
        nranks: row.nranks,
        nnodes: row.nnodes,
        members,
        repeated,
    }
}

fn process(of: &summary::SummaryProcess, complete: bool) -> Process {
    let origin = &of.origin;
    Process {
        id: origin.id.clone().unwrap_or_else(|| format!("process {}", of.process)),
        file: origin.file.clone().unwrap_or_default(),
        host: origin.host.clone(),
        boot: origin.boot.clone(),
        rank: origin.rank,
        ranks: origin.ranks,
        nccl: origin.nccl.clone(),
        dropped: of.dropped,
        unfinished: of.unfinished,
        invisible: of.invisible,
        complete,
        links: origin.links.clone(),
        nccl_settings: origin.nccl_settings.clone(),
        ..Process::default()
    }
}
