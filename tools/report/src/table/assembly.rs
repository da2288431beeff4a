//! Puts the processes of files together to a job.

use super::{About, MadeCommunicator};
use crate::job::{Communicator, Gpu, Job, Member, Process};
use common::lateness::Boot;
use std::collections::{BTreeMap, BTreeSet};

/// A rank as a process has made it.
#[derive(Clone, Copy)]
struct Claim<'a> {
    process: usize,
    made: &'a MadeCommunicator,
}

/// Returns the order of processes by their ranks in the job. Those without a rank come last, in the order that they
/// have.
pub(super) fn by_rank(abouts: &[About]) -> Vec<usize> {
    let processes: Vec<Process> = abouts.iter().map(|about| about.process.clone()).collect();
    let ranks = ranks(&processes, &claims(abouts));
    let mut order: Vec<usize> = (0..abouts.len()).collect();
    order.sort_by_key(|&place| ranks.get(place).copied().flatten().map_or((1, 0), |rank| (0, rank)));
    order
}

/// Returns the job of these processes, and remarks for people.
pub fn assemble(abouts: &[About]) -> (Job, Vec<String>) {
    let processes: Vec<Process> = abouts.iter().map(|about| about.process.clone()).collect();
    let mut notes = Vec::new();
    let nodes = nodes(&processes, &mut notes);
    let claims = claims(abouts);
    // places of the GPUs, by process
    let (mut gpus, mut firsts) = (Vec::new(), Vec::new());
    let counts = gpu_counts(&claims);
    let ranks = ranks(&processes, &claims);
    for process in 0..processes.len() {
        let most = counts.get(&process).copied().unwrap_or(1);
        firsts.push(gpus.len());
        let node = nodes.get(process).copied().unwrap_or_default();
        gpus.extend((0..most).map(|index| Gpu {
            process,
            index,
            name: name(ranks.get(process).copied().flatten(), process, index, most),
            node,
        }));
    }
    let mut communicators: Vec<(i128, Communicator)> = claims
        .iter()
        .map(|(&comm, claims)| {
            let first = claims.iter().map(|it| time_of_day(&processes, it)).min().unwrap_or_default();
            (first, communicator(comm, claims, &firsts))
        })
        .collect();
    communicators.sort_by_key(|(first, communicator)| (*first, communicator.comm));
    let communicators: Vec<Communicator> = communicators.into_iter().map(|(_, communicator)| communicator).collect();
    notes.extend(repeated(&communicators, &claims, &processes));
    notes.extend(foreign(&processes, &communicators, &gpus));
    let places = communicators.iter().enumerate().map(|(place, it)| (it.comm, place)).collect();
    (Job { processes, gpus, communicators, places }, notes)
}

/// Returns the ranks that processes have made, by communicator, sorted by rank. A rank that one process has made twice
/// counts once, since its first time.
fn claims(abouts: &[About]) -> BTreeMap<u64, Vec<Claim<'_>>> {
    let mut claims: BTreeMap<u64, Vec<Claim<'_>>> = BTreeMap::new();
    for (process, about) in abouts.iter().enumerate() {
        for made in &about.communicators {
            let Ok(comm) = u64::from_str_radix(&made.comm, 16) else { continue };
            claims.entry(comm).or_default().push(Claim { process, made });
        }
    }
    for claims in claims.values_mut() {
        claims.sort_by_key(|it| (it.made.rank, it.process, it.made.made));
        claims.dedup_by_key(|it| (it.made.rank, it.process));
    }
    claims
}

/// Returns the number of GPUs of each process: its largest number of ranks in one communicator.
fn gpu_counts(claims: &BTreeMap<u64, Vec<Claim<'_>>>) -> BTreeMap<usize, usize> {
    let mut most: BTreeMap<usize, usize> = BTreeMap::new();
    for claims in claims.values() {
        let mut here: BTreeMap<usize, usize> = BTreeMap::new();
        claims.iter().for_each(|it| *here.entry(it.process).or_default() += 1);
        for (process, count) in here {
            let most = most.entry(process).or_default();
            *most = count.max(*most);
        }
    }
    most
}

fn communicator(comm: u64, claims: &[Claim<'_>], firsts: &[usize]) -> Communicator {
    let mut here: BTreeMap<usize, usize> = BTreeMap::new();
    let (mut members, mut repeated): (Vec<Member>, BTreeSet<i32>) = Default::default();
    for claim in claims {
        let index = here.entry(claim.process).or_default();
        let gpu = firsts.get(claim.process).copied().unwrap_or_default() + *index;
        *index += 1;
        if members.last().is_some_and(|last| last.rank == claim.made.rank) {
            repeated.insert(claim.made.rank);
        } else {
            members.push(Member { rank: claim.made.rank, gpu, made: claim.made.made });
        }
    }
    let name = claims.iter().map(|it| &it.made.name).find(|name| !name.is_empty()).cloned().unwrap_or_default();
    let most = |number: fn(&MadeCommunicator) -> i32| claims.iter().map(|it| number(it.made)).max().unwrap_or_default();
    let (nranks, nnodes) = (most(|it| it.nranks), most(|it| it.nnodes));
    Communicator { comm, name, nranks, nnodes, members, repeated: repeated.into_iter().collect() }
}

/// Returns when a rank was made, nanoseconds since 1970, or of its process' clock where the time of day is unknown.
fn time_of_day(processes: &[Process], claim: &Claim<'_>) -> i128 {
    let process = processes.get(claim.process).filter(|it| it.real0 > 0);
    i128::from(claim.made.made) + process.map_or(0, |it| i128::from(it.real0) - i128::from(it.mono0))
}

/// Returns the rank of each process in the job: the launcher's, or where no process has one, that in the communicators
/// of all processes. Empty where neither is known, or where such communicators number the processes differently.
fn ranks(processes: &[Process], claims: &BTreeMap<u64, Vec<Claim<'_>>>) -> Vec<Option<u32>> {
    if processes.iter().any(|process| process.rank.is_some()) {
        return processes.iter().map(|process| process.rank).collect();
    }
    let of_all = |claims: &&Vec<Claim<'_>>| {
        let here: BTreeSet<usize> = claims.iter().map(|it| it.process).collect();
        claims.len() == processes.len() && here.len() == processes.len()
    };
    let numbers = |claims: &Vec<Claim<'_>>| {
        let ranks: BTreeMap<usize, u32> =
            claims.iter().filter_map(|it| Some((it.process, it.made.rank.try_into().ok()?))).collect();
        (0..processes.len()).map(|process| ranks.get(&process).copied()).collect()
    };
    let mut all = claims.values().filter(of_all).map(numbers);
    let first: Vec<Option<u32>> = all.next().unwrap_or_default();
    if all.all(|other| other == first) { first } else { Vec::new() }
}

fn name(rank: Option<u32>, process: usize, index: usize, gpus: usize) -> String {
    let name = rank.map_or_else(|| format!("process {process}"), |rank| format!("rank {rank}"));
    if gpus > 1 { format!("{name} GPU {index}") } else { name }
}

/// Returns the place of each process' machine.
fn nodes(processes: &[Process], notes: &mut Vec<String>) -> Vec<usize> {
    let mut machines: Vec<Boot<'_>> = Vec::new();
    let place = |process| {
        let own = Process::boot(process);
        let known = machines.iter().position(|other| other.is_machine_of(&own));
        known.unwrap_or_else(|| {
            machines.push(own);
            machines.len() - 1
        })
    };
    let nodes = processes.iter().map(place).collect();
    let unknown = processes.iter().filter(|it| it.boot.is_none() && it.host.is_none()).count();
    if unknown > 0 {
        notes.push(format!(
            "{unknown} of {} processes name neither their machine nor its boot: those whose machines booted within a \
             second of each other count as on one machine",
            processes.len()
        ));
    }
    nodes
}

fn repeated<'a>(
    communicators: &'a [Communicator],
    claims: &'a BTreeMap<u64, Vec<Claim<'_>>>,
    processes: &'a [Process],
) -> impl Iterator<Item = String> + 'a {
    communicators.iter().filter_map(|communicator| {
        let rank = *communicator.repeated.first()?;
        let of_rank = claims.get(&communicator.comm)?.iter().filter(|it| it.made.rank == rank);
        let files: Vec<&str> =
            of_rank.filter_map(|it| processes.get(it.process)).map(|process| process.file.as_str()).collect();
        Some(format!(
            "rank {rank} of communicator {:016x} is in {}: leave all but one of them out{}",
            communicator.comm,
            files.join(" and in "),
            if communicator.repeated.len() > 1 { " (and so are more of its ranks in several files)" } else { "" }
        ))
    })
}

/// Notes that processes share no communicators, not even over others. A process without a communicator is of no part.
fn foreign(processes: &[Process], communicators: &[Communicator], gpus: &[Gpu]) -> Option<String> {
    let mut jobs: Vec<usize> = (0..processes.len()).collect();
    for communicator in communicators {
        let mut members = communicator.members.iter().filter_map(|it| Some(gpus.get(it.gpu)?.process));
        let Some(first) = members.next().map(|first| root(&jobs, first)) else { continue };
        for other in members {
            let other = root(&jobs, other);
            if let Some(job) = jobs.get_mut(other) {
                *job = first;
            }
        }
    }
    let members = communicators.iter().flat_map(|it| &it.members).filter_map(|it| Some(gpus.get(it.gpu)?.process));
    let roots: BTreeSet<usize> = members.map(|process| root(&jobs, process)).collect();
    let alone = roots.iter().nth(1).and_then(|&process| processes.get(process))?;
    Some(format!(
        "the processes fall into {} parts that share no communicator, so nothing is compared between these: {} is \
         not in the first one's part",
        roots.len(),
        alone.file
    ))
}

/// Returns the process that stands for the part of another one.
fn root(jobs: &[usize], mut process: usize) -> usize {
    while let Some(&job) = jobs.get(process).filter(|&&job| job != process) {
        process = job;
    }
    process
}
