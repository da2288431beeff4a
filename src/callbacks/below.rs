//! One recording, read for the callbacks below a few of its calls.

use super::steps::OpenProxyStep;
use crate::capture::{self, Callback, CallbackKind, CaptureError, CaptureSurvey, CapturedEvent, Content};
use crate::table::facts::OperationFacts;
use crate::table::lines::{LineOperation, OperationLines};
use common::run_sums::CommunicatorRank;
use report::answer::{KernelChannel, ProxyOperation, RankCallbacks};
use report::job::Job;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// How long behind the last of the calls events below them are awaited, nanoseconds.
const BEHIND: u64 = 1_000_000_000;
/// Most NCCL operations of an exchange that are looked at.
const OPERATIONS: usize = 4096;
/// Most events below a call that are kept until all of them are known.
const EVENTS: usize = 4096;
/// Most kernel channels, proxy operations and steps of each that are shown.
const CHANNELS: usize = 32;
const PROXIES: usize = 8;
const STEPS: usize = 64;

/// A call whose callbacks are wanted. Times are nanoseconds of the process' clock.
#[derive(Debug)]
pub(super) struct WantedCall {
    rank: CommunicatorRank,
    enqueued: u64,
    stop: u64,
    is_exchange: bool,
    /// Its begin of the enqueue in the report, microseconds.
    enqueued_us: f64,
    /// Number of the operation and place of the rank in it.
    of: (usize, usize),
}

impl WantedCall {
    pub(super) fn of(job: &Job, comm: &str, rank: &RankCallbacks, of: (usize, usize)) -> Option<Self> {
        let comm = u64::from_str_radix(comm, 16).ok()?;
        let member = job.communicator(comm)?.members.iter().find(|member| member.gpu == rank.gpu)?;
        let call = &rank.call;
        let length = (1e3 * (call.stop_us - call.enqueued_us)).max(0.0) as u64;
        Some(Self {
            rank: CommunicatorRank { comm, rank: member.rank },
            enqueued: call.enqueued_ns,
            stop: call.enqueued_ns.saturating_add(length),
            is_exchange: call.sequence.is_none(),
            enqueued_us: call.enqueued_us,
            of,
        })
    }

    /// Returns whether an operation of this rank is the call's first.
    fn begins_with(&self, rank: CommunicatorRank, enqueued: u64) -> bool {
        self.rank == rank && self.enqueued == enqueued
    }

    /// Returns whether an operation of this rank may be another one of the call's. The group decides, which is known
    /// once its first operation has come.
    fn may_have(&self, rank: CommunicatorRank, enqueued: u64) -> bool {
        let last = self.enqueued.saturating_add(BEHIND);
        self.is_exchange && self.rank == rank && (self.enqueued..=last).contains(&enqueued)
    }

    fn us(&self, time: u64) -> f64 {
        self.enqueued_us + (i128::from(time) - i128::from(self.enqueued)) as f64 / 1e3
    }
}

/// The callbacks of a call, with the number of the operation and the place of the rank in it.
type CallbacksByRank = ((usize, usize), CallbacksBelow);

/// The callbacks below a call.
#[derive(Debug, Default)]
pub(super) struct CallbacksBelow {
    pub(super) channels: Vec<KernelChannel>,
    pub(super) proxies: Vec<ProxyOperation>,
    pub(super) left_out: u64,
}

/// An operation of the recording that may be one of a call.
#[derive(Debug, Clone, Copy)]
struct CallOperation {
    /// Place of the call among those wanted.
    wanted: usize,
    /// Whether it is the call's first.
    is_first: bool,
    team: GroupStream,
}

/// Group and stream, which the operations of an exchange share.
type GroupStream = (Option<u64>, u32);

/// A kernel channel or proxy operation below an operation.
#[derive(Debug)]
struct Child {
    operation: u64,
    event: ChildEvent,
    start: u64,
    stop: Option<u64>,
    /// Steps by number: NCCL may start one again, and lose the first start.
    steps: BTreeMap<i32, OpenProxyStep>,
    /// Steps beyond those.
    more: u64,
}

#[derive(Debug, Clone, Copy)]
enum ChildEvent {
    Channel(u8),
    Proxy { channel: u8, peer: i32, is_send: bool },
}

/// The events so far.
#[derive(Debug)]
struct CallbackReading<'a> {
    wanted: &'a [WantedCall],
    pid: i32,
    operations: HashMap<u64, CallOperation>,
    /// Group and stream of the calls whose first operation has come.
    teams: Vec<Option<GroupStream>>,
    children: BTreeMap<u64, Child>,
    /// The proxy operation and the number of a step, by its handle.
    steps: HashMap<u64, (u64, i32)>,
    left_out: Vec<u64>,
}

/// Reads the callbacks below some calls of a recording, by place of the call in the report.
///
/// # Errors
/// The recording cannot be read any more.
pub(super) fn read(file: &Path, wanted: &[WantedCall]) -> Result<Vec<CallbacksByRank>, CaptureError> {
    let (meta, mut contents) = capture::contents(file)?;
    let (mono0, pid) = (meta.mono0, meta.pid);
    let until = wanted.iter().map(|it| it.stop).max().unwrap_or_default().saturating_add(BEHIND);
    let mut lines = OperationLines::new(&CaptureSurvey::new(meta));
    let mut reading = CallbackReading {
        wanted,
        pid,
        operations: HashMap::new(),
        teams: vec![None; wanted.len()],
        children: BTreeMap::new(),
        steps: HashMap::new(),
        left_out: vec![0; wanted.len()],
    };
    while let Some(content) = contents.next()? {
        let Content::Call(call) = content else { continue };
        let time = mono0.saturating_add(call.t);
        if time > until {
            break;
        }
        reading.take(&mut lines, &call, time);
    }
    Ok(reading.found())
}

impl CallbackReading<'_> {
    fn take(&mut self, lines: &mut OperationLines, call: &Callback, time: u64) {
        let started = lines.take(call);
        match &call.what {
            CallbackKind::Start { h, .. } if let Some(started) = started => self.operation(*h, &started),
            CallbackKind::Start { h, parent, event, .. } => self.start(*h, *parent, event, time),
            CallbackKind::State { h, state, arg } => {
                if let Some(step) = self.step(*h) {
                    step.enter(*state, *arg, time);
                }
            }
            CallbackKind::Stop { h } => {
                if let Some(step) = self.step(*h) {
                    step.leave(time);
                } else if let Some(child) = self.children.get_mut(h) {
                    child.stop.get_or_insert(time);
                }
            }
            CallbackKind::Init { .. } | CallbackKind::Finalize { .. } => {}
        }
    }

    fn operation(&mut self, h: u64, started: &LineOperation) {
        let OperationFacts { enqueued, group, stream, .. } = started.facts;
        let of = |is_of: fn(&WantedCall, CommunicatorRank, u64) -> bool| {
            self.wanted.iter().position(|it| is_of(it, started.rank, enqueued))
        };
        let (first, team) = (of(WantedCall::begins_with), (group, stream));
        let Some(wanted) = first.or_else(|| of(WantedCall::may_have)) else { return };
        if let (Some(_), Some(known)) = (first, self.teams.get_mut(wanted)) {
            *known = Some(team);
        }
        let is_others = self.teams.get(wanted).copied().flatten().is_some_and(|known| known != team);
        if !is_others && self.operations.len() < OPERATIONS {
            self.operations.insert(h, CallOperation { wanted, is_first: first.is_some(), team });
        }
    }

    fn start(&mut self, h: u64, parent: u64, event: &CapturedEvent, time: u64) {
        let event = match *event {
            CapturedEvent::KernelCh { ch, .. } => ChildEvent::Channel(ch),
            // the parent of another process' operation is a handle of that process
            CapturedEvent::ProxyOp { pid, ch, peer, send, .. } if pid == self.pid => {
                ChildEvent::Proxy { channel: ch, peer, is_send: send }
            }
            CapturedEvent::ProxyStep { step } => {
                if let Some(child) = self.children.get_mut(&parent) {
                    if child.steps.len() < EVENTS || child.steps.contains_key(&step) {
                        child.steps.insert(step, OpenProxyStep::new(u32::try_from(step).unwrap_or_default()));
                        self.steps.insert(h, (parent, step));
                    } else {
                        child.more += 1;
                    }
                }
                return;
            }
            _ => return,
        };
        let Some(operation) = self.operations.get(&parent) else { return };
        if self.children.len() < EVENTS {
            let (steps, more) = (BTreeMap::new(), 0);
            self.children.insert(h, Child { operation: parent, event, start: time, stop: None, steps, more });
        } else if let Some(left_out) = self.left_out.get_mut(operation.wanted) {
            *left_out += 1;
        }
    }

    fn step(&mut self, h: u64) -> Option<&mut OpenProxyStep> {
        let (child, step) = self.steps.get(&h)?;
        self.children.get_mut(child)?.steps.get_mut(step)
    }

    /// Returns the callbacks of each call.
    fn found(mut self) -> Vec<CallbacksByRank> {
        let children = std::mem::take(&mut self.children);
        let mut by_call: Vec<Vec<Child>> = self.wanted.iter().map(|_| Vec::new()).collect();
        for child in children.into_values() {
            let Some(operation) = self.operations.get(&child.operation) else { continue };
            let is_in_group =
                operation.team.0.is_some() && self.teams.get(operation.wanted) == Some(&Some(operation.team));
            if let Some(of_call) = by_call.get_mut(operation.wanted)
                && (operation.is_first || is_in_group)
            {
                of_call.push(child);
            }
        }
        let all = self.wanted.iter().zip(by_call).zip(self.left_out);
        all.map(|((wanted, children), left_out)| (wanted.of, below(wanted, children, left_out))).collect()
    }
}

/// Makes the answer of a call. Of too many proxy operations, those that ended last stay.
fn below(wanted: &WantedCall, mut children: Vec<Child>, mut left_out: u64) -> CallbacksBelow {
    children.sort_by_key(|child| std::cmp::Reverse(child.stop.unwrap_or(u64::MAX)));
    let (mut channels, mut proxies) = (Vec::new(), Vec::new());
    for child in children {
        match child.event {
            ChildEvent::Channel(channel) if channels.len() < CHANNELS => channels.push(KernelChannel {
                channel,
                start_us: wanted.us(child.start),
                stop_us: child.stop.map(|stop| wanted.us(stop)),
            }),
            ChildEvent::Proxy { channel, peer, is_send } if proxies.len() < PROXIES => {
                proxies.push(proxy(wanted, (channel, peer, is_send), child));
            }
            _ => left_out += 1,
        }
    }
    channels.sort_by(|one, other| one.start_us.total_cmp(&other.start_us));
    proxies.sort_by(|one, other| one.start_us.total_cmp(&other.start_us));
    CallbacksBelow { channels, proxies, left_out }
}

fn proxy(wanted: &WantedCall, (channel, peer, is_send): (u8, i32, bool), mut child: Child) -> ProxyOperation {
    let end = child.stop.unwrap_or(wanted.stop);
    child.steps.values_mut().for_each(|step| step.leave(end));
    OpenProxyStep::queue(&mut child.steps, is_send);
    let mut sums_us = [0.0; 5];
    for of_step in child.steps.values().map(OpenProxyStep::sums) {
        sums_us.iter_mut().zip(of_step).for_each(|(sum, ns)| *sum += ns as f64 / 1e3);
    }
    ProxyOperation {
        channel,
        peer,
        peer_gpu: None,
        is_send,
        start_us: wanted.us(child.start),
        stop_us: child.stop.map(|stop| wanted.us(stop)),
        bytes: child.steps.values().map(|step| step.bytes).sum(),
        steps: child.steps.len() as u64 + child.more,
        sums_us,
        states: child.steps.values().take(STEPS).flat_map(|step| step.phases(|time| wanted.us(time))).collect(),
    }
}
