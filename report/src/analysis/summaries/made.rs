//! A job from the summaries of its processes.

use crate::job::{Communicator, Gpu, Job, Member, Process};
use common::summary::Summary;
use std::collections::{BTreeMap, BTreeSet};

use super::gathered::is_others;

/// Makes a job. Its processes are in the order of their ranks; the summaries of `cut` were not written at the end.
pub(super) fn job(summary: &Summary, cut: &BTreeSet<u32>) -> Job {
    let mut order: Vec<usize> = (0..summary.processes.len()).collect();
    order.sort_by_key(|&place| summary.processes.get(place).map(|process| (process.origin.rank, process.process)));
    let in_order: Vec<_> = order.iter().filter_map(|&place| summary.processes.get(place)).collect();
    let processes = in_order.iter().map(|process| made(process, !cut.contains(&process.process)));
    let mut job = Job { processes: processes.collect(), ..Job::default() };

    // the i-th rank of each communicator is on the i-th GPU
    let mut ranks: BTreeMap<u32, Vec<(usize, i32)>> = BTreeMap::new();
    let known = || summary.communicators.iter().filter(|communicator| !is_others(&communicator.comm));
    for (place, communicator) in known().enumerate() {
        for rank in &communicator.ranks {
            ranks.entry(rank.process).or_default().push((place, rank.rank));
        }
    }
    let mut nodes: BTreeMap<String, usize> = BTreeMap::new();
    let mut members: BTreeMap<usize, Vec<Member>> = BTreeMap::new();
    for (place, process) in in_order.iter().enumerate() {
        let mut of_process = ranks.remove(&process.process).unwrap_or_default();
        of_process.sort_unstable();
        let mut indices: BTreeMap<usize, usize> = BTreeMap::new();
        let first = job.gpus.len();
        for (communicator, rank) in of_process {
            let index = indices.entry(communicator).or_default();
            members.entry(communicator).or_default().push(Member { rank, gpu: first + *index, made: 0 });
            *index += 1;
        }
        let count = indices.into_values().max().unwrap_or(1);
        let machine = process.origin.boot.as_ref().or(process.origin.host.as_ref());
        // nobody knows who shares a nameless machine
        let machine = machine.cloned().unwrap_or_else(|| format!("of process {place}"));
        let next = nodes.len();
        let node = *nodes.entry(machine).or_insert(next);
        let called = process.origin.rank.map_or_else(|| format!("process {place}"), |rank| format!("rank {rank}"));
        job.gpus.extend((0..count).map(|index| {
            let name = if count > 1 { format!("{called} GPU {index}") } else { called.clone() };
            Gpu { process: place, index, name, node }
        }));
    }
    for (place, communicator) in known().enumerate() {
        let comm = u64::from_str_radix(&communicator.comm, 16).unwrap_or_default();
        let mut members = members.remove(&place).unwrap_or_default();
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
        job.places.insert(comm, place);
        job.communicators.push(Communicator {
            comm,
            name: communicator.name.clone(),
            nranks: communicator.nranks,
            nnodes: communicator.nnodes,
            members,
            repeated,
        });
    }
    job
}

fn made(process: &common::summary::Process, complete: bool) -> Process {
    let origin = &process.origin;
    Process {
        id: origin.id.clone().unwrap_or_else(|| format!("process {}", process.process)),
        file: origin.file.clone().unwrap_or_default(),
        host: origin.host.clone(),
        boot: origin.boot.clone(),
        rank: origin.rank,
        ranks: origin.ranks,
        dropped: process.dropped,
        unfinished: process.unfinished,
        invisible: process.invisible,
        complete,
        ..Process::default()
    }
}
