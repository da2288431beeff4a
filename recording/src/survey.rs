//! What the player of a capture must know before the first call.

use std::collections::{BTreeSet, HashMap};

use super::bounds;
use super::call::{Callback, CallbackKind, CapturedAnchor, CapturedEvent, Kernel};
use super::error::Problem;
use super::line::Content;
use super::{Meta, Skipped};

/// What the first reading of a capture finds.
#[derive(Debug, Clone, PartialEq)]
pub struct CaptureSurvey {
    /// The recorded process and the circumstances of the recording.
    pub meta: Meta,
    /// Number of calls.
    pub calls: usize,
    /// The calling threads.
    pub threads: BTreeSet<u32>,
    /// The thread that makes the first call.
    pub main: u32,
    /// Earliest time of a line, nanoseconds since [`Meta::mono0`].
    pub begin: u64,
    /// Latest time of a line, nanoseconds since [`Meta::mono0`].
    pub end: u64,
    /// Times of kernels by the handle of their event; the first time counts where an event has several.
    pub kernels: HashMap<u64, Kernel>,
    /// Anchors by the handle of their launch's event.
    pub anchors: HashMap<u64, CapturedAnchor>,
    /// Communicators in the order of their creation.
    pub communicators: Vec<IntroducedCommunicator>,
    /// Context and peer of each rank that proxy operations send to.
    pub sends: BTreeSet<(u32, i32)>,
    /// Whether NCCL reported a broadcast as a `Coll` event. Releases from 2.29 on do so only with
    /// `NCCL_ALLGATHERV_ENABLE=0`.
    pub broadcasts: bool,
    /// Lines of kinds that this tool does not know.
    pub skipped: Skipped,
    /// Whether the capture goes to the end of its process.
    pub is_complete: bool,
}

/// A communicator as NCCL introduced it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntroducedCommunicator {
    /// Its context.
    pub ctx: u32,
    /// Its id.
    pub comm: u64,
    /// Number of nodes.
    pub nnodes: i32,
    /// Number of ranks.
    pub nranks: i32,
    /// Rank of this process.
    pub rank: i32,
}

impl CaptureSurvey {
    /// Returns the survey of a capture of which only the first line was read.
    pub fn new(meta: Meta) -> Self {
        Self {
            meta,
            calls: 0,
            threads: BTreeSet::new(),
            main: 1,
            begin: u64::MAX,
            end: 0,
            kernels: HashMap::new(),
            anchors: HashMap::new(),
            communicators: Vec::new(),
            sends: BTreeSet::new(),
            broadcasts: false,
            skipped: Skipped::default(),
            is_complete: true,
        }
    }

    /// Adds a line.
    pub fn note(&mut self, content: &Content) -> Result<(), Problem> {
        let t = match content {
            Content::Call(call) => self.call(call)?,
            Content::Kernel(kernel) => {
                self.kernels.entry(kernel.h).or_insert(*kernel);
                kernel.t
            }
            Content::Anchor(anchor) => {
                self.anchors.entry(anchor.h).or_insert(*anchor);
                anchor.t
            }
            Content::End | Content::Conditions(_) => return Ok(()),
            Content::Unknown(unknown) => {
                self.skipped.note(unknown);
                return Ok(());
            }
        };
        self.begin = self.begin.min(t);
        self.end = self.end.max(t);
        Ok(())
    }

    /// Adds a call and returns its time.
    fn call(&mut self, call: &Callback) -> Result<u64, Problem> {
        if self.calls == 0 {
            self.main = call.tid;
        }
        self.calls += 1;
        if self.threads.insert(call.tid) && self.threads.len() > bounds::THREADS {
            return Err(Problem::Threads);
        }
        match &call.what {
            &CallbackKind::Init { ctx, comm, nnodes, nranks, rank, .. } => {
                self.communicators.push(IntroducedCommunicator { ctx, comm, nnodes, nranks, rank });
            }
            &CallbackKind::Start { ctx, event: CapturedEvent::ProxyOp { peer, send: true, .. }, .. } => {
                self.sends.insert((ctx, peer));
            }
            CallbackKind::Start { event: CapturedEvent::Coll { func, .. }, .. } => {
                self.broadcasts |= func.as_deref() == Some("Broadcast")
            }
            _ => {}
        }
        Ok(call.t)
    }
}
