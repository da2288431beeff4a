//! A job of processes on one host, whose ranks are in communicators.

use super::super::diagnose;
use super::super::finding::{Diagnosis, WaitingRanks};
use crate::statuses::{Life, Observed};
use common::origin::{Origin, wall_clock};
use common::status::{OpenTransfer, SCHEMA, Status, StatusCommunicator, StatusOperation, Waiting};

/// Time of the statuses' writing, nanoseconds since the Epoch.
pub(super) const NOW: u64 = 1_795_000_000_000_000_000;
const SECOND: u64 = 1_000_000_000;

/// Returns a time some seconds ago.
pub(super) fn ago(seconds: u64) -> u64 {
    NOW - seconds * SECOND
}

/// How far an operation has come on its rank.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum At {
    Entered,
    Begun,
    Finished,
}

pub(super) struct Job(pub(super) Vec<Observed>);

impl Job {
    /// Makes a job of so many processes without communicators, which run.
    pub(super) fn of(processes: u32) -> Self {
        let status = |rank| Status {
            schema: SCHEMA.into(),
            pid: 1000 + rank,
            born: Some(1),
            written: NOW,
            beat: 100,
            origin: Origin {
                host: Some("node1".into()),
                rank: Some(rank),
                started: wall_clock(i128::from(ago(3600))),
                ..Origin::default()
            },
            ..Status::default()
        };
        let observed = |rank: u32| Observed {
            file: format!("{rank:05}"),
            status: status(rank),
            life: Life::Runs,
            beats: true,
            moved: vec![],
        };
        Self((0..processes).map(observed).collect())
    }

    /// Adds a communicator of these processes, each of which has entered and finished 100 collectives, the last one
    /// `quiet` seconds ago.
    pub(super) fn communicator(mut self, comm: &str, processes: &[usize], quiet: u64) -> Self {
        for (rank, &process) in processes.iter().enumerate() {
            let operations =
                (90..100).map(|number| operation(Some(number), "AllReduce", quiet + 100 - number, At::Finished));
            self.0[process].status.communicators.push(StatusCommunicator {
                comm: comm.into(),
                name: comm.into(),
                rank: Some(rank as i32),
                nranks: processes.len() as u64,
                counts_all: true,
                sees_gpu: true,
                entered: 100,
                begun: 100,
                finished: 100,
                operations: operations.collect(),
                ..StatusCommunicator::default()
            });
            self.0[process].moved.push(false);
        }
        self
    }

    /// Has a process enter the next collective of a communicator, some seconds ago.
    pub(super) fn enters(mut self, process: usize, comm: &str, func: &str, seconds: u64, at: At) -> Self {
        let communicator = self.at(process, comm);
        let number = communicator.entered;
        communicator.entered += 1;
        communicator.operations.push(operation(Some(number), func, seconds, at));
        self
    }

    /// Has a process call a send or receive.
    pub(super) fn calls(mut self, process: usize, comm: &str, func: &str, peer: i32, seconds: u64, at: At) -> Self {
        let operation = StatusOperation { peer: Some(peer), ..operation(None, func, seconds, at) };
        self.at(process, comm).operations.push(operation);
        self
    }

    /// Has a proxy of a process wait.
    pub(super) fn transfers(mut self, process: usize, comm: &str, peer: i32, sends: bool, state: Waiting) -> Self {
        let wait = OpenTransfer { peer, channel: 3, sends, since: ago(40), steps: 17, state };
        self.at(process, comm).waits.push(wait);
        self
    }

    pub(super) fn at(&mut self, process: usize, comm: &str) -> &mut StatusCommunicator {
        self.0[process].status.communicators.iter_mut().find(|at| at.comm == comm).unwrap()
    }

    /// Changes a process.
    pub(super) fn with(mut self, process: usize, change: impl FnOnce(&mut Observed)) -> Self {
        change(&mut self.0[process]);
        self
    }

    pub(super) fn diagnosis(&self) -> Diagnosis {
        diagnose(&self.0, 5.0)
    }
}

fn operation(number: Option<u64>, func: &str, seconds: u64, at: At) -> StatusOperation {
    let entered = ago(seconds);
    StatusOperation {
        number,
        func: func.into(),
        bytes: 4096,
        datatype: Some("ncclFloat32".into()),
        entered,
        begun: (at != At::Entered).then_some(entered),
        finished: (at == At::Finished).then_some(entered),
        ..StatusOperation::default()
    }
}

/// Returns who waits for whom, in which communicator and operation.
pub(super) fn who(wait: &WaitingRanks) -> (&str, Option<u64>, Vec<i32>, Vec<i32>) {
    let lacking = wait.lacking.iter().map(|rank| rank.rank).collect();
    (&wait.communicator.name, wait.number, wait.waiters.clone(), lacking)
}
