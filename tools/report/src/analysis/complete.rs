//! Whether all is there: ranks, operations, times.

use super::communicators::CallSum;
use super::ranges::{of_stretches, ranges};
use super::sketch::TimeSketch;
use crate::answer::{Complete, Input, MissingRanks};
use crate::job::{Communicator, Job};
use crate::stream::{Listener, Occurrence};
use common::ranks;
use std::collections::BTreeSet;

/// Clocks of the machines as they were brought together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MachineClocks {
    /// Number of machines whose clocks were compared.
    pub nodes: u64,
    /// Largest guaranteed error, nanoseconds; `None` where clocks are not connected.
    pub error: Option<u64>,
}

/// Listens for operations without a match or a comparison.
#[derive(Default)]
pub struct Incompleteness {
    matched: u64,
    unmatched: u64,
    compared: u64,
    errors: TimeSketch,
}

impl Incompleteness {
    /// Returns the part of the answer. `calls` is the sum of all calls.
    pub fn finish(self, job: &Job, inputs: Vec<Input>, clocks: &MachineClocks, calls: CallSum) -> Complete {
        let (ranks_here, ranks, lacking) = ranks(job);
        let communicators: Vec<MissingRanks> = job.communicators.iter().filter_map(missing).collect();
        let sum = |of: fn(&crate::job::Process) -> u64| job.processes.iter().map(of).fold(0, u64::saturating_add);
        Complete {
            notes: notes(job, &inputs),
            inputs,
            ranks_here,
            ranks,
            missing: of_stretches(lacking),
            early: vec![],
            communicators,
            operations: calls.operations,
            untimed: calls.untimed,
            without_begin: calls.without_begin,
            matched: self.matched,
            unmatched: self.unmatched,
            compared: self.compared,
            dropped: sum(|process| process.dropped),
            unfinished: sum(|process| process.unfinished),
            invisible: sum(|process| process.invisible),
            nodes: clocks.nodes,
            clock_error_us: clocks.error.map(|error| error as f64 / 1e3),
            wait_error_us: self.errors.percentile(0.5).map(|error| error / 1e3),
        }
    }
}

/// Returns the number of ranks that were found, the number of those that there should be, and the ones that are not
/// here. The launcher's variables count where all processes have them and agree; else the largest communicator, if no
/// GPU is outside of it.
fn ranks(job: &Job) -> (u64, Option<u64>, Vec<[i64; 2]>) {
    let largest = job.communicators.iter().max_by_key(|communicator| (communicator.nranks, communicator.members.len()));
    let (here, of_largest) =
        largest.map_or((0, 0), |largest| (largest.members.len() as u64, u64::try_from(largest.nranks).unwrap_or(0)));
    let launched: Option<BTreeSet<u32>> = job.processes.iter().map(|process| process.rank).collect();
    let sizes: Option<BTreeSet<u32>> = job.processes.iter().map(|process| process.ranks).collect();
    if let (Some(launched), Some(sizes)) = (launched, sizes)
        && let (Some(&size), 1) = (sizes.first(), sizes.len())
    {
        // a process may have several ranks of its communicator
        let lacking = ranks::missing(launched.iter().copied(), size.into()).collect();
        let (size, launched) = (u64::from(size), launched.len() as u64);
        // where each process has one rank, its number in the job is known
        if size > of_largest || (launched < size && here >= of_largest) || size == of_largest && launched == here {
            return (launched, Some(size), lacking);
        }
    }
    let gpus = job.gpus.len() as u64;
    let lacking = || largest.map_or(vec![], |largest| lacking(largest).collect());
    if of_largest > 0 && gpus <= of_largest { (here, Some(of_largest), lacking()) } else { (gpus, None, vec![]) }
}

/// Returns the ranks of a communicator that were not found.
fn lacking(communicator: &Communicator) -> impl Iterator<Item = [i64; 2]> + use<> {
    let here: BTreeSet<i32> = communicator.members.iter().map(|member| member.rank).collect();
    ranks::missing(here, communicator.nranks.into())
}

/// Returns the ranks that a communicator lacks or has twice, if there are any.
fn missing(communicator: &Communicator) -> Option<MissingRanks> {
    if communicator.nranks <= 0 || communicator.is_whole() {
        return None;
    }
    Some(MissingRanks {
        comm: format!("{:016x}", communicator.comm),
        nranks: communicator.nranks,
        here: communicator.members.len() as u64,
        missing: of_stretches(lacking(communicator)),
        repeated: ranges(communicator.repeated.iter().copied().map(i64::from)),
    })
}

/// Returns remarks on inputs and processes, a sentence each.
fn notes(job: &Job, inputs: &[Input]) -> Vec<String> {
    let mut notes = vec![];
    let mut say = |count: usize, one: &str, more: &str| match count {
        0 => {}
        1 => notes.push(format!("1 {one}")),
        count => notes.push(format!("{count} {more}")),
    };
    let bad = inputs.iter().filter(|input| input.problem.is_some()).count();
    say(bad, "input was left out: `inputs` has the reason.", "inputs were left out: `inputs` has the reasons.");
    let cut = job.processes.iter().filter(|process| !process.complete).count();
    say(
        cut,
        "process' data end before the process: it was killed, or still ran.",
        "processes' data end before the processes: they were killed, or still ran.",
    );
    let dropped = job.processes.iter().filter(|process| process.dropped > 0).count();
    say(
        dropped,
        "process lacks events: its operations may be matched wrongly. A larger NCCL_SCOREP_MEMORY_MB keeps them.",
        "processes lack events: their operations may be matched wrongly. A larger NCCL_SCOREP_MEMORY_MB keeps them.",
    );
    let unsized_ones = job.communicators.iter().filter(|communicator| communicator.nranks <= 0).count();
    say(
        unsized_ones,
        "communicator does not say its number of ranks: nobody knows whether ranks are missing.",
        "communicators do not say their number of ranks: nobody knows whether ranks are missing.",
    );
    notes
}

impl Listener for Incompleteness {
    fn occurrence(&mut self, _job: &Job, occurrence: &Occurrence) {
        if occurrence.is_whole {
            self.matched += 1;
        } else {
            self.unmatched += 1;
        }
        if occurrence.compared.is_some() {
            self.compared += 1;
            let error = occurrence.parts.iter().map(|part| part.likely).max().unwrap_or(0);
            self.errors.add(u64::try_from(error).unwrap_or(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::communicators::CallSums;
    use crate::analysis::tests::occurrences::{collective, exchange, job, occurrence, play};
    use crate::job::TimedBy;

    #[test]
    fn operations_are_counted_by_their_fate() {
        let job = job(&[0; 2], &[&[0, 1]]);
        let messages = [(1, true, 8), (1, false, 8)];
        let mut lone = occurrence(1, vec![(exchange(&job, 0, 0, &messages), [0, 5])], 0);
        lone.is_whole = false;
        lone.compared = None;
        lone.parts[0].call.source = TimedBy::Proxy;
        let (mut found, mut sums) = (Incompleteness::default(), CallSums::new(&job));
        let mut whole = collective(&job, 0, 0, "AllReduce", 8, &[0, 0], 5);
        whole.parts[1].likely = 4_000;
        let all = [whole, lone];
        play(&mut found, &job, &all);
        play(&mut sums, &job, &all);
        let clocks = MachineClocks { nodes: 2, error: Some(2_500) };
        let complete = found.finish(&job, vec![], &clocks, sums.whole());
        assert_eq!((complete.operations, complete.untimed), (4, 2));
        assert_eq!((complete.matched, complete.unmatched, complete.compared), (1, 1, 1));
        assert_eq!((complete.ranks_here, complete.ranks, complete.nodes), (2, Some(2), 2));
        assert_eq!((complete.wait_error_us, complete.clock_error_us), (Some(4.0), Some(2.5)));
        assert_eq!((complete.communicators.len(), complete.notes.len()), (0, 0));
    }

    #[test]
    fn missing_and_repeated_ranks_are_ranges() {
        let mut job = job(&[0; 5], &[&[0, 1, 2, 3, 4]]);
        let communicator = &mut job.communicators[0];
        communicator.nranks = 9;
        communicator.members.remove(1);
        communicator.repeated = vec![3, 4];
        let complete = Incompleteness::default().finish(&job, vec![], &MachineClocks::default(), CallSum::default());
        let [row] = complete.communicators.as_slice() else { panic!("one communicator") };
        assert_eq!((row.here, row.missing.as_str(), row.repeated.as_str()), (4, "1,5-8", "3-4"));
        assert_eq!((complete.ranks_here, complete.ranks), (4, Some(9)));
    }

    #[test]
    fn the_launcher_may_know_of_more_ranks() {
        let mut all = job(&[0; 4], &[&[0, 1], &[2, 3]]);
        assert_eq!(ranks(&all), (4, Some(4), vec![]));
        all.processes.iter_mut().for_each(|process| process.ranks = Some(6));
        assert_eq!(ranks(&all), (4, Some(6), vec![[4, 5]]));
        // without the launcher, it is not known how many there are besides the communicators
        all.processes[0].ranks = None;
        assert_eq!(ranks(&all), (4, None, vec![]));
        assert_eq!(ranks(&Job::default()), (0, None, vec![]));
    }

    #[test]
    fn what_is_left_out_is_said() {
        let mut job = job(&[0; 3], &[&[0, 1]]);
        job.processes[0].complete = false;
        job.processes[1].dropped = 7;
        job.processes[2].dropped = 1;
        job.processes[2].unfinished = 3;
        let bad = Input { path: "x".into(), problem: Some("x: no".into()), ..Input::default() };
        let complete = Incompleteness::default().finish(&job, vec![bad], &MachineClocks::default(), CallSum::default());
        assert_eq!((complete.dropped, complete.unfinished, complete.invisible), (8, 3, 0));
        assert_eq!(complete.notes.len(), 3);
        assert!(complete.notes[2].starts_with("2 processes lack events"), "{:?}", complete.notes);
        assert_eq!(complete.clock_error_us, None);
    }
}
