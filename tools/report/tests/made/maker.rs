//! Makes a job, operation by operation.

use super::{DriftingClock, InMemory};
use common::name::NcclName;
use report::job::{Communicator, Gpu, Job, Member, Process, RankOperation, Time, TimedBy};

/// True time of day at true time 0, nanoseconds since 1970.
const DAY: u64 = 1_800_000_000_000_000_000;

/// A made communicator: its place in the job.
pub(crate) type Comm = usize;

/// When the ranks of a communicator begin an operation, nanoseconds of true time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Start<'a> {
    /// All at once.
    Together(u64),
    /// By rank in the communicator.
    Each(&'a [u64]),
}

impl Start<'_> {
    fn of(&self, rank: usize) -> u64 {
        match self {
            Self::Together(time) => *time,
            Self::Each(times) => times[rank],
        }
    }
}

/// The true times of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Truth {
    /// Place of the communicator in the job.
    pub(crate) comm: Comm,
    /// Function; `Exchange` for sends and receives.
    pub(crate) function: String,
    /// NCCL's number and the replay, for a collective.
    pub(crate) sequence: Option<(u64, u32)>,
    /// Rank in the communicator, begin and end, nanoseconds of true time.
    pub(crate) ranks: Vec<(i32, u64, u64)>,
}

/// A made job.
#[derive(Debug, Clone)]
pub(crate) struct MadeJob {
    /// The job. Rank r of the job is process r and GPU r.
    pub(crate) job: Job,
    /// Its operations.
    pub(crate) table: InMemory,
    /// The true times of its operations, in the order in which they were made.
    pub(crate) truth: Vec<Truth>,
    /// Clock of each process.
    pub(crate) clocks: Vec<DriftingClock>,
    /// Begins of the steps, and the end of the last one, nanoseconds of true time; empty without steps.
    pub(crate) steps: Vec<u64>,
}

/// Makes a job of one process and GPU a rank.
#[derive(Debug)]
pub(crate) struct Maker {
    made: MadeJob,
    /// Rank in the job of each communicator's ranks.
    ranks: Vec<Vec<usize>>,
    /// Number of operations so far, by communicator and rank in it.
    orders: Vec<Vec<u64>>,
    /// Number of collectives so far, by communicator and function.
    sequences: Vec<Vec<(NcclName, u64)>>,
    /// Number of groups so far, by process.
    groups: Vec<u64>,
    /// Uncertainty of all begins and ends, nanoseconds.
    uncertain: u64,
}

fn name(text: &str) -> NcclName {
    NcclName::of_text(text)
}

impl Maker {
    /// Begins a job of this many ranks, with this many on each node. All clocks run alike and show 1,000 s at the
    /// begin; begins and ends are known to 2 us.
    pub(crate) fn new(ranks: usize, on_each_node: usize) -> Self {
        let clock = DriftingClock { at_0: 1_000 * super::S, ..DriftingClock::default() };
        let gpu =
            |rank: usize| Gpu { process: rank, index: 0, name: format!("rank {rank}"), node: rank / on_each_node };
        let gpus: Vec<Gpu> = (0..ranks).map(gpu).collect();
        let process = |gpu: &Gpu| Process {
            id: format!("{:016x}", gpu.process + 1),
            file: format!("made.r{}", gpu.process),
            host: Some(format!("node{}", gpu.node)),
            boot: Some(format!("boot{}", gpu.node)),
            rank: u32::try_from(gpu.process).ok(),
            ranks: u32::try_from(ranks).ok(),
            complete: true,
            ..Process::default()
        };
        let processes = gpus.iter().map(process).collect();
        let made = MadeJob {
            job: Job { processes, gpus, ..Job::default() },
            table: InMemory(vec![Vec::new(); ranks]),
            truth: Vec::new(),
            clocks: vec![clock; ranks],
            steps: Vec::new(),
        };
        let (orders, sequences) = (Vec::new(), Vec::new());
        Self { made, ranks: Vec::new(), orders, sequences, groups: vec![0; ranks], uncertain: 2_000 }
    }

    /// Gives a node this clock.
    pub(crate) fn clock(&mut self, node: usize, clock: DriftingClock) {
        for (gpu, known) in self.made.job.gpus.iter().zip(&mut self.made.clocks) {
            if gpu.node == node {
                *known = clock;
            }
        }
    }

    /// Makes a communicator of these ranks of the job.
    pub(crate) fn communicator(&mut self, name: &str, ranks: &[usize]) -> Comm {
        let place = self.ranks.len();
        let comm = 0xc000 + place as u64;
        let mut nodes: Vec<usize> = ranks.iter().map(|&rank| self.made.job.gpus[rank].node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let member =
            |(&gpu, rank): (&usize, i32)| Member { rank, gpu, made: self.made.clocks[gpu].shows(place as u64) };
        self.made.job.communicators.push(Communicator {
            comm,
            name: name.into(),
            nranks: ranks.len() as i32,
            nnodes: nodes.len() as i32,
            members: ranks.iter().zip(0..).map(member).collect(),
            repeated: Vec::new(),
        });
        self.made.job.places.insert(comm, place);
        self.ranks.push(ranks.to_vec());
        self.orders.push(vec![0; ranks.len()]);
        self.sequences.push(Vec::new());
        place
    }

    /// Returns the time on the clock of the process of a communicator's rank.
    fn shown(&self, comm: Comm, rank: usize, time: u64) -> u64 {
        self.made.clocks[self.ranks[comm][rank]].shows(time)
    }

    /// Makes a row of a communicator's rank, alone in its kernel. Its enqueue is its begin, which says nothing of the
    /// host.
    fn row(
        &mut self,
        comm: Comm,
        rank: usize,
        function: NcclName,
        elements: u64,
        [start, stop]: [u64; 2],
    ) -> RankOperation {
        let order = self.orders[comm][rank];
        self.orders[comm][rank] += 1;
        let [start, stop] = [start, stop].map(|time| self.shown(comm, rank, time));
        RankOperation {
            comm: self.made.job.communicators[comm].comm,
            rank: rank as i32,
            function,
            order,
            count: Some(elements),
            datatype: name("ncclFloat32"),
            bytes: elements * 4,
            channels: 2,
            enqueued: start,
            source: TimedBy::Stamps,
            duration: stop - start,
            time: Some(Time { start, stop, clock: [self.uncertain; 2], ahead: 0 }),
            kernel: order,
            alone: true,
            stream: 1,
            ..RankOperation::default()
        }
    }

    /// Adds a collective of float32 elements. All ranks end it when the transfer is over, which begins with the last
    /// rank. Returns its end.
    pub(crate) fn collective(
        &mut self,
        comm: Comm,
        function: &str,
        elements: u64,
        start: Start<'_>,
        transfer: u64,
    ) -> u64 {
        let function = name(function);
        let numbers = &mut self.sequences[comm];
        let place = numbers.iter().position(|(known, _)| *known == function).unwrap_or_else(|| {
            numbers.push((function, 0));
            numbers.len() - 1
        });
        let sequence = numbers[place].1;
        numbers[place].1 += 1;
        self.replay(comm, (function, sequence, 0), elements, start, transfer)
    }

    /// Adds a replay of a collective: the same number again.
    pub(crate) fn replay(
        &mut self,
        comm: Comm,
        (function, sequence, replay): (NcclName, u64, u32),
        elements: u64,
        start: Start<'_>,
        transfer: u64,
    ) -> u64 {
        let ranks = self.ranks[comm].len();
        let stop = (0..ranks).map(|rank| start.of(rank)).max().unwrap_or(0) + transfer;
        for rank in 0..ranks {
            let row = self.row(comm, rank, function, elements, [start.of(rank), stop]);
            let (algorithm, protocol) = (name("RING"), name("SIMPLE"));
            let row = RankOperation { sequence: Some(sequence), replay, algorithm, protocol, ..row };
            self.made.table.0[self.ranks[comm][rank]].push(row);
        }
        let ranks = (0..ranks).map(|rank| (rank as i32, start.of(rank), stop)).collect();
        self.made.truth.push(Truth { comm, function: function.text(), sequence: Some((sequence, replay)), ranks });
        stop
    }

    /// Adds sends and receives: (from, to, bytes) by ranks of the communicator. Those of a rank are one group and one
    /// kernel. All ranks that take part end when the transfer is over, which begins with the last of them. Returns its
    /// end.
    pub(crate) fn exchange(
        &mut self,
        comm: Comm,
        messages: &[(usize, usize, u64)],
        start: Start<'_>,
        transfer: u64,
    ) -> u64 {
        let has_part = |rank: usize| messages.iter().any(|&(from, to, _)| from == rank || to == rank);
        let ranks: Vec<usize> = (0..self.ranks[comm].len()).filter(|&rank| has_part(rank)).collect();
        let stop = ranks.iter().map(|&rank| start.of(rank)).max().unwrap_or(0) + transfer;
        for &rank in &ranks {
            let process = self.ranks[comm][rank];
            self.groups[process] += 1;
            let (group, kernel) = (self.groups[process], self.orders[comm][rank]);
            let sends = messages.iter().filter(|it| it.0 == rank).map(|it| ("Send", it.1, it.2));
            let receives = messages.iter().filter(|it| it.1 == rank).map(|it| ("Recv", it.0, it.2));
            let own: Vec<_> = sends.chain(receives).collect();
            for &(function, peer, bytes) in &own {
                let row = self.row(comm, rank, name(function), bytes, [start.of(rank), stop]);
                let (count, datatype) = (Some(bytes), name("ncclInt8"));
                let (peer, group, alone) = (Some(peer as i32), Some(group), own.len() == 1);
                let row = RankOperation { bytes, count, datatype, peer, group, kernel, alone, ..row };
                self.made.table.0[process].push(row);
            }
        }
        let ranks = ranks.into_iter().map(|rank| (rank as i32, start.of(rank), stop)).collect();
        self.made.truth.push(Truth { comm, function: "Exchange".into(), sequence: None, ranks });
        stop
    }

    /// Notes that a step begins at this true time, or that the last one ends.
    pub(crate) fn step(&mut self, time: u64) {
        self.made.steps.push(time);
    }

    /// Ends the job.
    pub(crate) fn finish(self) -> MadeJob {
        let mut made = self.made;
        let stops = made.truth.iter().flat_map(|truth| &truth.ranks).map(|&(_, _, stop)| stop);
        let end = stops.max().unwrap_or(0) + super::MS;
        for (process, clock) in made.job.processes.iter_mut().zip(&made.clocks) {
            (process.mono0, process.real0) = (clock.shows(0), DAY.saturating_add_signed(clock.day_ahead));
            process.span = [clock.shows(0), clock.shows(end)];
        }
        made
    }
}

impl MadeJob {
    /// Returns the place of the process whose clock is the common one: of the machine that booted first.
    pub(crate) fn root(&self) -> usize {
        let boot = |process: &Process| i128::from(process.real0) - i128::from(process.mono0);
        let boots: Vec<i128> = self.job.processes.iter().map(boot).collect();
        (0..boots.len()).min_by_key(|&process| boots[process]).unwrap_or(0)
    }

    /// Returns the time of the common clock at a true time.
    pub(crate) fn common(&self, time: u64) -> i64 {
        self.clocks[self.root()].shows(time) as i64
    }
}
