//! The recent calls of a GPU, among which is the call before a late one.
//!
//! Calls come in the order in which the host enqueued them. On another stream a later call may end earlier, so a late
//! call is judged only when some more calls are known.

use crate::stream::JudgedCall;
use common::name::NcclName;
use common::operation::Later;
use std::collections::VecDeque;

/// Number of calls after a late one that are waited for, and of calls ahead of it that are kept.
const CALLS_AROUND: usize = 32;

/// A delay of others by a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delay {
    pub(super) gpu: usize,
    pub(super) cost: u64,
    pub(super) margin: i64,
    pub(super) occurrence: u64,
    pub(super) communicator: usize,
    pub(super) function: NcclName,
    pub(super) sequence: Option<(u64, u32)>,
    pub(super) bytes: u64,
    /// Its begin, which is the latest of all ranks.
    pub(super) start: i64,
    /// Whether it lies in a step after the warm-up.
    pub(super) is_of_step: bool,
    /// The later of its launch and its GPU.
    pub(super) later: Option<Later>,
}

impl Delay {
    /// Returns the delay of a call that came last by more than the error.
    pub(super) fn judged(judged: &JudgedCall, is_of_step: bool) -> Option<Self> {
        let call = judged.call();
        Some(Self {
            gpu: call.gpu,
            cost: u64::try_from(judged.cost?).unwrap_or(0),
            margin: judged.margin,
            occurrence: judged.occurrence,
            communicator: call.communicator,
            function: call.function,
            sequence: call.sequence,
            bytes: call.bytes,
            start: judged.part.span?[0],
            is_of_step,
            later: call.later(),
        })
    }
}

/// The call before a late one.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallBefore {
    pub(super) function: NcclName,
    pub(super) communicator: usize,
    /// How long it waited, nanoseconds.
    pub(super) wait: i64,
    /// Error of the wait that 19 of 20 do not exceed.
    pub(super) likely: i64,
}

impl CallBefore {
    /// Returns whether its wait is the cause of this lateness.
    pub(super) fn explains(&self, margin: i64) -> bool {
        self.wait > 0 && self.wait.saturating_add(self.likely) >= margin
    }
}

/// A call with a GPU time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recently {
    pub(super) start: i64,
    pub(super) stop: i64,
    pub(super) before: CallBefore,
    pub(super) delay: Option<Delay>,
}

/// The recent calls of a GPU.
#[derive(Debug, Clone, Default)]
pub(super) struct Recent {
    calls: VecDeque<Recently>,
    /// Place of the first call that was not looked at.
    next: usize,
}

impl Recent {
    /// Returns whether a call of this communicator had this time.
    pub(super) fn has(&self, communicator: usize, span: [i64; 2]) -> bool {
        self.calls.iter().any(|call| call.before.communicator == communicator && [call.start, call.stop] == span)
    }

    /// Adds the next call. Returns the delay that can be judged now, if there is one, with the call before it.
    pub(super) fn add(&mut self, call: Recently) -> Option<(Delay, Option<CallBefore>)> {
        self.calls.push_back(call);
        if self.calls.len() - self.next <= CALLS_AROUND {
            return None;
        }
        let found = self.look();
        if self.next > CALLS_AROUND {
            self.calls.pop_front();
            self.next -= 1;
        }
        found
    }

    /// Returns the next delay when no more calls come.
    pub(super) fn rest(&mut self) -> Option<(Delay, Option<CallBefore>)> {
        while self.next < self.calls.len() {
            let found = self.look();
            if found.is_some() {
                return found;
            }
        }
        None
    }

    fn look(&mut self) -> Option<(Delay, Option<CallBefore>)> {
        let call = *self.calls.get(self.next)?;
        self.next += 1;
        let delay = call.delay?;
        // times are known within the error
        let is_before = |it: &&Recently| it.start < call.start && it.stop <= call.start + call.before.likely;
        let before = self.calls.iter().filter(is_before).max_by_key(|it| it.stop);
        Some((delay, before.map(|it| it.before)))
    }
}
