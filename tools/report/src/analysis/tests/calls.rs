//! Jobs and judged calls for tests.

pub(crate) use crate::blank::blank;
use crate::job::{
    Communicator, Gpu, Job, Member, OperationTables, Process, ProcessOperations, RankOperation, Time, TimedBy,
    Unreadable,
};
use crate::stream::{Call, CallKind, JudgedCall, Message, RankPart};
use common::name::NcclName;

/// Returns the number of a name.
pub(crate) fn name(text: &str) -> NcclName {
    NcclName::of_text(text)
}

/// Returns a job of communicators with these ids and GPUs. Each GPU has a process of its own; all are on one node.
pub(crate) fn job(communicators: &[(u64, &[usize])]) -> Job {
    let gpus = communicators.iter().flat_map(|(_, gpus)| gpus.iter()).max().map_or(0, |last| last + 1);
    let mut job = Job::default();
    for at in 0..gpus {
        job.processes.push(Process { id: at.to_string(), rank: Some(at as u32), complete: true, ..Process::default() });
        job.gpus.push(Gpu { process: at, index: 0, name: format!("rank {at}"), node: 0 });
    }
    for (comm, gpus) in communicators {
        let member = |(rank, &gpu): (usize, &usize)| Member { rank: rank as i32, gpu, made: 0 };
        let members: Vec<Member> = gpus.iter().enumerate().map(member).collect();
        job.places.insert(*comm, job.communicators.len());
        let nranks = members.len() as i32;
        job.communicators.push(Communicator { comm: *comm, nranks, nnodes: 1, members, ..Communicator::default() });
    }
    job
}

/// A call that is being put together for a test, as the stream would have judged it.
pub(crate) struct Made(JudgedCall);

fn made(job: &Job, comm: u64, gpu: usize, call: Call) -> Made {
    let communicator = job.places[&comm];
    let member = job.communicators[communicator].members.iter().find(|member| member.gpu == gpu).unwrap();
    let call = Call { communicator, gpu, rank: member.rank, ..call };
    let part = RankPart { call, span: None, wait: None, likely: 0, error: 0 };
    Made(JudgedCall { part, occurrence: 0, latest: None, cost: None, shared: 0, margin: 0 })
}

/// Returns a collective of `count` floats.
pub(crate) fn collective(job: &Job, comm: u64, gpu: usize, function: &str, count: u64) -> Made {
    let datatype = name("ncclFloat32");
    let call = Call { function: name(function), count: Some(count), bytes: 4 * count, datatype, ..blank() };
    made(job, comm, gpu, call)
}

/// Returns an exchange of messages: peer, whether it is a send, bytes.
pub(crate) fn exchange(job: &Job, comm: u64, gpu: usize, messages: &[(i32, bool, u64)]) -> Made {
    let message = |&(peer, is_send, bytes): &(i32, bool, u64)| Message { peer, is_send, bytes, number: 0 };
    let messages: Box<[Message]> = messages.iter().map(message).collect();
    let bytes = messages.iter().map(|message| message.bytes).sum();
    made(job, comm, gpu, Call { kind: CallKind::Exchange, function: name("Exchange"), messages, bytes, ..blank() })
}

impl Made {
    /// Enqueued at `enqueued` and on the GPU from `start` to `stop`, nanoseconds.
    pub(crate) fn at(mut self, enqueued: i64, start: i64, stop: i64) -> Self {
        let part = &mut self.0.part;
        part.span = Some([start, stop]);
        part.call.enqueued = enqueued;
        part.call.source = TimedBy::Stamps;
        part.call.time = Some(Time { start: start as u64, stop: stop as u64, ..Time::default() });
        part.call.duration = (stop - start) as u64;
        self
    }

    /// Waited that long for the last rank.
    pub(crate) fn wait(mut self, wait: i64) -> Self {
        self.0.part.wait = Some(wait);
        self.0.latest = self.0.part.span.map(|[start, stop]| [start + wait, stop]);
        self
    }

    /// Made others wait that long.
    pub(crate) fn cost(mut self, cost: i64) -> Self {
        self.0.cost = Some(cost);
        self
    }

    pub(crate) fn judged(self) -> JudgedCall {
        self.0
    }
}

/// Returns the rows of a call: one of a collective, one for each message of an exchange.
pub(crate) fn rows(job: &Job, judged: &JudgedCall, group: u64) -> Vec<RankOperation> {
    let call = judged.call();
    let row = RankOperation {
        comm: job.communicators[call.communicator].comm,
        rank: call.rank,
        function: call.function,
        count: call.count,
        datatype: call.datatype,
        bytes: call.bytes,
        enqueued: call.enqueued as u64,
        launched: call.launched,
        source: call.source,
        time: call.time,
        group: Some(group),
        ..RankOperation::default()
    };
    if call.kind == CallKind::Collective {
        return vec![row];
    }
    let message = |message: &Message| RankOperation {
        function: name(if message.is_send { "Send" } else { "Recv" }),
        peer: Some(message.peer),
        bytes: message.bytes,
        ..row
    };
    call.messages.iter().map(message).collect()
}

/// The rows of a job by process.
pub(crate) struct Rows(pub(crate) Vec<Vec<RankOperation>>);

impl Rows {
    /// Makes the rows of calls, each GPU's in its order.
    pub(crate) fn of(job: &Job, calls: &[JudgedCall]) -> Self {
        let mut processes = vec![vec![]; job.processes.len()];
        for (group, judged) in calls.iter().enumerate() {
            processes[job.gpus[judged.call().gpu].process].extend(rows(job, judged, group as u64));
        }
        Self(processes)
    }
}

impl OperationTables for Rows {
    fn operations(&self, process: usize) -> Result<ProcessOperations<'_>, Unreadable> {
        Ok(Box::new(self.0[process].iter().map(|operation| Ok(*operation))))
    }
}
