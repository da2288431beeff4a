//! A simulated job: ranks that compute, meet in collectives, and write marks as the library does. Time is simulated.

use crate::statuses::{Life, Observed};
use common::origin::Origin;
use common::status::progress::{LinkSum, MOST_MARKS, ProgressMark};
use common::status::{SCHEMA, Status, StatusCommunicator, StatusOperation};
use fastrand::Rng;
use std::collections::VecDeque;

const SECOND: f64 = 1e9;
/// Begin of the simulated time, nanoseconds since the Epoch.
pub(super) const BEGIN: f64 = 1.8e18;
/// Collectives of a step.
const COLLECTIVES: u64 = 4;
/// Bytes to a neighbour in a collective.
const TO_NEIGHBOUR: u64 = 8 << 20;

/// Deviations of a rank's own time from the usual, as a factor of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Noise {
    /// Normally distributed.
    Normal(f64),
    /// Normally distributed, and now and then up to fifty times as far (Student's t of two degrees of freedom).
    HeavyTailed(f64),
    /// Each rank has its own speed, besides.
    Uneven(f64),
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Fault {
    /// In every so many-th step.
    Slow {
        rank: usize,
        factor: f64,
        every: u64,
    },
    SlowNode {
        node: usize,
        factor: f64,
    },
    Stop {
        rank: usize,
        seconds: f64,
    },
    SlowLink {
        from: usize,
        factor: f64,
    },
    Killed {
        rank: usize,
    },
    /// The rank calls nothing more.
    Missing {
        rank: usize,
    },
}

/// What the job is like.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) ranks: usize,
    pub(super) of_node: usize,
    /// Own time of a step, seconds, and communication in it.
    pub(super) own: f64,
    pub(super) communication: f64,
    pub(super) noise: Noise,
    /// Ranks of the second half run another program with so much more own time.
    pub(super) stages: Option<f64>,
    /// Whether files come late, or are missing at a look.
    pub(super) late_files: bool,
    /// Whether the step changes from time to time for all ranks, as for an evaluation.
    pub(super) phases: bool,
    /// By how much the own work of a rank differs at most from batch to batch, as a share of it.
    pub(super) batches: f64,
    /// Whether the ranks take up to three times as long in the first two minutes, each in its own way.
    pub(super) warms_up: bool,
    pub(super) fault: Option<(f64, Fault)>,
}

impl Plan {
    pub(super) fn of(ranks: usize) -> Self {
        Self {
            ranks,
            of_node: 8.min(ranks / 2).max(1),
            own: 0.4,
            communication: 0.1,
            noise: Noise::Normal(0.01),
            stages: None,
            late_files: false,
            phases: false,
            batches: 0.0,
            warms_up: false,
            fault: None,
        }
    }
}

#[derive(Default)]
struct SimulatedRank {
    marks: VecDeque<ProgressMark>,
    stride: u64,
    sum: ProgressMark,
    link: LinkSum,
    speed: f64,
    /// Phase of its writings, nanoseconds.
    phase: f64,
}

/// The job.
pub(super) struct Simulation {
    pub(super) plan: Plan,
    pub(super) rng: Rng,
    ranks: Vec<SimulatedRank>,
    number: u64,
    /// Nanoseconds since the begin.
    pub(super) time: f64,
    stopped: bool,
    pub(super) hangs_since: Option<f64>,
    /// Begin of the fault, seconds.
    pub(super) begun: Option<f64>,
}

impl Simulation {
    pub(super) fn new(plan: Plan, seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let mut rank = |_| SimulatedRank {
            stride: 1 << rng.u64(0..3),
            speed: if let Noise::Uneven(by) = plan.noise { 1.0 + by * normal(&mut rng) } else { 1.0 },
            phase: rng.f64() * SECOND,
            ..SimulatedRank::default()
        };
        let ranks = (0..plan.ranks).map(&mut rank).collect();
        Self { plan, rng, ranks, number: 0, time: 0.0, stopped: false, hangs_since: None, begun: None }
    }

    /// Goes on to a time, seconds since the begin.
    pub(super) fn advance(&mut self, seconds: f64) {
        while self.time < seconds * SECOND && self.hangs_since.is_none() {
            self.collective();
        }
    }

    /// Plants a fault from now on.
    pub(super) fn pause(&mut self, fault: Fault) {
        (self.plan.fault, self.stopped) = (Some((0.0, fault)), false);
    }

    fn fault(&self) -> Option<Fault> {
        self.plan.fault.filter(|(from, _)| self.time >= from * SECOND).map(|(_, fault)| fault)
    }

    fn collective(&mut self) {
        let fault = self.fault();
        if fault.is_some() && self.begun.is_none() {
            self.begun = Some(self.time / SECOND);
        }
        if let Some(Fault::Killed { .. } | Fault::Missing { .. }) = fault {
            self.hangs_since = Some(self.time);
            return;
        }
        // evaluations: a minute of each ten
        let is_other = self.plan.phases && self.time % (600.0 * SECOND) > 540.0 * SECOND;
        let share = if is_other { 0.3 } else { 1.0 } * SECOND / COLLECTIVES as f64;
        let step = self.number / COLLECTIVES;
        let mut owns = Vec::with_capacity(self.ranks.len());
        for rank in 0..self.ranks.len() {
            let noise = match self.plan.noise {
                Noise::Normal(by) | Noise::Uneven(by) => by * normal(&mut self.rng),
                Noise::HeavyTailed(by) => by * heavy(&mut self.rng).clamp(-20.0, 50.0),
            };
            let mut own = self.plan.own * share * self.ranks[rank].speed * (1.0 + 2.0 * noise).max(0.2);
            if self.plan.stages.is_some() && rank >= self.ranks.len() / 2 {
                own *= 1.0 + self.plan.stages.unwrap_or_default();
            }
            if self.plan.batches > 0.0 {
                own *= 1.0 + self.plan.batches * (2.0 * self.rng.f64() - 1.0);
            }
            if self.plan.warms_up && self.time < 120.0 * SECOND {
                own *= 1.0 + 2.0 * self.rng.f64() * (1.0 - self.time / (120.0 * SECOND));
            }
            own *= match fault {
                Some(Fault::Slow { rank: it, factor, every }) if it == rank && step.is_multiple_of(every) => factor,
                Some(Fault::SlowNode { node, factor }) if rank / self.plan.of_node == node => factor,
                _ => 1.0,
            };
            if let Some(Fault::Stop { rank: stopped, seconds }) = fault
                && stopped == rank
                && !self.stopped
            {
                self.stopped = true;
                own += seconds * SECOND;
            }
            owns.push(own);
        }
        let mut network = self.plan.communication * share;
        if let Some(Fault::SlowLink { factor, .. }) = fault {
            network *= factor;
        }
        let end = self.time + owns.iter().copied().fold(0.0, f64::max) + network;
        self.number += 1;
        let count = self.ranks.len();
        let stage = self.plan.stages.map_or(count, |_| count / 2);
        // of two ranks, the faster one's
        let mut usual = owns[..stage].to_vec();
        usual.sort_by(f64::total_cmp);
        let usual = usual[(stage - 1) / 2];
        for (index, rank) in self.ranks.iter_mut().enumerate() {
            let sum = &mut rank.sum;
            // clocks of nodes are apart
            let clock = BEGIN + (index / self.plan.of_node) as f64 * 3e6;
            (sum.number, sum.time) = (self.number, (clock + end) as u64);
            sum.own += owns[index] as u64;
            let other = self.plan.stages.is_some() && index >= count / 2;
            sum.operations += 1 + u64::from(other);
            sum.bytes += TO_NEIGHBOUR;
            let slow = if fault.is_some_and(|it| matches!(it, Fault::SlowLink { from, .. } if from == index)) {
                if let Some(Fault::SlowLink { factor, .. }) = fault { factor } else { 1.0 }
            } else {
                1.0
            };
            // over sockets, a rank that came a fifth late sent more slowly by 60 % (docs/gpu-test.md)
            let of_stage = if index < stage { usual } else { usual * (1.0 + self.plan.stages.unwrap_or_default()) };
            let slow = slow * (1.0 + (3.0 * (owns[index] / of_stage - 1.0)).clamp(0.0, 0.6));
            let link = &mut rank.link;
            (link.peer, link.sends) = (((index + 1) % count) as i32, true);
            link.transfers += 16;
            link.bytes += TO_NEIGHBOUR;
            link.network += (1e7 * slow * (1.0 + 0.02 * normal(&mut self.rng))) as u64;
            rank.mark();
        }
        self.time = end;
    }

    /// Looks at the job at a time, seconds since the begin, not before that of [`Self::advance`].
    pub(super) fn look(&mut self, seconds: f64) -> Vec<Observed> {
        let now = seconds * SECOND;
        let mut processes = vec![];
        for rank in 0..self.ranks.len() {
            let mut age = 0.0;
            if self.plan.late_files {
                match self.rng.u16(0..500) {
                    0 => continue,
                    1..20 => age = self.rng.f64() * 5.0 * SECOND,
                    _ => {}
                }
            }
            processes.push(self.process(rank, now - age));
        }
        processes
    }

    fn process(&self, rank: usize, now: f64) -> Observed {
        let of = &self.ranks[rank];
        let mut written = ((now - of.phase) / SECOND).floor() * SECOND + of.phase;
        let is_killed = matches!(self.plan.fault, Some((_, Fault::Killed { rank: killed })) if killed == rank);
        let mut gone = false;
        if let (true, Some(since)) = (is_killed, self.hangs_since) {
            gone = now - since > 6.0 * SECOND;
            written = written.min(since);
        }
        let clock = BEGIN + (rank / self.plan.of_node) as f64 * 3e6;
        let marks: Vec<ProgressMark> =
            of.marks.iter().take_while(|mark| mark.time as f64 - clock <= written).copied().collect();
        let is_stuck = self.hangs_since.is_some_and(|since| written >= since);
        let lacks = match self.plan.fault {
            Some((_, Fault::Killed { rank: it } | Fault::Missing { rank: it })) => it == rank,
            _ => false,
        };
        let waits = is_stuck && !lacks;
        let operation = StatusOperation {
            number: Some(self.number),
            func: "AllReduce".into(),
            entered: (clock + self.hangs_since.unwrap_or_default()) as u64,
            begun: Some((clock + self.hangs_since.unwrap_or_default()) as u64),
            ..StatusOperation::default()
        };
        let communicator = StatusCommunicator {
            comm: "00000000000000ab".into(),
            name: "dp".into(),
            rank: Some(rank as i32),
            nranks: self.ranks.len() as u64,
            opened: BEGIN as u64,
            counts_all: true,
            sees_gpu: true,
            entered: self.number + u64::from(waits),
            begun: self.number + u64::from(waits),
            finished: self.number,
            operations: if waits { vec![operation] } else { vec![] },
            stride: of.stride,
            marks,
            links: if self.plan.of_node < self.ranks.len() { vec![of.link] } else { vec![] },
            ..StatusCommunicator::default()
        };
        let node = rank / self.plan.of_node;
        let origin = Origin {
            host: Some(format!("n{node}")),
            boot: Some(format!("b{node}")),
            job: Some("slurm 7".into()),
            started: Some("2027-01-15T07:59:00Z".into()),
            rank: Some(rank as u32),
            ..Origin::default()
        };
        let status = Status {
            schema: SCHEMA.into(),
            pid: 1000 + rank as u32,
            origin,
            written: (clock + written) as u64,
            beat: (written / SECOND).max(0.0) as u64,
            communicators: vec![communicator],
            ..Status::default()
        };
        let life = Life::Elsewhere;
        Observed { file: format!("{rank}.status.json"), status, life, beats: !gone, moved: vec![!is_stuck] }
    }
}

impl SimulatedRank {
    /// Keeps a mark as the library does.
    fn mark(&mut self) {
        if !self.sum.number.is_multiple_of(self.stride) {
            return;
        }
        if self.marks.len() == MOST_MARKS {
            let first = self.marks.front().map_or(0, |mark| mark.time);
            if (self.sum.time - first) as f64 >= 64.0 * SECOND {
                self.marks.pop_front();
            } else {
                self.stride *= 2;
                self.marks.retain(|mark| mark.number.is_multiple_of(self.stride));
                if !self.sum.number.is_multiple_of(self.stride) {
                    return;
                }
            }
        }
        self.marks.push_back(self.sum);
    }
}

/// Returns a normally distributed number (Box and Muller).
pub(super) fn normal(rng: &mut Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
}

/// Returns a number of Student's t distribution with two degrees of freedom.
fn heavy(rng: &mut Rng) -> f64 {
    normal(rng) / (-(1.0 - rng.f64()).ln()).sqrt()
}
