//! Puts operations and transfers of one communicator together from the events that the readers tell.
//!
//! A child may be read before its parent (another thread's block) and long after it (the parent's window was taken apart). So
//! parents are found by handle: among those known, else in the slot that the handle names.

use crate::handle::Handle;
use crate::in_step::{InStep, Verdict};
use crate::operation::Operation;
use crate::pool::Pool;
use crate::reader::Listener;
use crate::slot::{Kind, Recorded};
use crate::totals::Transfer;
use std::collections::{BTreeMap, HashMap};

/// Operations that may wait for a decision about their stamps; past it the doubt is taken for certain.
const MOST_UNDECIDED: usize = 65_536;
/// Operations that may be under way; past it those with nothing under way are taken for done.
const MOST_PENDING: usize = 65_536;

/// A call of NCCL's API that no operation has followed yet.
#[derive(Debug, Clone, Copy)]
struct Call {
    start: u64,
    captured: bool,
}

/// The state of one communicator's operations.
#[derive(Debug, Default)]
pub struct Assembly {
    rank: i32,
    operations: HashMap<u64, Operation>,
    calls: HashMap<u64, Call>,
    /// Calls that nothing will follow.
    invisible: u64,
    orphans: u64,
    steps: InStep,
    /// Operations with nothing more to come, whose stamps are still in doubt, by order.
    undecided: BTreeMap<u64, Operation>,
    /// Transfers seen since they were last taken.
    transfers: Vec<Transfer>,
}

impl Assembly {
    /// For the communicator in which this process has that rank.
    pub fn new(rank: i32) -> Self {
        Self { rank, ..Self::default() }
    }

    /// The transfers seen since the last call, in the order of their starts.
    pub fn take_transfers(&mut self) -> Vec<Transfer> {
        self.transfers.sort_unstable();
        std::mem::take(&mut self.transfers)
    }

    /// Calls that nothing followed, and children without a parent, since the last call.
    pub fn take_losses(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.invisible), std::mem::take(&mut self.orphans))
    }

    /// Operations under way, with what is known of their stamps.
    pub fn operations(&mut self) -> impl Iterator<Item = (&mut Operation, Verdict)> {
        let steps = &self.steps;
        self.operations.values_mut().map(|operation| {
            let verdict = steps.verdict(operation.order);
            (operation, verdict)
        })
    }

    /// True when nothing is under way and nothing is in doubt, as far as can be told without waiting.
    pub fn looks_done(&self) -> bool {
        self.undecided.is_empty() && self.operations.values().all(Operation::looks_done)
    }

    /// Gives `take` the operations of which nothing more will come, with the final verdict on their stamps.
    ///
    /// Nothing more comes of an operation that was quiet since `quiet` with all its kernel channels seen; of any that was quiet
    /// since `silent`. Works in doubt since before `silent` are decided. Times in ticks.
    pub fn settle(&mut self, quiet: u64, silent: u64, mut take: impl FnMut(Operation, Verdict)) {
        self.steps.expire(silent);
        let calls = self.calls.len();
        self.calls.retain(|_, call| call.captured || call.start >= silent);
        self.invisible += (calls - self.calls.len()) as u64;
        let full = self.operations.len() > MOST_PENDING;
        let done = |operation: &Operation| {
            operation.is_quiet() && (full || operation.active < silent || operation.active < quiet && operation.is_complete())
        };
        let ready: Vec<u64> =
            self.operations.iter().filter(|(_, operation)| done(operation)).map(|(&handle, _)| handle).collect();
        for handle in ready {
            if let Some(operation) = self.operations.remove(&handle) {
                self.undecided.insert(operation.order, operation);
            }
        }
        self.decide(&mut take);
        while self.undecided.len() > MOST_UNDECIDED {
            self.steps.give_up();
            self.decide(&mut take);
        }
    }

    /// Gives `take` all operations there are: nothing more will come at all.
    pub fn end(&mut self, mut take: impl FnMut(Operation, Verdict)) {
        self.invisible += self.calls.len() as u64;
        self.calls.clear();
        self.steps.end();
        for (_, mut operation) in self.operations.drain() {
            operation.unfinished |= !operation.is_quiet();
            self.undecided.insert(operation.order, operation);
        }
        self.decide(&mut take);
    }

    /// Hands on what can be decided, in the order of starts.
    fn decide(&mut self, take: &mut impl FnMut(Operation, Verdict)) {
        while let Some(entry) = self.undecided.first_entry() {
            let verdict = self.steps.verdict(*entry.key());
            if verdict == Verdict::Undecided {
                break;
            }
            take(entry.remove(), verdict);
        }
    }

    /// The operation of that handle, read from its slot if it has not been read yet.
    fn operation(&mut self, pool: &Pool, handle: u64) -> Option<&mut Operation> {
        if !self.operations.contains_key(&handle) {
            let event = living(pool, handle, |kind| matches!(kind, Kind::Coll | Kind::P2p))?;
            self.operation_begun(pool, handle, &event);
        }
        self.operations.get_mut(&handle)
    }

    fn operation_begun(&mut self, pool: &Pool, handle: u64, event: &Recorded) {
        let operation = Operation::new(event);
        if !self.steps.seen(operation.order) {
            return;
        }
        if !self.calls.contains_key(&event.parent)
            && let Some(call) = living(pool, event.parent, |kind| matches!(kind, Kind::CollApi | Kind::P2pApi))
        {
            self.call_begun(event.parent, &call);
        }
        self.calls.remove(&event.parent);
        self.steps.clear(event.parent);
        if operation.peer == Some(self.rank) {
            self.steps.suspect(operation.order, handle, event.start, false);
        }
        self.operations.insert(handle, operation);
    }

    fn call_begun(&mut self, handle: u64, event: &Recorded) {
        let [_, captured, _, order] = event.payload();
        if !self.steps.seen(order) {
            return;
        }
        let captured = captured != 0;
        self.calls.insert(handle, Call { start: event.start, captured });
        if event.kind == Kind::CollApi {
            self.steps.suspect(order, handle, event.start, captured);
        }
    }

    fn child_begun(&mut self, pool: &Pool, operation: u64, time: u64) {
        match self.operation(pool, operation) {
            Some(operation) => {
                operation.live += 1;
                operation.touch(time);
            }
            None => self.orphans += u64::from(operation != 0),
        }
    }

    /// A child of the operation has ended, or is given up when `ended` is `None`.
    fn child_ended(&mut self, operation: u64, ended: Option<u64>) -> Option<&mut Operation> {
        // one that its parent was settled without is an orphan, counted when it began
        let operation = self.operations.get_mut(&operation)?;
        operation.live = operation.live.saturating_sub(1);
        match ended {
            Some(time) => operation.touch(time),
            None => operation.unfinished = true,
        }
        Some(operation)
    }

    /// A step is read together with its proxy operation, whose slot lies in the same window.
    fn step_ended(&mut self, pool: &Pool, event: &Recorded, ended: Option<u64>) {
        let Some(proxy) = living(pool, event.parent, |kind| kind == Kind::ProxyOp) else { return };
        self.child_ended(proxy.parent, ended);
        let place = proxy.payload()[0];
        let send = place >> 40 & 1 == 1;
        if let (true, Some(stop), Some(sent)) = (send, ended, event.send_wait()) {
            let (peer, channel) = (place as u32 as i32, (place >> 32) as u8);
            self.transfers.push(Transfer { start: sent.time, stop, bytes: sent.bytes, peer, channel });
        }
    }
}

/// A living event of the wanted kind.
fn living(pool: &Pool, handle: u64, wanted: impl Fn(Kind) -> bool) -> Option<Recorded> {
    let handle = Handle::parse(handle)?;
    let event = pool.find(handle)?.0.read(handle.generation())?;
    wanted(event.kind).then_some(event)
}

impl Listener for Assembly {
    fn begun(&mut self, pool: &Pool, handle: u64, event: &Recorded) {
        match event.kind {
            Kind::Coll | Kind::P2p => self.operation_begun(pool, handle, event),
            Kind::CollApi | Kind::P2pApi => self.call_begun(handle, event),
            Kind::ProxyOp => self.child_begun(pool, event.parent, event.start),
            Kind::ProxyStep => match living(pool, event.parent, |kind| kind == Kind::ProxyOp) {
                Some(proxy) => self.child_begun(pool, proxy.parent, event.start),
                None => self.orphans += u64::from(event.parent != 0),
            },
            Kind::KernelCh => {
                self.child_begun(pool, event.parent, event.start);
                self.steps.clear(event.parent);
            }
        }
    }

    fn ended(&mut self, pool: &Pool, handle: u64, event: &Recorded) {
        match event.kind {
            Kind::Coll | Kind::P2p => {
                if let (Some(operation), Some(stop)) = (self.operations.get_mut(&handle), event.stop) {
                    operation.stop = event.stop;
                    operation.touch(stop);
                }
            }
            Kind::CollApi | Kind::P2pApi => {}
            Kind::ProxyOp => {
                if let (Some(operation), Some(stop)) = (self.child_ended(event.parent, event.stop), event.stop) {
                    operation.proxy_stop = operation.proxy_stop.max(Some(stop));
                }
            }
            Kind::ProxyStep => self.step_ended(pool, event, event.stop),
            Kind::KernelCh => {
                if let Some(operation) = self.child_ended(event.parent, event.stop) {
                    operation.kernel_ended(event.kernel());
                }
            }
        }
    }

    fn abandoned(&mut self, pool: &Pool, handle: u64, event: &Recorded) {
        match event.kind {
            Kind::Coll | Kind::P2p => {
                if let Some(operation) = self.operations.get_mut(&handle) {
                    operation.stop = Some(operation.start);
                    operation.unfinished = true;
                }
            }
            Kind::CollApi | Kind::P2pApi => {}
            Kind::ProxyStep => self.step_ended(pool, event, None),
            Kind::ProxyOp | Kind::KernelCh => {
                self.child_ended(event.parent, None);
            }
        }
    }
}
