//! The communicators: their members, their sizes, their operations.

use super::fold::{Merge, merge_fields};
use super::ranges::ranges;
use crate::answer::{Communicators, Dimension, Part, ReportedCommunicator};
use crate::job::{Communicator, Job};
use crate::stream::{JudgedCall, Listener};

/// Sums of calls.
#[derive(Debug, Clone, Copy, Default)]
pub struct CallSum {
    /// Operations as NCCL counts them, and the sum of their bytes.
    pub operations: u64,
    /// See above.
    pub bytes: u64,
    /// Operations without a GPU time.
    pub untimed: u64,
    /// Operations with a duration on the GPU whose begin is not known.
    pub without_begin: u64,
}

merge_fields!(CallSum: operations, bytes, untimed, without_begin;);

/// Sums of calls by communicator, for the rows of communicators and for what the report lacks.
#[derive(Debug)]
pub struct CallSums {
    /// By place of the communicator in the job.
    of: Vec<CallSum>,
    /// Of communicators that the job does not have.
    others: CallSum,
}

/// Brings a time of a process' clock (its place, nanoseconds) to the common clock; `None` where that is unknown.
pub type ToCommonClock<'a> = dyn Fn(usize, u64) -> Option<i64> + 'a;

impl CallSums {
    /// Begins to listen.
    pub fn new(job: &Job) -> Self {
        Self { of: vec![CallSum::default(); job.communicators.len()], others: CallSum::default() }
    }

    /// Adds calls of a communicator, by its place in the job.
    pub fn add(&mut self, communicator: Option<usize>, calls: CallSum) {
        communicator.and_then(|place| self.of.get_mut(place)).unwrap_or(&mut self.others).merge(calls);
    }

    /// Returns the sum over all communicators.
    pub fn whole(&self) -> CallSum {
        let mut whole = self.others;
        self.of.iter().for_each(|sum| whole.merge(*sum));
        whole
    }

    /// Returns the part of the answer. Dimensions are by place of the communicator; `begin` is the job's first call on
    /// the common clock, where it is known.
    pub fn finish(
        self,
        job: &Job,
        dimensions: &[Dimension],
        clock: &ToCommonClock<'_>,
        begin: Option<i64>,
    ) -> Part<Communicators> {
        if job.communicators.is_empty() {
            return Part::Absent("NCCL made no communicator.".into());
        }
        let ranks = job.ranks();
        let row = |((place, communicator), sum): ((usize, &Communicator), CallSum)| ReportedCommunicator {
            members: members(communicator, ranks.as_deref()),
            dimension: dimensions
                .get(place)
                .cloned()
                .unwrap_or_else(|| Dimension { name: "unknown".into(), ..Dimension::default() }),
            operations: sum.operations,
            bytes: sum.bytes,
            ..made(job, communicator, clock, begin)
        };
        Part::Known(Communicators { rows: job.communicators.iter().enumerate().zip(self.of).map(row).collect() })
    }
}

/// Returns the ranks in the job of the members; where those are unknown, the places of their GPUs.
pub fn members(communicator: &Communicator, ranks: Option<&[u32]>) -> String {
    let number = |gpu: usize| match ranks {
        Some(ranks) => ranks.get(gpu).copied().map(i64::from),
        None => i64::try_from(gpu).ok(),
    };
    ranges(communicator.members.iter().filter_map(|member| number(member.gpu)))
}

/// Returns a communicator without its members and operations.
fn made(job: &Job, communicator: &Communicator, clock: &ToCommonClock<'_>, begin: Option<i64>) -> ReportedCommunicator {
    let process = |gpu: usize| job.gpus.get(gpu).map(|gpu| gpu.process);
    let moments: Option<Vec<i64>> = communicator
        .members
        .iter()
        .map(|member| clock(process(member.gpu)?, Some(member.made).filter(|&made| made > 0)?))
        .collect();
    let ends = moments.and_then(|moments| Some([*moments.iter().min()?, *moments.iter().max()?]));
    ReportedCommunicator {
        comm: format!("{:016x}", communicator.comm),
        name: communicator.name.clone(),
        nranks: communicator.nranks,
        here: communicator.members.len() as u64,
        nnodes: communicator.nnodes,
        made_us: ends.zip(begin).map(|([first, _], begin)| (first - begin) as f64 / 1e3),
        // a rank that is not here may have been the last one
        init_us: ends.filter(|_| communicator.is_whole()).map(|[first, last]| (last - first) as f64 / 1e3),
        ..ReportedCommunicator::default()
    }
}

impl Listener for CallSums {
    fn call(&mut self, _job: &Job, judged: &JudgedCall) {
        let call = judged.call();
        let (operations, bytes) = call.operations();
        let if_so = |is_so: bool| if is_so { operations } else { 0 };
        let is_timed = call.source.is_gpu();
        let (untimed, without_begin) = (if_so(!is_timed), if_so(is_timed && call.time.is_none()));
        self.add(Some(call.communicator), CallSum { operations, bytes, untimed, without_begin });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::occurrences::{collective, exchange, job, occurrence, play};
    use crate::answer::Origin;

    #[test]
    fn a_communicator_has_its_members_its_init_and_its_operations() {
        let mut job = job(&[0; 32], &[&[0, 8, 16, 24], &[0, 1]]);
        // clocks are an hour apart
        const HOUR: u64 = 3_600_000_000_000;
        for (rank, member) in (0..).zip(&mut job.communicators[0].members) {
            member.made = (member.gpu as u64 + 1) * HOUR + [5_000, 2_000, 9_000, 7_000][rank];
        }
        job.communicators[0].name = "dp".into();
        let mut usage = CallSums::new(&job);
        let all = [
            collective(&job, 0, 0, "AllReduce", 100, &[0; 4], 10),
            occurrence(
                1,
                vec![
                    (exchange(&job, 1, 0, &[(1, true, 30), (1, false, 50)]), [0, 10]),
                    (exchange(&job, 1, 1, &[(0, false, 30), (0, true, 50)]), [0, 10]),
                ],
                0,
            ),
        ];
        play(&mut usage, &job, &all);
        let clock = |process: usize, time: u64| Some((time - (process as u64 + 1) * HOUR) as i64);
        let dimension = Dimension { name: "DP".into(), origin: Origin::Name };
        let part = usage.finish(&job, std::slice::from_ref(&dimension), &clock, Some(1_000));
        let [first, second] = part.known().unwrap().rows.as_slice() else { panic!("two communicators") };
        let expected = ReportedCommunicator {
            comm: "0000000000000001".into(),
            name: "dp".into(),
            nranks: 4,
            here: 4,
            nnodes: 1,
            members: "0-24:8".into(),
            made_us: Some(1.0),
            init_us: Some(7.0),
            parent: None,
            dimension,
            operations: 4,
            bytes: 400,
        };
        assert_eq!(*first, expected);
        assert_eq!((second.members.as_str(), second.operations, second.bytes), ("0-1", 4, 160));
        assert_eq!((second.made_us, second.init_us, second.dimension.name.as_str()), (None, None, "unknown"));
    }

    #[test]
    fn unknown_clocks_leave_the_init_out() {
        let mut job = job(&[0; 2], &[&[0, 1]]);
        job.communicators[0].members[0].made = 5;
        job.communicators[0].members[1].made = 6;
        let part =
            CallSums::new(&job).finish(&job, &[], &|process, time| (process == 0).then_some(time as i64), Some(0));
        assert_eq!(part.known().unwrap().rows[0].init_us, None);
        let clock = |_, time| Some(time as i64);
        let init = |job: &Job| CallSums::new(job).finish(job, &[], &clock, Some(0)).known().unwrap().rows[0].init_us;
        assert_eq!(init(&job), Some(0.001));
        job.communicators[0].nranks = 3;
        assert_eq!(init(&job), None);
        assert!(CallSums::new(&Job::default()).finish(&Job::default(), &[], &|_, _| None, None).absent().is_some());
    }
}
